// Names and context of errors.
#include "quern/error.h"

namespace quern {

// Names for logs and for programs that read our output; they never change.
std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kOutOfRange:
      return "out_of_range";
    case ErrorCode::kFailedPrecondition:
      return "failed_precondition";
    case ErrorCode::kDataLoss:
      return "data_loss";
    case ErrorCode::kResourceExhausted:
      return "resource_exhausted";
    case ErrorCode::kUnimplemented:
      return "unimplemented";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

// The context stands in front, so that an error reads from the outside in.
Error Error::with_context(std::string_view context) const {
  return Error{code, std::string(context) + ": " + message};
}

}  // namespace quern
