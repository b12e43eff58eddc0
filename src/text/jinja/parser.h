// Tokens to a tree.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/token.h"

namespace quern::jinja {

// Nesting of tags, brackets and operators that a template may have. It bounds the stack that
// parsing, evaluating and destroying a tree take.
inline constexpr int kMaxNesting = 150;

// One thread only; parse() may be called once.
class Parser {
 public:
  // The tokens end with kEnd and outlive the parser.
  explicit Parser(std::span<const Token> tokens) : tokens_(tokens) {}

  // The whole template. Errors: kInvalidArgument for what Jinja does not compile either,
  // kUnimplemented for tags that chat templates do not have, kResourceExhausted for nesting;
  // error_offset() tells where.
  Result<Block> parse();
  // Where the error of parse() is.
  uint32_t error_offset() const { return error_at_; }

 private:
  using Names = std::initializer_list<std::string_view>;

  // Tokens (parser.cc).
  const Token& current() const { return tokens_[position_]; }
  // The token behind the current one; the last token repeats itself.
  const Token& next() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  void advance() { position_ = std::min(position_ + 1, tokens_.size() - 1); }
  // Moves behind the token and gives true, if it is this one.
  bool skip_operator(std::string_view op);
  bool skip_name(std::string_view name);
  // Moves behind the token. Errors: unexpected(), where it is another one.
  Result<void> expect(TokenKind kind, std::string_view what);
  Result<void> expect_operator(std::string_view op);
  Result<void> expect_name(std::string_view name);
  Result<std::string> take_name(std::string_view what);
  // "Expected ..., found ...", at the current token.
  tl::unexpected<Error> unexpected(std::string_view wanted);
  // Notes the place and passes the error on.
  tl::unexpected<Error> fail_at(uint32_t offset, tl::unexpected<Error> error);

  // Statements (statement_parser.cc).
  Result<Block> parse_block(Names end_names);
  // {% NAME %} that ends a block; its begin is given for the error.
  Result<void> parse_end(std::string_view end_name);
  // Statements (statement_parser.cc). Each begins behind the name of its tag and ends behind its
  // end tag.
  bool at_end_tag(Names end_names) const;
  Result<void> parse_statement(Block& block);
  Result<Statement::Node> parse_tag(const Token& name);
  Result<Statement::Node> parse_for();
  Result<Statement::Node> parse_if();
  Result<Statement::Node> parse_set();
  Result<Statement::Node> parse_macro();
  Result<Statement::Node> parse_call_block();
  Result<Statement::Node> parse_filter_block();
  Result<Statement::Node> parse_with();
  Result<Statement::Node> parse_generation();
  Result<Statement::Node> parse_loop_control(bool is_break);
  Result<void> parse_parameters(MacroStatement& macro);
  // Body and end tag of a macro; notes which special names it uses.
  Result<void> parse_macro_body(MacroStatement& macro, std::string_view end_name);
  // Names that are assigned to; attributes of namespaces only where `set` asks for them.
  Result<Target> parse_target(bool allows_attribute);
  Result<Target> parse_single_target(bool allows_attribute);

  // Expressions (expression_parser.cc).
  Result<ExprPtr> parse_expression();
  // Expressions (expression_parser.cc), by falling precedence: each level reads operands of the
  // next.
  Result<ExprPtr> parse_tuple(bool has_condition = true);
  Result<ExprPtr> parse_or();
  Result<ExprPtr> parse_and();
  Result<ExprPtr> parse_not();
  Result<ExprPtr> parse_compare();
  Result<ExprPtr> parse_sum();
  Result<ExprPtr> parse_concat();
  Result<ExprPtr> parse_product();
  Result<ExprPtr> parse_power();
  Result<ExprPtr> parse_unary(bool has_filters);
  // Operands (primary_parser.cc): constants, names, brackets, and what may follow them.
  Result<ExprPtr> parse_primary();
  Result<ExprPtr> parse_name_or_constant();
  Result<ExprPtr> parse_string();
  Result<ExprPtr> parse_parenthesised();
  Result<ExprPtr> parse_list();
  Result<ExprPtr> parse_dict();
  Result<ExprPtr> parse_postfix(ExprPtr expr);
  Result<ExprPtr> parse_attribute(ExprPtr object);
  Result<ExprPtr> parse_subscript(ExprPtr object);
  Result<ExprPtr> parse_filters_and_tests(ExprPtr expr);
  Result<ExprPtr> parse_test(ExprPtr input);
  // Filters and arguments, wherever they stand.
  Result<FilterCall> parse_filter_call();
  Result<std::vector<FilterCall>> parse_filter_chain();
  Result<CallArguments> parse_call_arguments();
  bool at_test_argument() const;
  // Refuses trees over kMaxNesting.
  Result<ExprPtr> make(uint32_t offset, Expr::Node node);

  // Counts the nesting while it lives.
  class NestingGuard {
   public:
    // Nesting of tags and brackets: the parser calls itself, and must not overflow the stack.
    explicit NestingGuard(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~NestingGuard() { --parser_.nesting_; }
    NestingGuard(const NestingGuard&) = delete;
    NestingGuard& operator=(const NestingGuard&) = delete;

   private:
    Parser& parser_;
  };
  // Errors: kResourceExhausted past kMaxNesting.
  Result<void> check_nesting();

  // Borrowed; the last one is the end of the template.
  std::span<const Token> tokens_;
  size_t position_ = 0;
  int nesting_ = 0;
  int num_loops_ = 0;  // that break and continue could mean here
  // Offset of the last error in the source.
  uint32_t error_at_ = 0;
};

}  // namespace quern::jinja
