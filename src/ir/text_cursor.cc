// Tokens of the text form.
#include "ir/text_cursor.h"

#include <fmt/format.h>

#include <charconv>

#include "base/fail.h"

namespace quern {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == ':' || c == '-' || c == '/';
}

void TextCursor::skip_spaces() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

// Steps over blanks first, so that a comment may stand anywhere.
bool TextCursor::is_end() {
  skip_spaces();
  return at_ >= text_.size() || text_[at_] == '#';
}

// Moves only where the token stands.
bool TextCursor::accept(std::string_view token) {
  skip_spaces();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

// A longer word that begins alike is another one: "outputs" is not "output".
bool TextCursor::accept_word(std::string_view word) {
  skip_spaces();
  const size_t end = at_ + word.size();
  if (end < text_.size() && is_name_char(text_[end])) return false;
  return accept(word);
}

Result<void> TextCursor::expect(std::string_view token) {
  if (accept(token)) return {};
  return error(fmt::format("'{}' is expected here", token));
}

// The longest run of characters that names may have.
Result<std::string> TextCursor::name() {
  skip_spaces();
  const size_t start = at_;
  while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
  if (at_ == start) return error("a name is expected here");
  return std::string(text_.substr(start, at_ - start));
}

// Types hold blanks and commas, so the bracket ends them, not a blank.
Result<std::string> TextCursor::type_text() {
  skip_spaces();
  const size_t start = at_;
  const size_t close = text_.find(']', at_);
  if (close == std::string_view::npos) return error("a type such as f32[T, 64] is expected here");
  at_ = close + 1;
  if (at_ < text_.size() && text_[at_] == '@') {
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != ',') ++at_;
  }
  return std::string(text_.substr(start, at_ - start));
}

// Columns count bytes from 1.
tl::unexpected<Error> TextCursor::error(std::string_view what) const {
  return fail::invalid("Line {}, column {}: {}.", number_, at_ + 1, what);
}

// Stands on the opening quote. A backslash makes the next character literal; \n is a line break,
// which the text form cannot hold.
Result<std::string> TextCursor::quoted_text() {
  std::string value;
  for (++at_; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return value;
    }
    if (c != '\\') {
      value += c;
    } else if (++at_ < text_.size()) {
      value += text_[at_] == 'n' ? '\n' : text_[at_];
    }
  }
  at_ = text_.size();  // a backslash at the end may have led past it
  return error("the text has no closing quote");
}

// An integer where the whole word is one that fits 64 bits, else a double, "inf" and "nan"
// included.
Result<AttributeValue> TextCursor::number() {
  skip_spaces();
  const size_t start = at_;
  while (at_ < text_.size() && (is_name_char(text_[at_]) || text_[at_] == '+')) ++at_;
  // A word takes more characters than numbers have, so that "1x" is one wrong value and not a
  // number with something behind it.
  const std::string word(text_.substr(start, at_ - start));
  int64_t integer = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), integer);
  if (parsed.ec == std::errc{} && parsed.ptr == word.data() + word.size()) return integer;
  double value = 0;
  const auto real = std::from_chars(word.data(), word.data() + word.size(), value);
  if (real.ec == std::errc{} && real.ptr == word.data() + word.size()) return value;
  return error(fmt::format("'{}' is not a value", word));
}

// Stands behind the opening bracket. Integers may stand in a list of doubles, not the other way.
template <class T>
Result<AttributeValue> TextCursor::list() {
  std::vector<T> values;
  if (accept("]")) return AttributeValue(values);
  while (true) {
    QUERN_ASSIGN_OR_RETURN(const AttributeValue value, number());
    if (const auto* typed = std::get_if<T>(&value)) {
      values.push_back(*typed);
    } else if (const auto* integer = std::get_if<int64_t>(&value)) {
      values.push_back(static_cast<T>(*integer));
    } else {
      return error("the list mixes kinds of numbers");
    }
    if (accept("]")) return AttributeValue(values);
    QUERN_TRY(expect(","));
  }
}

// The first characters decide the kind: true, false, [, f[, a quote, or else a number.
Result<AttributeValue> TextCursor::attribute_value() {
  if (accept("true")) return AttributeValue(true);
  if (accept("false")) return AttributeValue(false);
  if (accept("f[")) return list<double>();
  if (accept("[")) return list<int64_t>();
  skip_spaces();
  if (at_ < text_.size() && text_[at_] == '"') {
    QUERN_ASSIGN_OR_RETURN(std::string text, quoted_text());
    return AttributeValue(std::move(text));
  }
  return number();
}

// No braces mean no attributes.
Result<Attributes> TextCursor::attributes() {
  Attributes result;
  if (!accept("{") || accept("}")) return result;
  while (true) {
    QUERN_ASSIGN_OR_RETURN(const std::string name, this->name());
    if (result.find(name) != nullptr) {
      return error(fmt::format("the attribute '{}' stands here twice", name));
    }
    QUERN_TRY(expect("="));
    QUERN_ASSIGN_OR_RETURN(AttributeValue value, attribute_value());
    result.set(name, std::move(value));
    if (accept("}")) return result;
    QUERN_TRY(expect(","));
  }
}

}  // namespace quern
