// Expressions.
// One function for each kind of node. Every node costs a step, every nested one a level of depth.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/environment.h"
#include "text/jinja/operators.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {

// Evaluates one kind of node each; std::visit chooses. Lives for one node.
struct ExprEvaluator {
  Interpreter& interpreter;
  Scope& scope;

  // Constants were made by the parser.
  Result<Value> operator()(const LiteralExpr& node) { return node.value; }

  Result<Value> operator()(const NameExpr& node) { return interpreter.lookup(node, scope); }

  // Items from left to right; a tuple keeps its kind.
  Result<Value> operator()(const ListExpr& node) {
    std::vector<Value> items;
    items.reserve(node.items.size());
    for (const ExprPtr& item : node.items) {
      QUERN_ASSIGN_OR_RETURN(const Value value, interpreter.evaluate(*item, scope));
      items.push_back(value);
    }
    return heap().list(std::move(items), node.is_tuple ? ListKind::kTuple : ListKind::kList);
  }

  // Pairs in order; keys must be hashable.
  Result<Value> operator()(const DictExpr& node) {
    const Value dict = heap().dict();
    for (const auto& [key_expr, value_expr] : node.entries) {
      QUERN_ASSIGN_OR_RETURN(const Value key, interpreter.evaluate(*key_expr, scope));
      QUERN_ASSIGN_OR_RETURN(const Value value, interpreter.evaluate(*value_expr, scope));
      QUERN_TRY(heap().set(dict.dict(), key, value));
    }
    return dict;
  }

  // not gives a boolean; signs give numbers.
  Result<Value> operator()(const UnaryExpr& node) {
    QUERN_ASSIGN_OR_RETURN(const Value operand, interpreter.evaluate(*node.operand, scope));
    return apply_unary(node.op, operand);
  }

  // From left to right, without nesting.
  Result<Value> operator()(const ArithmeticExpr& node) {
    QUERN_ASSIGN_OR_RETURN(Value sum, interpreter.evaluate(*node.first, scope));
    for (const auto& [op, operand_expr] : node.rest) {
      QUERN_ASSIGN_OR_RETURN(const Value operand, interpreter.evaluate(*operand_expr, scope));
      QUERN_ASSIGN_OR_RETURN(sum, apply_binary(heap(), op, sum, operand));
    }
    return sum;
  }

  // ~ makes texts of both sides, whatever they are.
  Result<Value> operator()(const ConcatExpr& node) {
    std::vector<Value> operands;
    for (const ExprPtr& operand_expr : node.operands) {
      QUERN_ASSIGN_OR_RETURN(const Value operand, interpreter.evaluate(*operand_expr, scope));
      operands.push_back(operand);
    }
    return concatenate(heap(), operands);
  }

  // As in Python, the value is that of the operand that decides.
  Result<Value> operator()(const LogicExpr& node) {
    Value value;
    // "and" stops at the first false operand, "or" at the first true one; the last one decides
    // else.
    for (const ExprPtr& operand : node.operands) {
      QUERN_ASSIGN_OR_RETURN(value, interpreter.evaluate(*operand, scope));
      if (is_truthy(value) != node.is_and) break;
    }
    return value;
  }

  // a < b < c is true where both are; b is evaluated once, and c only where a < b.
  Result<Value> operator()(const CompareExpr& node) {
    QUERN_ASSIGN_OR_RETURN(Value left, interpreter.evaluate(*node.first, scope));
    for (const auto& [op, operand] : node.rest) {
      QUERN_ASSIGN_OR_RETURN(const Value right, interpreter.evaluate(*operand, scope));
      QUERN_ASSIGN_OR_RETURN(const bool holds, apply_compare(heap(), op, left, right));
      if (!holds) return Value::boolean(false);
      left = right;
    }
    return Value::boolean(true);
  }

  // Only the branch that is chosen is evaluated.
  Result<Value> operator()(const ConditionalExpr& node) {
    QUERN_ASSIGN_OR_RETURN(const bool holds, interpreter.is_true(*node.condition, scope));
    if (holds) return interpreter.evaluate(*node.when_true, scope);
    if (node.when_false != nullptr) return interpreter.evaluate(*node.when_false, scope);
    // Undefined values borrow their text: a static one outlives every heap.
    static const std::string kReason = "an inline 'if' without 'else' has a false condition";
    return Value::undefined(&kReason, Origin::kHint);
  }

