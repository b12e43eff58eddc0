// One value laid out by a format specification.
// Numbers are laid out in parts, since padding and grouping go between sign and digits.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/format.h"
#include "text/jinja/value_text.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// A number in parts, so that padding can go between them.
struct NumberText {
  std::string sign;    // also "0x" and the like
  std::string digits;  // before the point
  std::string rest;    // point, fraction, exponent, percent sign
};

// '-' always shows; '+' and ' ' show for other numbers where they are asked for.
std::string sign_text(bool is_negative, char sign) {
  if (is_negative) return "-";
  return sign == '-' ? "" : std::string(1, sign);
}

// ASCII only: digits of bases, exponents, "INF".
std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

// Digits, sign and prefix of an integer in the base that the type names.
NumberText integer_parts(const FormatSpec& spec, int64_t number) {
  const char type = static_cast<char>(spec.type | 0x20);
  const int base = type == 'x' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  std::array<char, 70> buffer = {};
  const uint64_t magnitude =
      // The magnitude of -2^63 does not fit in int64.
      number < 0 ? ~static_cast<uint64_t>(number) + 1 : static_cast<uint64_t>(number);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base);
  NumberText text{sign_text(number < 0, spec.sign), std::string(buffer.data(), end.ptr), ""};
  if (spec.is_alternate && base != 10) text.sign += std::string("0") + type;
  // The precision of % is the least number of digits.
  if (const auto least = static_cast<size_t>(std::max(spec.precision, 0));
      text.digits.size() < least) {
    text.digits.insert(0, least - text.digits.size(), '0');
  }
  if (spec.type == 'X') {
    text.digits = upper_case(text.digits);
    text.sign = upper_case(text.sign);
  }
  return text;
}

// The digits of `layout` with this precision.
std::string plain_digits(double magnitude, std::chars_format layout, int precision) {
  // A float has at most 309 digits before the point.
  std::string buffer(static_cast<size_t>(precision) + 340, '\0');
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, layout, precision);
  buffer.resize(static_cast<size_t>(end.ptr - buffer.data()));
  return buffer;
}

// A precision without a type: as 'g', but with a digit behind the point, which may need an exponent
// where 'g' does not.
std::string short_digits(double magnitude, int precision) {
  const int digits = std::max(precision, 1);
  std::string scientific = plain_digits(magnitude, std::chars_format::scientific, digits - 1);
  const size_t e = scientific.find('e');
  int exponent = 0;
  const char* const first = scientific.data() + e + (scientific[e + 1] == '+' ? 2 : 1);
  std::from_chars(first, scientific.data() + scientific.size(), exponent);
  if (exponent == digits - 1) {
    std::string mantissa = scientific.substr(0, e);
    if (mantissa.find('.') != std::string::npos) {
      mantissa.resize(mantissa.find_last_not_of('0') + 1);
      if (mantissa.back() == '.') mantissa.pop_back();
    }
    return mantissa + scientific.substr(e);
  }
  std::string text = plain_digits(magnitude, std::chars_format::general, digits);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// '#' keeps the point, and of 'g' the zeros behind it.
std::string with_point(const FormatSpec& spec, std::string text) {
  const size_t e = std::min(text.find('e'), text.size());
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') == std::string::npos) mantissa += '.';
  if ((spec.type | 0x20) == 'g') {
    const auto wanted = static_cast<size_t>(spec.precision < 0 ? 6 : std::max(spec.precision, 1));
    const size_t leading = mantissa.find_first_not_of("0.");
    size_t digits = 0;
    for (size_t i = std::min(leading, mantissa.size()); i < mantissa.size(); ++i) {
      if (mantissa[i] != '.') ++digits;
    }
    if (leading == std::string::npos) digits = 1;
    if (digits < wanted) mantissa.append(wanted - digits, '0');
  }
  return mantissa + text.substr(e);
}

// Digits of a float without its sign, as Python's types e, f, g and % print them.
std::string float_digits(const FormatSpec& spec, double magnitude) {
  if (std::isnan(magnitude)) return "nan";
  if (std::isinf(magnitude)) return "inf";
  const char type = static_cast<char>(spec.type | 0x20);
  if (spec.type == 0 && spec.precision < 0) return float_text(magnitude);
  if (spec.type == 0) return short_digits(magnitude, spec.precision);
  const auto layout = type == 'g' || type == 'n' ? std::chars_format::general
                      : type == 'e'              ? std::chars_format::scientific
                                                 : std::chars_format::fixed;
  std::string text = plain_digits(magnitude, layout, spec.precision < 0 ? 6 : spec.precision);
  return spec.is_alternate ? with_point(spec, std::move(text)) : text;
}

// Sign, digits and what stands behind the point.
NumberText float_parts(const FormatSpec& spec, double number) {
  const bool is_percent = spec.type == '%';
  const double magnitude = std::fabs(number) * (is_percent ? 100 : 1);
  std::string text = float_digits(spec, magnitude);
  if (spec.type >= 'A' && spec.type <= 'Z') text = upper_case(std::move(text));
  const size_t whole = std::min(text.find_first_not_of("0123456789"), text.size());
  // -0.0 shows its sign, NaN never has one.
  const bool is_negative = std::signbit(number) && !std::isnan(number);
  NumberText parts{sign_text(is_negative, spec.sign), text.substr(0, whole), text.substr(whole)};
  if (is_percent) parts.rest += '%';
  return parts;
}

// Decimal digits stand in groups of 3, those of other bases in groups of 4.
std::string group_digits(const std::string& digits, const FormatSpec& spec) {
  const bool is_binary =
      spec.type != 0 && std::string_view("xXob").find(spec.type) != std::string::npos;
  const size_t group = is_binary ? 4 : 3;
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += spec.grouping;
    out += digits[i];
  }
  return out;
}

