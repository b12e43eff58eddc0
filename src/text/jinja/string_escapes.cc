// Python's string escapes.
// Halves of surrogates are refused: no text here can hold them.
#include "text/jinja/string_escapes.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/fail.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// Letters behind a backslash, and what they stand for.
constexpr std::string_view kSimpleNames = "\\'\"abfnrtv";
constexpr std::string_view kSimpleValues = "\\'\"\a\b\f\n\r\t\v";

// Whole and without sign; nothing for other characters.
std::optional<uint32_t> parse_digits(std::string_view digits, int base) {
  uint32_t value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// Digits behind \x, \u and \U.
size_t num_hex_digits(char kind) {
  return kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
}

// Errors: fewer digits than the letter asks for, or no code point.
Result<uint32_t> parse_hex(std::string_view text, size_t at) {
  const size_t size = num_hex_digits(text[at]);
  const std::string_view digits = text.substr(at + 1, size);
  const auto value = parse_digits(digits, 16);
  if (digits.size() < size || !value || *value > 0x10FFFF) {
    return fail::invalid("The escape '\\{}' is broken", text.substr(at, 1 + size));
  }
  return *value;
}

// Halves of UTF-16, which no UTF-8 text may hold.
bool is_surrogate(uint32_t value) {
  return value >= 0xD800 && value < 0xE000;
}

// The low half of a pair that follows at `at`, 0 where there is none.
uint32_t low_surrogate(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\\u") return 0;
  const auto value = parse_digits(text.substr(at + 2, 4), 16);
  return value && *value >= 0xDC00 && *value < 0xE000 ? *value : 0;
}

}  // namespace

// Escapes as Python's literals have them; unknown ones stay with their backslash.
Result<std::string> resolve_escapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i++];
      continue;
    }
    const char name = text[++i];
    if (name == '\n') {  // the line continues
      ++i;
    } else if (const size_t simple = kSimpleNames.find(name); simple != std::string_view::npos) {
      out += kSimpleValues[simple];
      ++i;
    } else if (name >= '0' && name <= '7') {
      const size_t end =
          std::min(text.find_first_not_of("01234567", i), std::min(i + 3, text.size()));
      append_utf8(*parse_digits(text.substr(i, end - i), 8), out);
      i = end;
    } else if (name == 'x' || name == 'u' || name == 'U') {
      QUERN_ASSIGN_OR_RETURN(uint32_t value, parse_hex(text, i));
      i += 1 + num_hex_digits(name);
      // A high half with a low one behind it, both as \u: one character past the basic plane.
      if (const uint32_t low = value < 0xDC00 && is_surrogate(value) ? low_surrogate(text, i) : 0) {
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
        i += 6;
      }
      append_utf8(is_surrogate(value) ? 0xFFFD : value, out);
    } else {
      out += '\\';  // not an escape; the character follows in the next round
    }
  }
  return out;
}

}  // namespace quern::jinja
