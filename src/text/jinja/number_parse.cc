// int() and float().
// Whitespace around, underscores between digits, signs and prefixes: everything that Python takes.
#include "text/jinja/number_parse.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "text/jinja/characters.h"

namespace quern::jinja {
namespace {

// Without the underscores between digits; nullopt where one stands elsewhere.
std::optional<std::string> drop_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const bool is_between = i > 0 && i + 1 < text.size() && text[i - 1] != '_' &&
                            std::isxdigit(static_cast<unsigned char>(text[i - 1])) != 0 &&
                            std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0;
    if (!is_between) return std::nullopt;
  }
  return out;
}

// 2, 8 or 16 of "0b", "0o" and "0x", in either case; 0 without a prefix.
int prefix_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  switch (text[1] | 0x20) {
    case 'x':
      return 16;
    case 'o':
      return 8;
    case 'b':
      return 2;
    default:
      return 0;
  }
}

// Moves behind a sign; whether it is a minus.
bool take_sign(std::string_view& text) {
  if (text.empty() || (text[0] != '-' && text[0] != '+')) return false;
  const bool is_negative = text[0] == '-';
  text.remove_prefix(1);
  return is_negative;
}

// Without whitespace around it, as int() and float() allow.
std::string_view stripped(std::string_view text) {
  return strip_right(strip_left(text));
}

}  // namespace

// int(text, base) of Python: underscores between digits, a prefix that fits the base. Nothing past
// 64 bits.
std::optional<int64_t> parse_integer(std::string_view text, int base) {
  text = stripped(text);
  const bool is_negative = take_sign(text);
  const int prefix = prefix_base(text);
  if (prefix != 0 && (base == prefix || base == 0)) {
    text.remove_prefix(2);
    base = prefix;
    if (!text.empty() && text[0] == '_') text.remove_prefix(1);
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36) return std::nullopt;
  const auto digits = drop_underscores(text);
  if (!digits || digits->empty() || (*digits)[0] == '-') return std::nullopt;
  const std::string number = (is_negative ? "-" : "") + *digits;
  int64_t value = 0;
  const auto end = std::from_chars(number.data(), number.data() + number.size(), value, base);
  if (end.ec != std::errc() || end.ptr != number.data() + number.size()) return std::nullopt;
  return value;
}

// float(text) of Python, with inf and nan in any case.
std::optional<double> parse_float(std::string_view text) {
  text = stripped(text);
  const bool is_negative = take_sign(text);
  const auto digits = drop_underscores(text);
  if (!digits || digits->empty() || (*digits)[0] == '-') return std::nullopt;
  const std::string name = to_lower(*digits);
  double value = 0;
  if (name == "inf" || name == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (name == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const char* last = digits->data() + digits->size();
    const auto end = std::from_chars(digits->data(), last, value);
    if (end.ptr != last || end.ec == std::errc::invalid_argument) return std::nullopt;
    if (end.ec != std::errc()) {  // too large or too small
      value = digits->find("e-") == std::string::npos ? std::numeric_limits<double>::infinity() : 0;
    }
  }
  return is_negative ? -value : value;
}

// Towards zero; nothing for NaN and what 64 bits cannot hold.
std::optional<int64_t> truncate_to_integer(double number) {
  const double whole = std::trunc(number);
  if (!(whole >= -0x1p63 && whole < 0x1p63)) return std::nullopt;
  return static_cast<int64_t>(whole);
}

}  // namespace quern::jinja