// `text` `count` times.
std::string repeat(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// `align` is never 0 here.
std::string align_text(const FormatSpec& spec, char align, std::string_view text) {
  const int64_t size = count_characters(text);
  const auto missing = static_cast<size_t>(std::max<int64_t>(spec.width - size, 0));
  const size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  return repeat(spec.fill, left) + std::string(text) + repeat(spec.fill, missing - left);
}

// Sign, prefix, padding and digits in one text; zeros of '0' go behind the sign.
std::string lay_out_number(const FormatSpec& spec, NumberText parts) {
  const char align = spec.align != 0 ? spec.align : spec.pads_zeros ? '=' : '>';
  if (spec.grouping != 0) {
    // Zeros that fill up are grouped too.
    const auto width = static_cast<size_t>(spec.width);
    const size_t others = parts.sign.size() + parts.rest.size();
    std::string grouped = group_digits(parts.digits, spec);
    // A zero more may bring a separator with it: format(1234, "010,") is 00,001,234.
    while (align == '=' && spec.fill == "0" && grouped.size() + others < width) {
      parts.digits.insert(0, 1, '0');
      grouped = group_digits(parts.digits, spec);
    }
    parts.digits = std::move(grouped);
  }
  const std::string body = parts.digits + parts.rest;
  if (align != '=') return align_text(spec, align, parts.sign + body);
  FormatSpec inner = spec;
  inner.width = std::max(0, spec.width - static_cast<int>(parts.sign.size()));
  return parts.sign + align_text(inner, '>', body);
}

// The first `count` characters; all of them for a negative count.
std::string_view first_characters(std::string_view text, int count) {
  size_t size = 0;
  const std::vector<std::string_view> characters = split_characters(text);
  for (size_t i = 0; i < characters.size() && i < static_cast<size_t>(count); ++i) {
    size += characters[i].size();
  }
  return text.substr(0, size);
}

// Whether `c` is one of the letters.
bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

}  // namespace

std::string escape_non_ascii(std::string_view text) {
  std::string out;
  for (const std::string_view character : split_characters(text)) {
    const uint32_t c = decode_utf8(character).code_point;
    if (character.size() == 1) {
      out += character;
    } else {
      out += c < 0x100     ? fmt::format("\\x{:02x}", c)
             : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                           : fmt::format("\\U{:08x}", c);
    }
  }
  return out;
}

Result<std::string> character_of(int64_t number) {
  const bool is_surrogate = number >= 0xD800 && number <= 0xDFFF;
  if (number < 0 || number > 0x10FFFF || is_surrogate) {
    return fail::invalid("The number {} is no character", number);
  }
  std::string text;
  append_utf8(static_cast<uint32_t>(number), text);
  return text;
}

// format(value, spec). Errors: kInvalidArgument for a type that the value does not have.
Result<std::string> format_value(Heap& heap, const FormatSpec& spec, const Value& value) {
  if (spec.width > kMaxFormatWidth || spec.precision > kMaxFormatWidth) {
    return fail::invalid("A format is over {} characters wide", kMaxFormatWidth);
  }
  const size_t size = static_cast<size_t>(spec.width) * spec.fill.size() +
                      static_cast<size_t>(std::max(spec.precision, 0));
  QUERN_TRY(heap.reserve(size));
  QUERN_TRY(heap.spend_scan(size));
  if (spec.type == 'c' && value.is_integral()) {
    QUERN_ASSIGN_OR_RETURN(const std::string text, character_of(value.integer()));
    return align_text(spec, spec.align == 0 ? '<' : spec.align, text);
  }
  const bool is_integer_type = spec.type != 0 && is_one_of(spec.type, "dxXobc");
  const bool is_float_type = spec.type != 0 && is_one_of(spec.type, "eEfFgGn%");
  // A boolean is a number where any layout is asked for.
  const bool is_plain = spec.type == 0 && spec.width == 0 && spec.precision < 0;
  if (value.is_number() && spec.type != 's' && !(value.kind() == Kind::kBool && is_plain)) {
    if (value.is_integral() && (!is_float_type || spec.type == 'n')) {
      return lay_out_number(spec, integer_parts(spec, value.integer()));
    }
    if (!is_integer_type) return lay_out_number(spec, float_parts(spec, value.real()));
  }
  if (is_integer_type || is_float_type) {
    return fail::invalid("The format '{}' does not fit a value of type '{}'", spec.type,
                         type_name(value));
  }
  QUERN_ASSIGN_OR_RETURN(const std::string text, to_text(heap, value));
  QUERN_TRY(heap.spend_characters(text.size()));
  const std::string_view part = spec.precision < 0 ? text : first_characters(text, spec.precision);
  return align_text(spec, spec.align == 0 ? '<' : spec.align == '=' ? '>' : spec.align, part);
}

}  // namespace quern::jinja
