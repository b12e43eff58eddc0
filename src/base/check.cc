// The end of a process that found a defect of its own.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace quern {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: Internal check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace quern