  // Undefined where there is no such thing: an error comes when it is used.
  Result<Value> operator()(const AttributeExpr& node) {
    QUERN_ASSIGN_OR_RETURN(const Value object, interpreter.evaluate(*node.object, scope));
    return interpreter.attribute(object, node.name);
  }

  Result<Value> operator()(const ItemExpr& node) {
    QUERN_ASSIGN_OR_RETURN(const Value object, interpreter.evaluate(*node.object, scope));
    QUERN_ASSIGN_OR_RETURN(const Value key, interpreter.evaluate(*node.key, scope));
    return interpreter.item(object, key);
  }

  // Absent bounds are none, as in Python.
  Result<Value> operator()(const SliceExpr& node) {
    QUERN_ASSIGN_OR_RETURN(const Value object, interpreter.evaluate(*node.object, scope));
    QUERN_ASSIGN_OR_RETURN(const Value begin, optional(node.begin));
    QUERN_ASSIGN_OR_RETURN(const Value end, optional(node.end));
    QUERN_ASSIGN_OR_RETURN(const Value step, optional(node.step));
    return slice(heap(), object, begin, end, step);
  }

  Result<Value> operator()(const CallExpr& node) {
    return interpreter.evaluate_call(node, scope, nullptr);
  }

  Result<Value> operator()(const FilterExpr& node) {
    QUERN_ASSIGN_OR_RETURN(const Value input, interpreter.evaluate(*node.input, scope));
    return interpreter.filter(node.filter, input, scope);
  }

  // The operand of `is defined` may be undefined; other tests decide for themselves.
  Result<Value> operator()(const TestExpr& node) {
    QUERN_ASSIGN_OR_RETURN(const Value input, interpreter.evaluate(*node.input, scope));
    QUERN_ASSIGN_OR_RETURN(const Arguments arguments,
                           interpreter.evaluate_arguments(node.arguments, scope));
    QUERN_ASSIGN_OR_RETURN(const bool holds, interpreter.apply_test(node.name, input, arguments));
    return Value::boolean(holds != node.is_negated);
  }

 private:
  Heap& heap() { return interpreter.heap(); }
  // None for an expression that is not there.
  Result<Value> optional(const ExprPtr& expr) {
    return expr == nullptr ? Value::none() : interpreter.evaluate(*expr, scope);
  }
};

// Errors: kResourceExhausted past the depth that the stack of the process is sure to have.
Result<void> Interpreter::check_depth() {
  if (depth_ <= heap_.limits().max_depth) return {};
  return fail::exhausted("The template's calls nest over {} levels deep", heap_.limits().max_depth);
}

// All evaluation goes through here: steps and depth are counted once for each node.
Result<Value> Interpreter::evaluate(const Expr& expr, Scope& scope) {
  const DepthGuard guard(*this);
  Result<void> may_go = check_depth();
  if (may_go) may_go = heap_.spend(1);
  if (!may_go) {
    note_error(expr.offset);
    return tl::unexpected(std::move(may_go).error());
  }
  Result<Value> value = std::visit(ExprEvaluator{*this, scope}, expr.node);
  if (!value) note_error(expr.offset);
  return value;
}

Result<bool> Interpreter::is_true(const Expr& expr, Scope& scope) {
  QUERN_ASSIGN_OR_RETURN(const Value value, evaluate(expr, scope));
  return is_truthy(value);
}

// Scopes outwards, then globals.
Result<Value> Interpreter::lookup(const NameExpr& name, Scope& scope) {
  size_t num_searched = 0;
  for (Scope* place = &scope; place != nullptr; place = place->parent()) {
    num_searched += place->size();
    if (const Value* value = place->find_here(name.name)) {
      QUERN_TRY(heap_.spend(num_searched / 16));
      return *value;
    }
  }
  QUERN_TRY(heap_.spend(num_searched / 16));
  return Value::undefined(&name.name, Origin::kVariable);
}

