// Literals, names, and what follows them: attributes, subscripts, calls, filters and tests.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/parser.h"

namespace quern::jinja {
namespace {

// Heights of parts: an expression is one more than its highest part. Absent parts have none.
int height_of(const ExprPtr& expr) {
  return expr == nullptr ? 0 : expr->height;
}
int height_of(const std::vector<ExprPtr>& list) {
  int height = 0;
  for (const ExprPtr& expr : list) height = std::max(height, height_of(expr));
  return height;
}
int height_of(const CallArguments& arguments) {
  int height = std::max({height_of(arguments.positional), height_of(arguments.rest),
                         height_of(arguments.named_rest)});
  for (const auto& named : arguments.named) height = std::max(height, height_of(named.value));
  return height;
}
// Operands of a chain count as one level.
template <class Op>
int height_of(const ExprPtr& first, const std::vector<std::pair<Op, ExprPtr>>& rest) {
  int height = height_of(first);
  for (const auto& [op, operand] : rest) height = std::max(height, height_of(operand));
  return height;
}

// The height of the tallest child of each kind of node.
struct ChildHeight {
  int operator()(const LiteralExpr&) const { return 0; }
  int operator()(const NameExpr&) const { return 0; }
  int operator()(const ListExpr& node) const { return height_of(node.items); }
  int operator()(const DictExpr& node) const {
    int height = 0;
    for (const auto& [key, value] : node.entries) {
      height = std::max({height, height_of(key), height_of(value)});
    }
    return height;
  }
  int operator()(const UnaryExpr& node) const { return height_of(node.operand); }
  int operator()(const ArithmeticExpr& node) const { return height_of(node.first, node.rest); }
  int operator()(const ConcatExpr& node) const { return height_of(node.operands); }
  int operator()(const LogicExpr& node) const { return height_of(node.operands); }
  int operator()(const CompareExpr& node) const { return height_of(node.first, node.rest); }
  int operator()(const ConditionalExpr& node) const {
    return std::max(
        {height_of(node.condition), height_of(node.when_true), height_of(node.when_false)});
  }
  int operator()(const AttributeExpr& node) const { return height_of(node.object); }
  int operator()(const ItemExpr& node) const {
    return std::max(height_of(node.object), height_of(node.key));
  }
  int operator()(const SliceExpr& node) const {
    return std::max(
        {height_of(node.object), height_of(node.begin), height_of(node.end), height_of(node.step)});
  }
  int operator()(const CallExpr& node) const {
    return std::max(height_of(node.callee), height_of(node.arguments));
  }
  int operator()(const FilterExpr& node) const {
    return std::max(height_of(node.input), height_of(node.filter.arguments));
  }
  int operator()(const TestExpr& node) const {
    return std::max(height_of(node.input), height_of(node.arguments));
  }
};

// A constant without text.
LiteralExpr constant(Value value) {
  return {nullptr, value};
}

}  // namespace

// A node with its height. Errors: higher than evaluation may go.
Result<ExprPtr> Parser::make(uint32_t offset, Expr::Node node) {
  // Kept in each node, so that this takes no walk of the tree.
  const int height = 1 + std::visit(ChildHeight(), node);
  if (height > kMaxNesting) {
    return fail_at(offset,
                   fail::exhausted("The expression nests over {} levels deep", kMaxNesting));
  }
  return std::make_unique<Expr>(Expr{offset, height, std::move(node)});
}

// One operand without what follows it.
Result<ExprPtr> Parser::parse_primary() {
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::kName:
      return parse_name_or_constant();
    case TokenKind::kString:
      return parse_string();
    case TokenKind::kInteger:
      advance();
      return make(token.offset, constant(Value::integer(token.integer)));
    case TokenKind::kFloat:
      advance();
      return make(token.offset, constant(Value::real(token.real)));
    default:
      break;
  }
  if (token.is_operator("(")) return parse_parenthesised();
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  return unexpected("an expression");
}

// true, false, none in both spellings, or a name.
Result<ExprPtr> Parser::parse_name_or_constant() {
  const Token& token = current();
  advance();
  const std::string& name = token.text;
  if (name == "true" || name == "True") return make(token.offset, constant(Value::boolean(true)));
  if (name == "false" || name == "False") {
    return make(token.offset, constant(Value::boolean(false)));
  }
  if (name == "none" || name == "None") return make(token.offset, constant(Value::none()));
  return make(token.offset, NameExpr{name});
}

