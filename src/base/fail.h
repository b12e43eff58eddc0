// Short makers of errors with fmt formatting: `return fail::invalid("Rank {} is over 8.", rank);`.
// The format string is checked when the caller is compiled; the formatting itself is in fail.cc, so
// that a file with many messages stays cheap to compile.
#pragma once

#include <fmt/core.h>

#include "quern/error.h"

namespace quern::fail {

// The formatted message under the code. Callers use the templates below.
// Args are type-erased, so that one function is compiled for all of them.
tl::unexpected<Error> format_error(ErrorCode code, fmt::string_view text, fmt::format_args args);

// An error of any code; for a code that is chosen at run time or has no maker of its own.
template <class... Args>
tl::unexpected<Error> with(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return format_error(code, text, fmt::make_format_args(args...));
}

// The argument, file or graph is wrong.
template <class... Args>
tl::unexpected<Error> invalid(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(ErrorCode::kInvalidArgument, text, fmt::make_format_args(args...));
}

// A name that nothing has; the message lists what there is where the list is short.
template <class... Args>
tl::unexpected<Error> not_found(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(ErrorCode::kNotFound, text, fmt::make_format_args(args...));
}

// A number past its limit; the message states both.
template <class... Args>
tl::unexpected<Error> out_of_range(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(ErrorCode::kOutOfRange, text, fmt::make_format_args(args...));
}

// A step that must come first is missing.
template <class... Args>
tl::unexpected<Error> precondition(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(ErrorCode::kFailedPrecondition, text, fmt::make_format_args(args...));
}

// A file that is damaged or cut short.
template <class... Args>
tl::unexpected<Error> data_loss(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(ErrorCode::kDataLoss, text, fmt::make_format_args(args...));
}

// Memory or disk is not enough; the message says how much was asked for.
template <class... Args>
tl::unexpected<Error> exhausted(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(ErrorCode::kResourceExhausted, text, fmt::make_format_args(args...));
}

// This build or device cannot do it.
template <class... Args>
tl::unexpected<Error> unimplemented(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(ErrorCode::kUnimplemented, text, fmt::make_format_args(args...));
}

// A file, driver or device that cannot be reached now.
template <class... Args>
tl::unexpected<Error> unavailable(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(ErrorCode::kUnavailable, text, fmt::make_format_args(args...));
}

// A defect of Quern itself; the caller can only report it.
template <class... Args>
tl::unexpected<Error> internal(fmt::format_string<Args...> text, Args&&... args) {
  return format_error(ErrorCode::kInternal, text, fmt::make_format_args(args...));
}

}  // namespace quern::fail
