// Asks the C library.
#include "hw/cache_sizes.h"

#include <unistd.h>

namespace quern {

CacheSizes query_cache_sizes() {
  CacheSizes sizes;
// Names of glibc; other C libraries have none and the defaults stay. Virtual machines give 0.
#if defined(_SC_LEVEL2_CACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
  const long second = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  const long last = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (second > 0) sizes.second_level = second;
  if (last > 0) sizes.last_level = last;
#endif
  return sizes;
}

}  // namespace quern
