// What the system says about caches is of a plausible size.
#include "hw/cache_sizes.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// Bounds that every processor of the last twenty years keeps; a value in KiB instead of bytes
// fails.
TEST(CacheSizes, ArePlausibleAndOrdered) {
  const CacheSizes sizes = query_cache_sizes();
  EXPECT_GE(sizes.second_level, int64_t{64} << 10);
  EXPECT_LE(sizes.second_level, int64_t{64} << 20);
  EXPECT_GE(sizes.last_level, int64_t{256} << 10);
  EXPECT_LE(sizes.last_level, int64_t{4} << 30);
}

}  // namespace
}  // namespace quern
