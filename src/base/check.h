// Checks for defects of Quern itself; never for anything that comes from outside.
#pragma once

namespace quern {
// Prints the failed condition with its place to stderr and ends the process by abort(), so that a
// debugger or core file shows where. Called by the macros only. Thread-safe.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace quern

// Ends the process unless `condition` holds, in every build. For defects of our own only: no file,
// argument or system state may reach a failing check; such cases are errors (fail.h).
#define QUERN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::quern::check_failed(#condition, __FILE__, __LINE__))

// The same in debug builds only, for hot loops; a release build does not evaluate the condition but
// still compiles it.
#ifdef NDEBUG
#define QUERN_DCHECK(condition) static_cast<void>(sizeof(!(condition)))
#else
#define QUERN_DCHECK(condition) QUERN_CHECK(condition)
#endif
