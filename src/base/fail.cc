// Formatting of error messages, compiled once.
#include "base/fail.h"

namespace quern::fail {

tl::unexpected<Error> format_error(ErrorCode code, fmt::string_view text, fmt::format_args args) {
  return tl::unexpected(Error{code, fmt::vformat(text, args)});
}

}  // namespace quern::fail
