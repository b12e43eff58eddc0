// A parsed template. Names of nodes and their fields are those of jinja2's grammar where it has
// them. Immutable after parsing; constants point into their own nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/value.h"

namespace quern::jinja {

struct Expr;
struct Statement;
using ExprPtr = std::unique_ptr<Expr>;
using Block = std::vector<Statement>;

// f(1, x=2, *rest, **named)
struct CallArguments {
  // `name=value`; a name may stand once.
  struct Named {
    std::string name;
    ExprPtr value;
  };
  // In the order of the source, without the contents of *rest and **named.
  std::vector<ExprPtr> positional;
  std::vector<Named> named;
  ExprPtr rest;        // null where absent
  ExprPtr named_rest;  // null where absent
};

// "indent(4)" in "text | indent(4)"
struct FilterCall {
  uint32_t offset = 0;
  std::string name;
  CallArguments arguments;
};

// not x, -x, +x.
enum class UnaryOp : uint8_t { kNot, kNegative, kPositive };
// Operators of ArithmeticExpr: + - * / // % **.
enum class BinaryOp : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
};
// Operators of CompareExpr, with `in` and `not in`, which chain like the others.
enum class CompareOp : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

// A constant of the source. Texts are held here, and the value points at them.
struct LiteralExpr {
  std::unique_ptr<std::string> text;  // of strings; else null
  Value value;
};
// A variable, looked up when it is evaluated.
struct NameExpr {
  std::string name;
};
// [a, b], or a tuple (a, b).
struct ListExpr {
  std::vector<ExprPtr> items;
  bool is_tuple = false;
};
// {a: 1, b: 2}; a key that stands twice keeps its place and takes the last value.
struct DictExpr {
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};
// `not x`, `-x` or `+x`.
struct UnaryExpr {
  UnaryOp op;
  ExprPtr operand;
};
// a + b - c: operators of one precedence, from the left. Flat, so that long sums do not nest.
struct ArithmeticExpr {
  ExprPtr first;
  std::vector<std::pair<BinaryOp, ExprPtr>> rest;
};
// a ~ b ~ c
struct ConcatExpr {
  std::vector<ExprPtr> operands;
};
// a and b and c, or the same with or
struct LogicExpr {
  bool is_and;
  std::vector<ExprPtr> operands;
};
// a < b <= c
struct CompareExpr {
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};
// a if condition else b. Without else, a false condition gives an undefined value.
struct ConditionalExpr {
  ExprPtr condition;
  ExprPtr when_true;
  ExprPtr when_false;  // null where there is no else
};
// object.name: an attribute, else an item of this key.
struct AttributeExpr {
  ExprPtr object;
  std::string name;
};
// object[key]: an item, else an attribute of this name.
struct ItemExpr {
  ExprPtr object;
  ExprPtr key;
};
// object[begin:end:step] of a text or a list.
struct SliceExpr {
  ExprPtr object;
  ExprPtr begin;  // null where absent, as the others
  ExprPtr end;
  ExprPtr step;
};
// callee(arguments); the callee is any expression.
struct CallExpr {
  ExprPtr callee;
  CallArguments arguments;
};
// input | filter(arguments).
struct FilterExpr {
  ExprPtr input;
  FilterCall filter;
};
// input is test(arguments), or `is not`.
struct TestExpr {
  ExprPtr input;
  std::string name;
  CallArguments arguments;
  bool is_negated = false;
};

// Any expression. `offset` is its first byte in the source, for errors.
struct Expr {
  using Node = std::variant<LiteralExpr, NameExpr, ListExpr, DictExpr, UnaryExpr, ArithmeticExpr,
                            ConcatExpr, LogicExpr, CompareExpr, ConditionalExpr, AttributeExpr,
                            ItemExpr, SliceExpr, CallExpr, FilterExpr, TestExpr>;
  uint32_t offset = 0;
  // Bounded by kMaxNesting when it is made, so that evaluation and destruction, which recurse, fit
  // the stack.
  int height = 0;  // of the tree below
  Node node;
};

// What is assigned to: a name, an attribute of a namespace, or several of them.
struct Target {
  uint32_t offset = 0;
  std::string name;
  std::string attribute;      // empty for a plain name
  std::vector<Target> parts;  // not empty for a tuple
};

// Text between tags, after whitespace control.
struct TextStatement {
  std::string text;
};
// {{ value }}.
struct OutputStatement {
  ExprPtr value;
};
// {% for target in iterable if condition %} body {% else %} otherwise {% endfor %}; `otherwise`
// runs
// where no item is left.
struct ForStatement {
  Target target;
  ExprPtr iterable;
  ExprPtr condition;  // null where absent
  Block body;
  Block otherwise;
};
// {% if %} with its {% elif %} branches in order; `otherwise` runs where none is true.
struct IfStatement {
  // One condition and what it guards.
  struct Branch {
    ExprPtr condition;
    Block body;
  };
  std::vector<Branch> branches;
  Block otherwise;
};
// {% set target = value %}.
struct SetStatement {
  Target target;
  ExprPtr value;
};
// {% set target
// filters %} body {% endset %}: what the body prints becomes the value.
struct SetBlockStatement {
  Target target;
  std::vector<FilterCall> filters;
  Block body;
};
// {% macro name(parameters) %} body {% endmacro %}. A plain value of the tree.
struct MacroStatement {
  // Evaluated fallbacks may use parameters that stand before.
  struct Parameter {
    std::string name;
    ExprPtr fallback;  // null where absent
  };
  std::string name;
  std::vector<Parameter> parameters;
  Block body;
  // Whether the body mentions the names, so that the macro takes what they stand for.
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};
// {% call(parameters) macro() %} body {% endcall %}: the body is given to the macro as `caller`.
struct CallStatement {
  ExprPtr call;
  MacroStatement caller;
};
// {% filter a | b %} body {% endfilter %}.
struct FilterStatement {
  std::vector<FilterCall> filters;
  Block body;
};
// {% with %} and, without variables, {% generation %}
struct ScopeStatement {
  std::vector<std::pair<Target, ExprPtr>> variables;
  Block body;
};
// {% do %}: for the effects of an expression
struct DoStatement {
  ExprPtr value;
};
// {% break %} and {% continue %} of the innermost loop.
struct BreakStatement {};
struct ContinueStatement {};

// Any statement. `offset` is the first byte of its tag, for errors.
struct Statement {
  using Node = std::variant<TextStatement, OutputStatement, ForStatement, IfStatement, SetStatement,
                            SetBlockStatement, MacroStatement, CallStatement, FilterStatement,
                            ScopeStatement, DoStatement, BreakStatement, ContinueStatement>;
  uint32_t offset = 0;
  Node node;
};

}  // namespace quern::jinja
