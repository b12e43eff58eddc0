// What a call that can fail returns: Error and Result<T>.
// Nothing in Quern throws. A call that can fail returns Result<T>, which the compiler does not let
// a caller drop; QUERN_TRY and QUERN_ASSIGN_OR_RETURN hand an error on to the caller's caller.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace quern {

// The kind of an error. Each code says what the caller should do; the message says the rest.
// A program decides by code and shows the message; texts may change between versions.
enum class ErrorCode {
  kInvalidArgument,     // correct the argument, file or graph
  kNotFound,            // name something that exists; the message lists what does
  kOutOfRange,          // stay inside the limit in the message
  kFailedPrecondition,  // do the missing step first
  kDataLoss,            // the file is damaged or truncated: get another copy
  kResourceExhausted,   // free memory, or ask for less
  kUnimplemented,       // this build or device cannot do it; choose another device or option
  kUnavailable,         // a driver, device or file cannot be reached now
  kCancelled,           // the caller asked for the stop
  kDeadlineExceeded,    // allow more time
  kInternal,            // a defect of Quern: report it
};

// The canonical name of a code, e.g. "invalid_argument"; "unknown" for a value that is no code. The
// view is of static text.
std::string_view error_code_name(ErrorCode code);

// A code and a full sentence that names the object, the offending value and the limit.
// A plain value: copies are independent. Thread-compatible.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  // The same code, the message prefixed by where it happened: with_context("While loading
  // 'x.gguf'") gives "While loading 'x.gguf': ...".
  Error with_context(std::string_view context) const;
};

// A value or an Error, used as tl::expected: `if (!r) ... r.error()`, `*r`, `r->`. Result<void> has
// no value. It derives from tl::expected only to be [[nodiscard]]. Thread-compatible.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

}  // namespace quern

// Two levels, so that __LINE__ is expanded before it is pasted.
#define QUERN_CONCAT_INNER(a, b) a##b
#define QUERN_CONCAT(a, b) QUERN_CONCAT_INNER(a, b)

// Evaluates a Result once; on error returns the error from the enclosing function, whose own
// Result may hold another type. The value, if any, is dropped.
#define QUERN_TRY(expression)                                                          \
  do {                                                                                 \
    auto&& quern_try_result = (expression);                                            \
    if (!quern_try_result) return tl::unexpected(std::move(quern_try_result).error()); \
  } while (false)

#define QUERN_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                         \
  if (!result) return tl::unexpected(std::move(result).error());      \
  declaration = std::move(*result)

// `QUERN_ASSIGN_OR_RETURN(auto x, f());` declares x, or returns the error of f(); `x` alone on the
// left assigns to a variable that exists. Two statements: not for an `if` without braces.
#define QUERN_ASSIGN_OR_RETURN(declaration, expression) \
  QUERN_ASSIGN_OR_RETURN_INNER(QUERN_CONCAT(quern_result_, __LINE__), declaration, expression)