// Errors: *rest that is no sequence, **named that is no dict of texts, a name given twice.
Result<Arguments> Interpreter::evaluate_arguments(const CallArguments& arguments, Scope& scope) {
  Arguments values;
  values.positional.reserve(arguments.positional.size());
  for (const ExprPtr& expr : arguments.positional) {
    QUERN_ASSIGN_OR_RETURN(const Value value, evaluate(*expr, scope));
    values.positional.push_back(value);
  }
  for (const CallArguments::Named& named : arguments.named) {
    QUERN_ASSIGN_OR_RETURN(const Value value, evaluate(*named.value, scope));
    values.named.push_back({&named.name, value});
  }
  if (arguments.rest != nullptr) {
    QUERN_ASSIGN_OR_RETURN(const Value rest, evaluate(*arguments.rest, scope));
    QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(rest));
    QUERN_TRY(heap_.reserve_items(items.size()));
    values.positional.insert(values.positional.end(), items.begin(), items.end());
  }
  if (arguments.named_rest != nullptr) {
    QUERN_ASSIGN_OR_RETURN(const Value rest, evaluate(*arguments.named_rest, scope));
    if (!rest.is_dict()) {
      return fail::invalid("'**' needs a dict, not '{}'", type_name(rest));
    }
    for (const Dict::Entry& entry : rest.dict().entries()) {
      QUERN_TRY(heap_.spend(1));
      if (!entry.key.is_string()) return fail::invalid("'**' needs a dict with strings as keys");
      values.named.push_back({&entry.key.text(), entry.value});
    }
  }
  return values;
}

// Macros get `caller` as one more argument.
Result<Value> Interpreter::evaluate_call(const CallExpr& node, Scope& scope, const Value* caller) {
  static const std::string kCallerName = "caller";
  Value callee;
  NativeMethod method = nullptr;
  // Methods are called without being made a value first.
  if (const auto* access = std::get_if<AttributeExpr>(&node.callee->node)) {
    QUERN_ASSIGN_OR_RETURN(const Value object, evaluate(*access->object, scope));
    method = find_method(object, access->name);
    callee = object;
    if (method == nullptr) {
      QUERN_ASSIGN_OR_RETURN(callee, attribute(object, access->name));
    }
  } else {
    QUERN_ASSIGN_OR_RETURN(callee, evaluate(*node.callee, scope));
  }
  QUERN_ASSIGN_OR_RETURN(Arguments arguments, evaluate_arguments(node.arguments, scope));
  // As a named argument, so that a macro that does not mention `caller` refuses the block.
  if (caller != nullptr) arguments.named.push_back({&kCallerName, *caller});
  return method != nullptr ? method(*this, callee, arguments) : call(callee, arguments);
}

// Errors: the value cannot be called, naming its type.
Result<Value> Interpreter::call(const Value& callee, const Arguments& arguments) {
  if (callee.is_undefined()) return fail::invalid("{}", callee.undefined_reason());
  if (callee.kind() != Kind::kObject || !callee.object().is_callable()) {
    return fail::invalid("A value of type '{}' cannot be called", type_name(callee));
  }
  return callee.object().call(*this, arguments);
}

// Arguments are evaluated after the input, as in Jinja.
Result<Value> Interpreter::filter(const FilterCall& filter, const Value& input, Scope& scope) {
  QUERN_ASSIGN_OR_RETURN(const Arguments arguments, evaluate_arguments(filter.arguments, scope));
  Result<Value> value = apply_filter(filter.name, input, arguments);
  if (!value) note_error(filter.offset);
  return value;
}

// Errors: an unknown filter by its name.
Result<Value> Interpreter::apply_filter(std::string_view name, const Value& input,
                                        const Arguments& arguments) {
  // map can apply map, and so on.
  const DepthGuard guard(*this);
  QUERN_TRY(check_depth());
  QUERN_TRY(heap_.spend(arguments.positional.size() / 8));
  const FilterFunction function = find_filter(name);
  if (function == nullptr) return fail::invalid("There is no filter '{}'", name);
  return function(*this, input, arguments);
}

// Errors: an unknown test by its name.
Result<bool> Interpreter::apply_test(std::string_view name, const Value& input,
                                     const Arguments& arguments) {
  const TestFunction function = find_test(name);
  if (function == nullptr) return fail::invalid("There is no test '{}'", name);
  return function(*this, input, arguments);
}

}  // namespace quern::jinja
