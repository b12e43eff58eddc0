// Short makers of errors with fmt formatting: `return fail::invalid("Rank {} is over 8.", rank);`.
#pragma once

#include <fmt/core.h>

#include <utility>

#include "quern/error.h"

namespace quern::fail {

template <class... Args>
tl::unexpected<Error> with(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return tl::unexpected(Error{code, fmt::format(text, std::forward<Args>(args)...)});
}
template <class... Args>
tl::unexpected<Error> invalid(fmt::format_string<Args...> text, Args&&... args) {
  return with(ErrorCode::kInvalidArgument, text, std::forward<Args>(args)...);
}
template <class... Args>
tl::unexpected<Error> not_found(fmt::format_string<Args...> text, Args&&... args) {
  return with(ErrorCode::kNotFound, text, std::forward<Args>(args)...);
}
template <class... Args>
tl::unexpected<Error> out_of_range(fmt::format_string<Args...> text, Args&&... args) {
  return with(ErrorCode::kOutOfRange, text, std::forward<Args>(args)...);
}
template <class... Args>
tl::unexpected<Error> precondition(fmt::format_string<Args...> text, Args&&... args) {
  return with(ErrorCode::kFailedPrecondition, text, std::forward<Args>(args)...);
}
template <class... Args>
tl::unexpected<Error> data_loss(fmt::format_string<Args...> text, Args&&... args) {
  return with(ErrorCode::kDataLoss, text, std::forward<Args>(args)...);
}
template <class... Args>
tl::unexpected<Error> exhausted(fmt::format_string<Args...> text, Args&&... args) {
  return with(ErrorCode::kResourceExhausted, text, std::forward<Args>(args)...);
}
template <class... Args>
tl::unexpected<Error> unimplemented(fmt::format_string<Args...> text, Args&&... args) {
  return with(ErrorCode::kUnimplemented, text, std::forward<Args>(args)...);
}
template <class... Args>
tl::unexpected<Error> unavailable(fmt::format_string<Args...> text, Args&&... args) {
  return with(ErrorCode::kUnavailable, text, std::forward<Args>(args)...);
}
template <class... Args>
tl::unexpected<Error> internal(fmt::format_string<Args...> text, Args&&... args) {
  return with(ErrorCode::kInternal, text, std::forward<Args>(args)...);
}

}  // namespace quern::fail
