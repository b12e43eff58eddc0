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
  struct Named {
    std::string name;
    ExprPtr value;
  };
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

enum class UnaryOp : uint8_t { kNot, kNegative, kPositive };
enum class BinaryOp : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
};
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

struct LiteralExpr {
  std::unique_ptr<std::string> text;  // of strings; else null
  Value value;
};
struct NameExpr {
  std::string name;
};
struct ListExpr {
  std::vector<ExprPtr> items;
  bool is_tuple = false;
};
struct DictExpr {
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};
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
struct ConditionalExpr {
  ExprPtr condition;
  ExprPtr when_true;
  ExprPtr when_false;  // null where there is no else
};
struct AttributeExpr {
  ExprPtr object;
  std::string name;
};
struct ItemExpr {
  ExprPtr object;
  ExprPtr key;
};
struct SliceExpr {
  ExprPtr object;
  ExprPtr begin;  // null where absent, as the others
  ExprPtr end;
  ExprPtr step;
};
struct CallExpr {
  ExprPtr callee;
  CallArguments arguments;
};
struct FilterExpr {
  ExprPtr input;
  FilterCall filter;
};
struct TestExpr {
  ExprPtr input;
  std::string name;
  CallArguments arguments;
  bool is_negated = false;
};

struct Expr {
  using Node = std::variant<LiteralExpr, NameExpr, ListExpr, DictExpr, UnaryExpr, ArithmeticExpr,
                            ConcatExpr, LogicExpr, CompareExpr, ConditionalExpr, AttributeExpr,
                            ItemExpr, SliceExpr, CallExpr, FilterExpr, TestExpr>;
  uint32_t offset = 0;
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

struct TextStatement {
  std::string text;
};
struct OutputStatement {
  ExprPtr value;
};
struct ForStatement {
  Target target;
  ExprPtr iterable;
  ExprPtr condition;  // null where absent
  Block body;
  Block otherwise;
};
struct IfStatement {
  struct Branch {
    ExprPtr condition;
    Block body;
  };
  std::vector<Branch> branches;
  Block otherwise;
};
struct SetStatement {
  Target target;
  ExprPtr value;
};
struct SetBlockStatement {
  Target target;
  std::vector<FilterCall> filters;
  Block body;
};
struct MacroStatement {
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
struct CallStatement {
  ExprPtr call;
  MacroStatement caller;
};
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
struct BreakStatement {};
struct ContinueStatement {};

struct Statement {
  using Node = std::variant<TextStatement, OutputStatement, ForStatement, IfStatement, SetStatement,
                            SetBlockStatement, MacroStatement, CallStatement, FilterStatement,
                            ScopeStatement, DoStatement, BreakStatement, ContinueStatement>;
  uint32_t offset = 0;
  Node node;
};

}  // namespace quern::jinja
