// int() and float().
// Whitespace around, underscores between digits, signs and prefixes: everything that Python takes.
#include "text/jinja/number_parse.h"

#include <algorithm>
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

// What a decimal number that no double holds rounds to: 0 or infinity. `text` is one that
// from_chars() took, without a sign.
double value_out_of_range(std::string_view text) {
  const size_t end = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, end);
  // Such a number is far from 1, so it is enough to know the place of its first digit that is not 0
  //   "00120.5"  point 5, first 2: 3      "0.0012"  point 1, first 4: -3
  const auto point = static_cast<int64_t>(std::min(digits.find('.'), digits.size()));
  const size_t first = digits.find_first_not_of("0.");
  if (first == std::string_view::npos) return 0;
  const int64_t place = point - static_cast<int64_t>(first);
  std::string_view exponent = text.substr(std::min(end + 1, text.size()));
  const bool is_negative = take_sign(exponent);
  // Longer than every text: the place cannot outweigh it.
  int64_t value = std::numeric_limits<int64_t>::max() / 2;
  if (exponent.empty()) value = 0;
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), value);
  const int64_t limit = std::numeric_limits<int64_t>::max() / 2;
  value = std::min(value, limit);
  return place + (is_negative ? -value : value) > 0 ? std::numeric_limits<double>::infinity() : 0;
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
    // from_chars() knows names of its own, "nan(1)" among them.
    if (name[0] != '.' && (name[0] < '0' || name[0] > '9')) return std::nullopt;
    const char* last = digits->data() + digits->size();
    const auto end = std::from_chars(digits->data(), last, value);
    if (end.ptr != last || end.ec == std::errc::invalid_argument) return std::nullopt;
    // It leaves the value alone where it is too large or too small.
    if (end.ec != std::errc()) value = value_out_of_range(*digits);
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
