// Checks for defects of Quern itself; never for anything that comes from outside.
#pragma once

namespace quern {
// Prints the failed condition with its place and ends the process.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace quern

#define QUERN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::quern::check_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define QUERN_DCHECK(condition) static_cast<void>(sizeof(!(condition)))
#else
#define QUERN_DCHECK(condition) QUERN_CHECK(condition)
#endif
