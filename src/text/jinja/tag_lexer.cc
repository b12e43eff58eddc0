// Tokens inside tags: names, literals, operators.
// Numbers and strings are read as Python reads them.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/lexer.h"
#include "text/jinja/number_parse.h"
#include "text/jinja/string_escapes.h"

namespace quern::jinja {
namespace {

// ASCII: other digits begin no number.
bool is_digit_char(char c) {
  return c >= '0' && c <= '9';
}

// Which bytes from 80 on are letters is not looked at: a name that is none is defined nowhere.
// Letters of any script may stand in names, as in Python.
bool is_name_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || c == '_' || is_digit_char(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

// In either case, up to the base.
bool is_digit_of(char c, int base) {
  const int value = is_digit_char(c) ? c - '0' : (c | 0x20) >= 'a' ? (c | 0x20) - 'a' + 10 : 99;
  return value < base;
}

// Digits with single underscores between them; returns the end, which is `begin` for none.
size_t digits_end(std::string_view text, size_t begin, int base) {
  size_t end = begin;
  while (end < text.size()) {
    if (is_digit_of(text[end], base)) {
      ++end;
    } else if (text[end] == '_' && end > begin && end + 1 < text.size() &&
               is_digit_of(text[end + 1], base)) {
      ++end;
    } else {
      break;
    }
  }
  return end;
}

// Of a literal with "0x", "0o" or "0b".
int integer_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  const char letter = static_cast<char>(text[1] | 0x20);
  return letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
}

// Digits may be grouped by underscores, one at a time.
std::string without_underscores(std::string_view text) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

// The end of a float literal at the begin of `text`; 0 where it is an integer.
size_t float_end(std::string_view text) {
  const size_t whole = digits_end(text, 0, 10);
  size_t end = whole;
  if (end < text.size() && text[end] == '.') {
    const size_t fraction = digits_end(text, end + 1, 10);
    // A point without digits behind it is an attribute's dot: 1.real.
    if (fraction == end + 1) return 0;
    end = fraction;
  }
  if (end < text.size() && (text[end] | 0x20) == 'e') {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    const size_t exponent_end = digits_end(text, exponent, 10);
    // An e without digits begins a name.
    if (exponent_end > exponent) end = exponent_end;
  }
  return end == whole ? 0 : end;
}

// Longer ones first, so that "//" is not two "/".
constexpr std::array<std::string_view, 25> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};

}  // namespace

// Tokens up to the end of the tag.
Result<void> Lexer::lex_tag(Tag tag) {
  const size_t begin = tokens_.back().offset;
  open_brackets_.clear();
  while (true) {
    skip_space();
    if (position_ >= source_.size()) {
      error_at_ = begin;
      return fail::invalid("The tag has no end '{}'", tag == Tag::kBlock ? "%}" : "}}");
    }
    if (lex_tag_end(tag)) return {};
    error_at_ = position_;
    QUERN_TRY(lex_token());
  }
}

// By its first character. Errors: a character that begins nothing.
Result<void> Lexer::lex_token() {
  const char c = source_[position_];
  if (is_digit_char(c)) return lex_number();
  if (c == '\'' || c == '"') return lex_string();
  if (!is_name_char(c)) return lex_operator();
  const size_t begin = position_;
  while (position_ < source_.size() && is_name_char(source_[position_])) ++position_;
  add(TokenKind::kName, begin, std::string(source_.substr(begin, position_ - begin)));
  return {};
}

// Either quote. Errors: no closing quote, a bad escape.
Result<void> Lexer::lex_string() {
  const size_t begin = position_;
  size_t end = begin + 1;
  while (end < source_.size() && source_[end] != source_[begin]) {
    // A backslash takes the next character with it, so an escaped quote does not end the string.
    end += source_[end] == '\\' ? 2 : 1;
  }
  if (end >= source_.size()) return fail::invalid("The string has no end");
  QUERN_ASSIGN_OR_RETURN(std::string text,
                         resolve_escapes(source_.substr(begin + 1, end - begin - 1)));
  add(TokenKind::kString, begin, std::move(text));
  position_ = end + 1;
  return {};
}

// Integers up to 64 bits, floats with a point or an exponent.
Result<void> Lexer::lex_number() {
  const size_t begin = position_;
  // "a.0.5" asks for element 0, then 5.
  const bool follows_dot = !tokens_.empty() && tokens_.back().is_operator(".");
  if (const size_t size = follows_dot ? 0 : float_end(rest())) {
    add(TokenKind::kFloat, begin);
    // float_end() takes nothing that this refuses: out of range it is 0 or infinity.
    tokens_.back().real = parse_float(source_.substr(begin, size)).value_or(0);
    position_ += size;
    return {};
  }
  const int base = integer_base(rest());
  const size_t digits_at = begin + (base == 10 ? 0 : 2);
  position_ = digits_end(source_, digits_at, base);
  const std::string digits = without_underscores(source_.substr(digits_at, position_ - digits_at));
  add(TokenKind::kInteger, begin);
  const auto end =
      std::from_chars(digits.data(), digits.data() + digits.size(), tokens_.back().integer, base);
  if (digits.empty()) return fail::invalid("The number has no digits");
  if (end.ec != std::errc()) {
    return fail::invalid("The number {} does not fit in 64 bits", digits.substr(0, 80));
  }
  return {};
}

// The longest that fits.
Result<void> Lexer::lex_operator() {
  const auto* found = std::find_if(
      kOperators.begin(), kOperators.end(),
      [&](std::string_view candidate) { return rest().substr(0, candidate.size()) == candidate; });
  if (found == kOperators.end()) {
    return fail::invalid("The character '{}' has no meaning here", rest().substr(0, 1));
  }
  const char c = (*found)[0];
  if (c == '(' || c == '[' || c == '{') {
    open_brackets_ += c == '(' ? ')' : c == '[' ? ']' : '}';
  } else if (c == ')' || c == ']' || c == '}') {
    // Checked here and not in the parser, as }} ends a tag only where no bracket is open.
    if (open_brackets_.empty() || open_brackets_.back() != c) {
      return fail::invalid("'{}' closes nothing", *found);
    }
    open_brackets_.pop_back();
  }
  add(TokenKind::kOperator, position_, std::string(*found));
  position_ += found->size();
  return {};
}

}  // namespace quern::jinja
