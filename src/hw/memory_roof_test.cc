// Tests that the read roof of this machine's memory is a number that memory can have.
#include "hw/memory_roof.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// A measurement can only be plausible.
TEST(MemoryRoof, IsBetweenADiskAndACache) {
  const double bytes_per_second = probe_read_bandwidth(1);
  EXPECT_GT(bytes_per_second, 1e7);
  EXPECT_LT(bytes_per_second, 1e13);
}

}  // namespace
}  // namespace quern
