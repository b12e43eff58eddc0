// Lines and columns.
#include "text/jinja/located_error.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/characters.h"

namespace quern::jinja {

Error locate(const LocatedError& error, std::string_view source) {
  const std::string_view before = source.substr(0, error.offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const int64_t column = 1 + count_characters(before.substr(line_begin));
  const std::string& message = error.error.message;
  const bool has_stop = !message.empty() && message.back() == '.';
  return {error.error.code, fmt::format("Chat template, line {}, column {}: {}{}", line, column,
                                        message, has_stop ? "" : ".")};
}

}  // namespace quern::jinja
