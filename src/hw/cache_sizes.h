// Sizes of the processor's caches.
#pragma once

#include <cstdint>

namespace quern {

// In bytes, of one core's second level and of the last level that cores share. Where the system
// does not tell: 512 KB and 16 MB, what machines have at least.
struct CacheSizes {
  int64_t second_level = int64_t{512} << 10;
  int64_t last_level = int64_t{16} << 20;
};

// Asks the system each time.
CacheSizes query_cache_sizes();

}  // namespace quern