// Strings that follow each other are one.
Result<ExprPtr> Parser::parse_string() {
  const uint32_t offset = current().offset;
  // On the heap of its own, since the node moves and its value points to the text.
  auto text = std::make_unique<std::string>();
  while (current().kind == TokenKind::kString) {
    *text += current().text;
    advance();
  }
  const Value value = Value::string(text.get());
  return make(offset, LiteralExpr{std::move(text), value});
}

// (a), a tuple (a, b), or the empty tuple ().
Result<ExprPtr> Parser::parse_parenthesised() {
  const uint32_t offset = current().offset;
  advance();
  if (skip_operator(")")) return make(offset, ListExpr{{}, true});
  QUERN_ASSIGN_OR_RETURN(ExprPtr expr, parse_tuple());
  QUERN_TRY(expect_operator(")"));
  return expr;
}

// A comma may stand behind the last item.
Result<ExprPtr> Parser::parse_list() {
  const uint32_t offset = current().offset;
  advance();
  ListExpr list;
  while (!current().is_operator("]")) {
    if (!list.items.empty()) QUERN_TRY(expect_operator(","));
    if (current().is_operator("]")) break;
    QUERN_ASSIGN_OR_RETURN(ExprPtr item, parse_expression());
    list.items.push_back(std::move(item));
  }
  advance();
  return make(offset, std::move(list));
}

// A comma may stand behind the last pair.
Result<ExprPtr> Parser::parse_dict() {
  const uint32_t offset = current().offset;
  advance();
  DictExpr dict;
  while (!current().is_operator("}")) {
    if (!dict.entries.empty()) QUERN_TRY(expect_operator(","));
    if (current().is_operator("}")) break;
    QUERN_ASSIGN_OR_RETURN(ExprPtr key, parse_expression());
    QUERN_TRY(expect_operator(":"));
    QUERN_ASSIGN_OR_RETURN(ExprPtr value, parse_expression());
    dict.entries.emplace_back(std::move(key), std::move(value));
  }
  advance();
  return make(offset, std::move(dict));
}

// Attributes, subscripts and calls, from the left.
// Each step makes the tree one higher; make() refuses a chain that is too long.
Result<ExprPtr> Parser::parse_postfix(ExprPtr expr) {
  while (true) {
    if (current().is_operator(".")) {
      QUERN_ASSIGN_OR_RETURN(expr, parse_attribute(std::move(expr)));
    } else if (current().is_operator("[")) {
      QUERN_ASSIGN_OR_RETURN(expr, parse_subscript(std::move(expr)));
    } else if (current().is_operator("(")) {
      QUERN_ASSIGN_OR_RETURN(CallArguments arguments, parse_call_arguments());
      const uint32_t callee = expr->offset;
      QUERN_ASSIGN_OR_RETURN(expr, make(callee, CallExpr{std::move(expr), std::move(arguments)}));
    } else {
      return expr;
    }
  }
}

// `.name`, or `.0` for the item of a number.
Result<ExprPtr> Parser::parse_attribute(ExprPtr object) {
  const uint32_t offset = current().offset;
  advance();
  const Token& token = current();
  if (token.kind == TokenKind::kInteger) {
    advance();
    QUERN_ASSIGN_OR_RETURN(ExprPtr key,
                           make(token.offset, constant(Value::integer(token.integer))));
    return make(offset, ItemExpr{std::move(object), std::move(key)});
  }
  QUERN_ASSIGN_OR_RETURN(std::string name, take_name("a name or number after '.'"));
  return make(offset, AttributeExpr{std::move(object), std::move(name)});
}

// [key] or [begin:end:step].
// `[a, b]` has a tuple as its key. Every part of a slice may be absent.
Result<ExprPtr> Parser::parse_subscript(ExprPtr object) {
  const uint32_t offset = current().offset;
  advance();
  ExprPtr begin;
  if (!current().is_operator(":")) {
    QUERN_ASSIGN_OR_RETURN(begin, parse_tuple());
    if (skip_operator("]")) return make(offset, ItemExpr{std::move(object), std::move(begin)});
  }
  SliceExpr slice{std::move(object), std::move(begin), nullptr, nullptr};
  QUERN_TRY(expect_operator(":"));
  if (!current().is_operator(":") && !current().is_operator("]")) {
    QUERN_ASSIGN_OR_RETURN(slice.end, parse_expression());
  }
  if (skip_operator(":") && !current().is_operator("]")) {
    QUERN_ASSIGN_OR_RETURN(slice.step, parse_expression());
  }
  QUERN_TRY(expect_operator("]"));
  return make(offset, std::move(slice));
}

