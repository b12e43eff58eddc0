// A template's source as tokens. White space around tags is handled as transformers sets jinja2:
// trim_blocks (a block tag takes the newline that follows it) and lstrip_blocks (and the white
// space before it, where nothing else stands in front of it on its line), with the signs - and +
// in the tags ("{%-", "+%}") to strip all or nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/jinja/token.h"

namespace quern::jinja {

// Newlines become \n; one at the end is dropped. All offsets refer to this text.
std::string normalize_source(std::string_view source);

// One thread only; lex() may be called once.
class Lexer {
 public:
  // `source` is normalised and outlives the lexer.
  explicit Lexer(std::string_view source) : source_(source) {}

  // The last token is kEnd.
  Result<std::vector<Token>> lex();
  // Where the error of lex() is.
  uint32_t error_offset() const { return static_cast<uint32_t>(error_at_); }

 private:
  // {{ ... }} or {% ... %}.
  enum class Tag { kOutput, kBlock };

  std::string_view rest() const { return source_.substr(position_); }
  // A token at this offset; `text` is its name, operator or content.
  void add(TokenKind kind, size_t offset, std::string text = {});
  // Text between tags; the empty text makes no token.
  void add_text(std::string_view text, size_t offset);
  void skip_space();
  // The text before a tag, without what the tag's sign or lstrip_blocks takes.
  std::string_view strip_before_tag(std::string_view text, char sign, bool is_output) const;

  // Each lex_ function begins at the position, ends behind what it read, and notes error_at_ before
  // it fails.
  Result<void> lex_comment(size_t tag);
  // False where the block at `tag` is not {% raw %}.
  Result<bool> lex_raw(size_t tag, std::string_view before);
  Result<void> lex_tag(Tag tag);
  // True where the tag ended here.
  bool lex_tag_end(Tag tag);
  // One token inside of a tag.
  Result<void> lex_token();
  Result<void> lex_string();
  Result<void> lex_number();
  Result<void> lex_operator();

  // The whole source, borrowed.
  std::string_view source_;
  size_t position_ = 0;
  // Where the error that is given stands, for its line and column.
  size_t error_at_ = 0;
  bool is_line_begin_ = true;  // the last tag took a newline, or there was none yet
  std::string open_brackets_;  // inside a tag
  std::vector<Token> tokens_;
};

}  // namespace quern::jinja
