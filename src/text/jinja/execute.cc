// Statements.
// Output goes to one string, within the limit of the rendering.
#include "base/fail.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/loop_object.h"
#include "text/jinja/macro_object.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {

// Executes one kind of statement each; std::visit chooses. Lives for one statement.
struct StatementExecutor {
  using Flow = Interpreter::Flow;
  Interpreter& interpreter;
  Scope& scope;
  std::string& out;

  // Within the limit of the output.
  Result<Flow> operator()(const TextStatement& node) {
    QUERN_TRY(interpreter.write(std::string_view(node.text), out));
    return Flow::kNormal;
  }

  Result<Flow> operator()(const OutputStatement& node) {
    QUERN_ASSIGN_OR_RETURN(const Value value, interpreter.evaluate(*node.value, scope));
    QUERN_TRY(interpreter.write(value, out));
    return Flow::kNormal;
  }

  // In a scope of its own.
  Result<Flow> operator()(const ForStatement& node) {
    return interpreter.run_loop(node, scope, out);
  }

  // The first branch whose condition is true; its variables stay, as an if has no scope.
  Result<Flow> operator()(const IfStatement& node) {
    for (const IfStatement::Branch& branch : node.branches) {
      QUERN_ASSIGN_OR_RETURN(const bool holds, interpreter.is_true(*branch.condition, scope));
      if (holds) return interpreter.execute(branch.body, scope, out);
    }
    return interpreter.execute(node.otherwise, scope, out);
  }

  // The value first: `set x = x + 1` sees the old one.
  Result<Flow> operator()(const SetStatement& node) {
    QUERN_ASSIGN_OR_RETURN(const Value value, interpreter.evaluate(*node.value, scope));
    QUERN_TRY(interpreter.assign(node.target, value, scope));
    return Flow::kNormal;
  }

  // The block prints into a value of its own.
  Result<Flow> operator()(const SetBlockStatement& node) {
    QUERN_ASSIGN_OR_RETURN(const Value value,
                           interpreter.capture_filtered(node.body, node.filters, scope));
    QUERN_TRY(interpreter.assign(node.target, value, scope));
    return Flow::kNormal;
  }

  // Defines a variable; nothing is printed.
  Result<Flow> operator()(const MacroStatement& node) {
    scope.mark_captured();
    scope.set(node.name, interpreter.heap().object<MacroObject>(node, scope));
    return Flow::kNormal;
  }

  // The body becomes a macro that the called macro knows as `caller`.
  Result<Flow> operator()(const CallStatement& node) {
    scope.mark_captured();
    const Value caller = interpreter.heap().object<MacroObject>(node.caller, scope);
    const auto& call = std::get<CallExpr>(node.call->node);
    auto value = interpreter.evaluate_call(call, scope, &caller);
    if (!value) interpreter.note_error(node.call->offset);
    QUERN_TRY(value);
    QUERN_TRY(interpreter.write(*value, out));
    return Flow::kNormal;
  }

  Result<Flow> operator()(const FilterStatement& node) {
    QUERN_ASSIGN_OR_RETURN(const Value value,
                           interpreter.capture_filtered(node.body, node.filters, scope));
    QUERN_TRY(interpreter.write(value, out));
    return Flow::kNormal;
  }

  // The values see the variables outside only.
  Result<Flow> operator()(const ScopeStatement& node) {
    Scope& inner = interpreter.heap().scope(&scope);
    for (const auto& [target, expr] : node.variables) {
      QUERN_ASSIGN_OR_RETURN(const Value value, interpreter.evaluate(*expr, scope));
      QUERN_TRY(interpreter.assign(target, value, inner));
    }
    return interpreter.execute(node.body, inner, out);
  }

  // For its effects; what it gives is dropped.
  Result<Flow> operator()(const DoStatement& node) {
    QUERN_TRY(interpreter.evaluate(*node.value, scope));
    return Flow::kNormal;
  }

  Result<Flow> operator()(const BreakStatement&) { return Flow::kBreak; }
  Result<Flow> operator()(const ContinueStatement&) { return Flow::kContinue; }
};

// A break or continue outside of loops was refused by the parser.
Result<std::string> Interpreter::render(const Block& block, Scope& scope) {
  std::string out;
  QUERN_TRY(execute(block, scope, out));
  return out;
}