// Filters and tests bind tighter than operators with two sides, and less tight than a sign:
// a + b | abs is a + (b | abs), but -x | abs is (-x) | abs.
Result<ExprPtr> Parser::parse_filters_and_tests(ExprPtr expr) {
  while (true) {
    const uint32_t offset = current().offset;
    if (skip_operator("|")) {
      QUERN_ASSIGN_OR_RETURN(FilterCall filter, parse_filter_call());
      QUERN_ASSIGN_OR_RETURN(expr, make(offset, FilterExpr{std::move(expr), std::move(filter)}));
    } else if (skip_name("is")) {
      QUERN_ASSIGN_OR_RETURN(expr, parse_test(std::move(expr)));
    } else if (current().is_operator("(")) {
      QUERN_ASSIGN_OR_RETURN(CallArguments arguments, parse_call_arguments());
      const uint32_t callee = expr->offset;
      QUERN_ASSIGN_OR_RETURN(expr, make(callee, CallExpr{std::move(expr), std::move(arguments)}));
    } else {
      return expr;
    }
  }
}

// A name, and arguments where there are brackets.
Result<FilterCall> Parser::parse_filter_call() {
  FilterCall filter;
  filter.offset = current().offset;
  QUERN_ASSIGN_OR_RETURN(filter.name, take_name("the name of a filter"));
  if (current().is_operator("(")) {
    QUERN_ASSIGN_OR_RETURN(filter.arguments, parse_call_arguments());
  }
  return filter;
}

// a | b | c behind a tag's name.
Result<std::vector<FilterCall>> Parser::parse_filter_chain() {
  std::vector<FilterCall> filters;
  do {
    QUERN_ASSIGN_OR_RETURN(FilterCall filter, parse_filter_call());
    filters.push_back(std::move(filter));
  } while (skip_operator("|"));
  return filters;
}

// Whether a value follows that can be a test's one argument without brackets: `is divisibleby 3`.
bool Parser::at_test_argument() const {
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return true;
    case TokenKind::kName:
      // Words that go on with the expression around: `x is defined and y`.
      return token.text != "else" && token.text != "or" && token.text != "and" &&
             token.text != "if";
    default:
      return token.is_operator("[") || token.is_operator("{");
  }
}

// `is`, `is not`, and the arguments of the test.
Result<ExprPtr> Parser::parse_test(ExprPtr input) {
  const uint32_t offset = current().offset;
  TestExpr test;
  test.input = std::move(input);
  test.is_negated = skip_name("not");
  QUERN_ASSIGN_OR_RETURN(test.name, take_name("the name of a test"));
  // Jinja refuses `a is b is c`, whose meaning nobody would guess.
  if (current().is_name("is")) return unexpected("no second test");
  if (current().is_operator("(")) {
    QUERN_ASSIGN_OR_RETURN(test.arguments, parse_call_arguments());
  } else if (at_test_argument()) {
    QUERN_ASSIGN_OR_RETURN(ExprPtr argument, parse_primary());
    QUERN_ASSIGN_OR_RETURN(argument, parse_postfix(std::move(argument)));
    test.arguments.positional.push_back(std::move(argument));
  }
  return make(offset, std::move(test));
}

// Errors: positional behind named ones, a name twice.
Result<CallArguments> Parser::parse_call_arguments() {
  const NestingGuard guard(*this);
  QUERN_TRY(check_nesting());
  QUERN_TRY(expect_operator("("));
  CallArguments arguments;
  while (!current().is_operator(")")) {
    if (skip_operator("*")) {
      QUERN_ASSIGN_OR_RETURN(arguments.rest, parse_expression());
    } else if (skip_operator("**")) {
      QUERN_ASSIGN_OR_RETURN(arguments.named_rest, parse_expression());
    // `name=value`: two tokens must be looked at, since a name may also begin a positional value.
    } else if (current().kind == TokenKind::kName && next().is_operator("=")) {
      CallArguments::Named named{current().text, nullptr};
      advance();
      advance();
      QUERN_ASSIGN_OR_RETURN(named.value, parse_expression());
      arguments.named.push_back(std::move(named));
    } else {
      if (!arguments.named.empty() || arguments.rest || arguments.named_rest) {
        return unexpected("a named argument");
      }
      QUERN_ASSIGN_OR_RETURN(ExprPtr value, parse_expression());
      arguments.positional.push_back(std::move(value));
    }
    if (!current().is_operator(")")) QUERN_TRY(expect_operator(","));
  }
  advance();
  return arguments;
}

}  // namespace quern::jinja
