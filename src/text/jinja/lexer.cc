// The text between tags, comments, raw blocks; tags are in tag_lexer.cc.
// Whitespace control is settled here: the parser never sees it.
#include "text/jinja/lexer.h"

#include "base/fail.h"
#include "text/jinja/characters.h"

namespace quern::jinja {
namespace {

// '-' or '+' behind or before a tag, else 0.
char sign_at(std::string_view text, size_t position) {
  if (position >= text.size()) return 0;
  return text[position] == '-' || text[position] == '+' ? text[position] : 0;
}

// Where the text after a tag's end begins, for an end that stands at `position`: "-%}" and the
// space after it, "+%}", or "%}" and a newline. npos where there is no such end.
size_t after_block_end(std::string_view text, size_t position, std::string_view end) {
  const char sign = sign_at(text, position);
  if (sign != 0) ++position;
  if (text.substr(position, 2) != end) return std::string_view::npos;
  position += 2;
  if (sign == '-') return text.size() - strip_left(text.substr(position)).size();
  // trim_blocks: one line break behind a block tag goes with it; '+' keeps it.
  if (sign == 0 && text.substr(position, 1) == "\n") ++position;
  return position;
}

// The first position that is no whitespace.
size_t skip_space_from(std::string_view text, size_t position) {
  return text.size() - strip_left(text.substr(position)).size();
}

}  // namespace

// Line breaks of every kind become \n, and one at the end is dropped, as Jinja does.
std::string normalize_source(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

// The token as the user wrote it, for errors.
std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kText:
      return "text";
    case TokenKind::kOutputBegin:
      return "'{{'";
    case TokenKind::kOutputEnd:
      return "'}}'";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return "a number";
    default:
      return fmt::format("'{}'", token.text);
  }
}

// Tokens keep the offset of their first byte.
void Lexer::add(TokenKind kind, size_t offset, std::string text) {
  tokens_.push_back({kind, static_cast<uint32_t>(offset), std::move(text)});
}

// Nothing is added for an empty text.
void Lexer::add_text(std::string_view text, size_t offset) {
  if (!text.empty()) add(TokenKind::kText, offset, std::string(text));
}

// Whitespace inside of tags means nothing.
void Lexer::skip_space() {
  position_ = skip_space_from(source_, position_);
}

// '-' strips all whitespace before the tag; trim_blocks and lstrip_blocks, as chat templates are
// rendered, strip the indentation of a block tag.
std::string_view Lexer::strip_before_tag(std::string_view text, char sign, bool is_output) const {
  if (sign == '-') return strip_right(text);
  if (sign == '+' || is_output) return text;
  const size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
  // No line break since the last tag: something stands before this one on its line.
  if (line == 0 && !is_line_begin_) return text;
  // lstrip_blocks: the indentation goes only where nothing else is on the line before the tag.
  return strip_left(text.substr(line)).empty() ? text.substr(0, line) : text;
}

// Errors: kInvalidArgument with the place, for what is not closed or no token.
Result<std::vector<Token>> Lexer::lex() {
  while (position_ < source_.size()) {
    size_t tag = position_;
    do {
      tag = source_.find('{', tag);
    } while (tag != std::string_view::npos && tag + 1 < source_.size() &&
             std::string_view("{%#").find(source_[tag + 1]) == std::string_view::npos && ++tag);
    if (tag == std::string_view::npos || tag + 1 >= source_.size()) {
      add_text(rest(), position_);
      break;
    }
    const std::string_view before = source_.substr(position_, tag - position_);
    if (source_[tag + 1] == '%') {
      QUERN_ASSIGN_OR_RETURN(const bool is_raw, lex_raw(tag, before));
      if (is_raw) continue;
    }
    const bool is_output = source_[tag + 1] == '{';
    const char sign = sign_at(source_, tag + 2);
    add_text(strip_before_tag(before, sign, is_output), position_);
    position_ = tag + (sign != 0 ? 3 : 2);
    if (source_[tag + 1] == '#') {
      QUERN_TRY(lex_comment(tag));
    } else {
      add(is_output ? TokenKind::kOutputBegin : TokenKind::kBlockBegin, tag);
      QUERN_TRY(lex_tag(is_output ? Tag::kOutput : Tag::kBlock));
    }
  }
  add(TokenKind::kEnd, source_.size());
  return std::move(tokens_);
}

// {# ... #}: everything up to the first end.
Result<void> Lexer::lex_comment(size_t tag) {
  size_t end = source_.find("#}", position_);
  if (end == std::string_view::npos) {
    error_at_ = tag;
    return fail::invalid("The comment has no end '#}}'");
  }
  if (end > position_ && sign_at(source_, end - 1) != 0) --end;
  position_ = after_block_end(source_, end, "#}");
  is_line_begin_ = source_[position_ - 1] == '\n';
  return {};
}

// {% raw %}: the text up to {% endraw %} as it is. False where the tag is another one.
Result<bool> Lexer::lex_raw(size_t tag, std::string_view before) {
  const char sign = sign_at(source_, tag + 2);
  size_t at = skip_space_from(source_, tag + (sign != 0 ? 3 : 2));
  if (source_.substr(at, 3) != "raw") return false;
  at = skip_space_from(source_, at + 3);
  if (source_.substr(at, 2) == "%}") {
    at += 2;  // raw text keeps its first newline
  } else if (source_.substr(at, 3) == "-%}") {
    at = skip_space_from(source_, at + 3);
  } else {
    return false;
  }
  add_text(strip_before_tag(before, sign, false), position_);
  is_line_begin_ = source_[at - 1] == '\n';
  for (size_t end = source_.find("{%", at); end != std::string_view::npos;
       end = source_.find("{%", end + 2)) {
    const char end_sign = sign_at(source_, end + 2);
    const size_t name = skip_space_from(source_, end + (end_sign != 0 ? 3 : 2));
    if (source_.substr(name, 6) != "endraw") continue;
    const size_t after = after_block_end(source_, skip_space_from(source_, name + 6), "%}");
    if (after == std::string_view::npos) continue;
    add_text(strip_before_tag(source_.substr(at, end - at), end_sign, false), at);
    position_ = after;
    is_line_begin_ = source_[after - 1] == '\n';
    return true;
  }
  error_at_ = tag;
  return fail::invalid("The block 'raw' has no end '{{% endraw %}}'");
}

// Moves behind the end of a tag and strips what its sign asks for.
bool Lexer::lex_tag_end(Tag tag) {
  // "}}" inside of brackets closes dicts: {{ {"a": {"b": 1}} }}.
  if (!open_brackets_.empty()) return false;
  const size_t begin = position_;
  if (tag == Tag::kBlock) {
    const size_t after = after_block_end(source_, begin, "%}");
    if (after == std::string_view::npos) return false;
    position_ = after;
  } else if (source_.substr(begin, 2) == "}}") {
    position_ += 2;
  } else if (source_.substr(begin, 3) == "-}}") {
    position_ += 3;
    skip_space();
  } else {
    return false;
  }
  is_line_begin_ = source_[position_ - 1] == '\n';
  add(tag == Tag::kBlock ? TokenKind::kBlockEnd : TokenKind::kOutputEnd, begin);
  return true;
}

}  // namespace quern::jinja
