// Lines and columns.
// Columns count characters, as editors do.
#include "text/jinja/located_error.h"

#include <fmt/core.h>

#include <algorithm>

#include "text/jinja/characters.h"

namespace quern::jinja {
namespace {

// raise_exception can pass on any text.
constexpr size_t kMaxMessageBytes = 2'000;

// A template may put any text into its error; the first characters are enough.
std::string shorten(const std::string& message) {
  if (message.size() <= kMaxMessageBytes) return message;
  size_t size = kMaxMessageBytes;
  while (size > 0 && (static_cast<unsigned char>(message[size]) & 0xC0) == 0x80) --size;
  return message.substr(0, size) + "...";
}

}  // namespace

// Adds line and column, counted from 1, and the line itself with a mark.
Error locate(const LocatedError& error, std::string_view source) {
  const std::string_view before = source.substr(0, error.offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const int64_t column = 1 + count_characters(before.substr(line_begin));
  const std::string message = shorten(error.error.message);
  const bool has_stop =
      !message.empty() && std::string_view(".!?").find(message.back()) != std::string_view::npos;
  return {error.error.code, fmt::format("Chat template, line {}, column {}: {}{}", line, column,
                                        message, has_stop ? "" : ".")};
}

}  // namespace quern::jinja
