// The tokens of a template.
#pragma once

#include <cstdint>
#include <string>

namespace quern::jinja {

// What a token is; text between tags is one token.
enum class TokenKind : uint8_t {
  kText,         // between the tags, with white space control applied
  kOutputBegin,  // {{
  kOutputEnd,    // }}
  kBlockBegin,   // {%
  kBlockEnd,     // %}
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

// A piece of the source. `text` is the content of names, operators, strings and text.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t offset = 0;  // in bytes from the begin of the source
  std::string text;     // of strings: with escapes resolved
  // Values of number tokens.
  int64_t integer = 0;
  double real = 0;

  // Keywords are names: where one may stand depends on the grammar.
  bool is_operator(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

// "name 'x'", "end of the template", ... for messages.
std::string describe(const Token& token);

}  // namespace quern::jinja
