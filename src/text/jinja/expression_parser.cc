// Expressions, from the loosest operator to the tightest.
// Chains of one precedence are flat nodes: a sum of a thousand terms must not nest a thousand deep.
#include <algorithm>
#include <array>

#include "base/fail.h"
#include "text/jinja/parser.h"

namespace quern::jinja {
namespace {

// Longer operators first: "<=" begins with "<".
constexpr std::array<std::pair<std::string_view, CompareOp>, 6> kComparisons = {
    {{"==", CompareOp::kEqual},
     {"!=", CompareOp::kNotEqual},
     {"<", CompareOp::kLess},
     {"<=", CompareOp::kLessEqual},
     {">", CompareOp::kGreater},
     {">=", CompareOp::kGreaterEqual}}};
// Of one precedence, from the left.
constexpr std::array<std::pair<std::string_view, BinaryOp>, 2> kSums = {
    {{"+", BinaryOp::kAdd}, {"-", BinaryOp::kSubtract}}};
constexpr std::array<std::pair<std::string_view, BinaryOp>, 4> kProducts = {
    {{"*", BinaryOp::kMultiply},
     {"/", BinaryOp::kDivide},
     {"//", BinaryOp::kFloorDivide},
     {"%", BinaryOp::kModulo}}};

// The operator that the token is, of one level; nothing for any other token.
template <class Op, size_t N>
std::optional<Op> find_operator(const std::array<std::pair<std::string_view, Op>, N>& operators,
                                const Token& token) {
  for (const auto& [text, op] : operators) {
    if (token.is_operator(text)) return op;
  }
  return std::nullopt;
}

}  // namespace

// a if b else c, where c may be such an expression again. The loop is for `a if b if c`: what has
// been read so far is then the value of the next condition. Without `else` a false condition gives
// an undefined value, as in Jinja.
Result<ExprPtr> Parser::parse_expression() {
  const NestingGuard guard(*this);
  QUERN_TRY(check_nesting());
  const uint32_t offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(ExprPtr expr, parse_or());
  while (skip_name("if")) {
    ConditionalExpr node;
    QUERN_ASSIGN_OR_RETURN(node.condition, parse_or());
    if (skip_name("else")) {
      QUERN_ASSIGN_OR_RETURN(node.when_false, parse_expression());
    }
    node.when_true = std::move(expr);
    QUERN_ASSIGN_OR_RETURN(expr, make(offset, std::move(node)));
  }
  return expr;
}

// One expression, or several with commas between them, which are a tuple without brackets; a comma
// at the end makes a tuple of one. In `for x in a if c` the `if` belongs to the tag, so the caller
// reads the items without conditions.
Result<ExprPtr> Parser::parse_tuple(bool has_condition) {
  const uint32_t offset = current().offset;
  ListExpr tuple{{}, true};
  while (true) {
    auto item = has_condition ? parse_expression() : parse_or();
    if (!item) return item;
    tuple.items.push_back(std::move(*item));
    if (!current().is_operator(",")) break;
    advance();
    const Token& token = current();
    if (token.kind == TokenKind::kOutputEnd || token.kind == TokenKind::kBlockEnd ||
        token.is_operator(")")) {
      return make(offset, std::move(tuple));
    }
  }
  if (tuple.items.size() == 1) return std::move(tuple.items[0]);
  return make(offset, std::move(tuple));
}

Result<ExprPtr> Parser::parse_or() {
  const uint32_t offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(ExprPtr first, parse_and());
  if (!current().is_name("or")) return first;
  // All operands of `or` are in one node, which stops at the first that is true.
  LogicExpr node{false, {}};
  node.operands.push_back(std::move(first));
  while (skip_name("or")) {
    QUERN_ASSIGN_OR_RETURN(ExprPtr operand, parse_and());
    node.operands.push_back(std::move(operand));
  }
  return make(offset, std::move(node));
}

Result<ExprPtr> Parser::parse_and() {
  const uint32_t offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(ExprPtr first, parse_not());
  if (!current().is_name("and")) return first;
  // As for `or`; evaluation stops at the first that is false.
  LogicExpr node{true, {}};
  node.operands.push_back(std::move(first));
  while (skip_name("and")) {
    QUERN_ASSIGN_OR_RETURN(ExprPtr operand, parse_not());
    node.operands.push_back(std::move(operand));
  }
  return make(offset, std::move(node));
}

// `not` binds less tight than comparisons: not a == b is not (a == b). It can stand many times in a
// row, each time one call deeper, which is what the guard counts.
Result<ExprPtr> Parser::parse_not() {
  const uint32_t offset = current().offset;
  if (!skip_name("not")) return parse_compare();
  const NestingGuard guard(*this);
  QUERN_TRY(check_nesting());
  QUERN_ASSIGN_OR_RETURN(ExprPtr operand, parse_not());
  return make(offset, UnaryExpr{UnaryOp::kNot, std::move(operand)});
}

// A chain as in Python: a < b < c holds if a < b and b < c, with b evaluated once. `not in` is two
// tokens; a `not` before anything else is no comparison and ends the chain.
Result<ExprPtr> Parser::parse_compare() {
  const uint32_t offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(ExprPtr first, parse_sum());
  CompareExpr node;
  while (true) {
    std::optional<CompareOp> op = find_operator(kComparisons, current());
    if (current().is_name("in")) op = CompareOp::kIn;
    if (current().is_name("not") && next().is_name("in")) {
      op = CompareOp::kNotIn;
      advance();
    }
    if (!op) break;
    advance();
    QUERN_ASSIGN_OR_RETURN(ExprPtr operand, parse_sum());
    node.rest.emplace_back(*op, std::move(operand));
  }
  if (node.rest.empty()) return first;
  node.first = std::move(first);
  return make(offset, std::move(node));
}

// Jinja's order of levels, which differs from Python's: + and - are loosest, then ~, then * / //
// and %, then **, then signs.
Result<ExprPtr> Parser::parse_sum() {
  const uint32_t offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(ExprPtr first, parse_concat());
  ArithmeticExpr node;
  while (const auto op = find_operator(kSums, current())) {
    advance();
    QUERN_ASSIGN_OR_RETURN(ExprPtr operand, parse_concat());
    node.rest.emplace_back(*op, std::move(operand));
  }
  if (node.rest.empty()) return first;
  node.first = std::move(first);
  return make(offset, std::move(node));
}

// All operands in one node: text is joined once and not pair by pair, which would copy it each
// time.
Result<ExprPtr> Parser::parse_concat() {
  const uint32_t offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(ExprPtr first, parse_product());
  if (!current().is_operator("~")) return first;
  ConcatExpr node;
  node.operands.push_back(std::move(first));
  while (skip_operator("~")) {
    QUERN_ASSIGN_OR_RETURN(ExprPtr operand, parse_product());
    node.operands.push_back(std::move(operand));
  }
  return make(offset, std::move(node));
}

Result<ExprPtr> Parser::parse_product() {
  const uint32_t offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(ExprPtr first, parse_power());
  ArithmeticExpr node;
  while (const auto op = find_operator(kProducts, current())) {
    advance();
    QUERN_ASSIGN_OR_RETURN(ExprPtr operand, parse_power());
    node.rest.emplace_back(*op, std::move(operand));
  }
  if (node.rest.empty()) return first;
  node.first = std::move(first);
  return make(offset, std::move(node));
}

// From the left, unlike Python: 2 ** 3 ** 2 is 64.
Result<ExprPtr> Parser::parse_power() {
  const uint32_t offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(ExprPtr first, parse_unary(true));
  ArithmeticExpr node;
  while (skip_operator("**")) {
    QUERN_ASSIGN_OR_RETURN(ExprPtr operand, parse_unary(true));
    node.rest.emplace_back(BinaryOp::kPower, std::move(operand));
  }
  if (node.rest.empty()) return first;
  node.first = std::move(first);
  return make(offset, std::move(node));
}

// A sign or an operand, with what may follow it. Filters apply to the signed value, so the operand
// of a sign is read without them: -x | abs is (-x) | abs. Attributes and calls stand on both
// levels, as in Jinja: -x.y is -(x.y).
Result<ExprPtr> Parser::parse_unary(bool has_filters) {
  const NestingGuard guard(*this);
  QUERN_TRY(check_nesting());
  const uint32_t offset = current().offset;
  ExprPtr expr;
  if (current().is_operator("-") || current().is_operator("+")) {
    const UnaryOp op = current().is_operator("-") ? UnaryOp::kNegative : UnaryOp::kPositive;
    advance();
    QUERN_ASSIGN_OR_RETURN(ExprPtr operand, parse_unary(false));
    QUERN_ASSIGN_OR_RETURN(expr, make(offset, UnaryExpr{op, std::move(operand)}));
  } else {
    QUERN_ASSIGN_OR_RETURN(expr, parse_primary());
  }
  QUERN_ASSIGN_OR_RETURN(expr, parse_postfix(std::move(expr)));
  if (!has_filters) return expr;
  return parse_filters_and_tests(std::move(expr));
}

}  // namespace quern::jinja