// Ends early where a statement breaks or continues.
Result<Interpreter::Flow> Interpreter::execute(const Block& block, Scope& scope, std::string& out) {
  for (const Statement& statement : block) {
    QUERN_ASSIGN_OR_RETURN(const Flow flow, execute(statement, scope, out));
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

// Steps and depth are counted for each statement.
Result<Interpreter::Flow> Interpreter::execute(const Statement& statement, Scope& scope,
                                               std::string& out) {
  const DepthGuard guard(*this);
  Result<void> may_go = check_depth();
  if (may_go) may_go = heap_.spend(1);
  if (!may_go) {
    note_error(statement.offset);
    return tl::unexpected(std::move(may_go).error());
  }
  Result<Flow> flow = std::visit(StatementExecutor{*this, scope, out}, statement.node);
  if (!flow) note_error(statement.offset);
  return flow;
}

// All items are filtered before the first round, unlike jinja2, which filters as it goes: a
// condition that reads what the body writes sees the values from before the loop.
Result<std::vector<Value>> Interpreter::loop_items(const ForStatement& loop, Scope& scope) {
  QUERN_ASSIGN_OR_RETURN(const Value iterable, evaluate(*loop.iterable, scope));
  QUERN_ASSIGN_OR_RETURN(std::vector<Value> items, items_of(iterable));
  if (loop.condition == nullptr) return items;
  Scope& inner = heap_.scope(&scope);
  std::vector<Value> kept;
  for (const Value& item : items) {
    QUERN_TRY(assign(loop.target, item, inner));
    QUERN_ASSIGN_OR_RETURN(const bool holds, is_true(*loop.condition, inner));
    if (holds) kept.push_back(item);
  }
  return kept;
}

// `loop` is new for each loop; variables that the body sets are gone with the round.
Result<Interpreter::Flow> Interpreter::run_loop(const ForStatement& loop, Scope& scope,
                                                std::string& out) {
  QUERN_ASSIGN_OR_RETURN(std::vector<Value> items, loop_items(loop, scope));
  if (items.empty()) return execute(loop.otherwise, heap_.scope(&scope), out);
  // The loop object keeps the items until the rendering ends.
  heap_.count(items.size() * sizeof(Value));
  const Value loop_value = heap_.object<LoopObject>(std::move(items));
  auto& state = static_cast<LoopObject&>(loop_value.object());
  Scope* inner = &heap_.scope(&scope);
  bool has_completed = false;
  for (size_t i = 0; i < state.items().size(); ++i) {
    // A macro of an earlier round refers to its scope: that one must keep its variables. Without
    // macros one scope serves all rounds.
    if (inner->is_captured()) inner = &heap_.scope(&scope);
    inner->clear();
    state.go_to(i);
    inner->set("loop", loop_value);
    QUERN_TRY(heap_.spend(1));
    QUERN_TRY(assign(loop.target, state.items()[i], *inner));
    QUERN_ASSIGN_OR_RETURN(const Flow flow, execute(loop.body, *inner, out));
    has_completed |= flow == Flow::kNormal;
    if (flow == Flow::kBreak) break;
  }
  // As jinja2 has it, else also runs where each round ended with break or continue.
  return has_completed ? Flow::kNormal : execute(loop.otherwise, heap_.scope(&scope), out);
}

// Errors: an attribute of something that is no namespace.
Result<void> Interpreter::assign(const Target& target, const Value& value, Scope& scope) {
  if (!target.parts.empty()) return assign_parts(target, value, scope);
  QUERN_TRY(heap_.spend(scope.size() / 16));
  if (target.attribute.empty()) {
    scope.set(target.name, value);
    heap_.count(sizeof(Value));
    return {};
  }
  QUERN_ASSIGN_OR_RETURN(const Value object, lookup(NameExpr{target.name}, scope));
  if (object.kind() != Kind::kNamespace) {
    return fail::invalid("'{}' is not a namespace; its attributes cannot be set", target.name);
  }
  return heap_.set(object.dict(), Value::string(&target.attribute), value);
}

// Errors: too many or too few values for the names.
Result<void> Interpreter::assign_parts(const Target& target, const Value& value, Scope& scope) {
  if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(value));
  if (items.size() != target.parts.size()) {
    return fail::invalid("{} values cannot be assigned to {} names", items.size(),
                         target.parts.size());
  }
  for (size_t i = 0; i < items.size(); ++i) {
    QUERN_TRY(assign(target.parts[i], items[i], scope));
  }
  return {};
}

// Counts what is captured against the limits twice: in the block and as a value.
Result<Value> Interpreter::capture(const Block& block, Scope& scope) {
  std::string text;
  QUERN_TRY(execute(block, scope, text));
  return heap_.text(std::move(text));
}

// Filters are applied from left to right to what the block printed.
Result<Value> Interpreter::capture_filtered(const Block& block,
                                            const std::vector<FilterCall>& filters, Scope& scope) {
  QUERN_ASSIGN_OR_RETURN(Value value, capture(block, heap_.scope(&scope)));
  for (const FilterCall& call : filters) {
    QUERN_ASSIGN_OR_RETURN(value, filter(call, value, scope));
  }
  return value;
}

// Outputs count as memory too: those of blocks that are captured can be many at a time.
Result<void> Interpreter::write(std::string_view text, std::string& out) {
  const size_t limit = heap_.limits().max_output_bytes;
  if (out.size() > limit || text.size() > limit - out.size()) {
    return fail::exhausted("The template writes over {} MiB", limit >> 20);
  }
  QUERN_TRY(heap_.spend_scan(text.size()));
  heap_.count(text.size());
  out += text;
  return {};
}

// Undefined values print as nothing.
Result<void> Interpreter::write(const Value& value, std::string& out) {
  if (value.is_string()) return write(std::string_view(value.text()), out);
  QUERN_ASSIGN_OR_RETURN(const std::string text, to_text(heap_, value));
  return write(std::string_view(text), out);
}

}  // namespace quern::jinja
