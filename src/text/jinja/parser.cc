// The parser's view of its tokens.
// The token list ends with an end token, so that looking ahead needs no checks.
#include "text/jinja/parser.h"

#include "base/fail.h"

namespace quern::jinja {

// Ends at the end of the template: an end tag without its begin is an error.
Result<Block> Parser::parse() {
  QUERN_ASSIGN_OR_RETURN(Block block, parse_block({}));
  if (current().kind != TokenKind::kEnd) return unexpected("a statement");
  return block;
}

bool Parser::skip_operator(std::string_view op) {
  if (!current().is_operator(op)) return false;
  advance();
  return true;
}

bool Parser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  advance();
  return true;
}

// Errors: "Expected ..., found ...".
Result<void> Parser::expect(TokenKind kind, std::string_view what) {
  if (current().kind != kind) return unexpected(what);
  advance();
  return {};
}

Result<void> Parser::expect_operator(std::string_view op) {
  if (!skip_operator(op)) return unexpected(fmt::format("'{}'", op));
  return {};
}

Result<void> Parser::expect_name(std::string_view name) {
  if (!skip_name(name)) return unexpected(fmt::format("'{}'", name));
  return {};
}

// Any name: words such as `if` are no tokens of their own.
Result<std::string> Parser::take_name(std::string_view what) {
  if (current().kind != TokenKind::kName) return unexpected(what);
  std::string name = current().text;
  advance();
  return name;
}

// Names what is there, as the user wrote it.
tl::unexpected<Error> Parser::unexpected(std::string_view wanted) {
  return fail_at(current().offset,
                 fail::invalid("Expected {}, found {}", wanted, describe(current())));
}

// The error keeps its words; only the place is noted, for error_offset().
tl::unexpected<Error> Parser::fail_at(uint32_t offset, tl::unexpected<Error> error) {
  error_at_ = offset;
  return error;
}

// Errors: kResourceExhausted past the limit; hostile templates nest thousands of brackets.
Result<void> Parser::check_nesting() {
  if (nesting_ <= kMaxNesting) return {};
  return fail_at(current().offset,
                 fail::exhausted("The template nests over {} levels deep", kMaxNesting));
}

}  // namespace quern::jinja
