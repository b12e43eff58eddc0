// Evaluates a parsed template. The filters, tests, methods and functions of the environment see
// this class; they are listed in environment.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/civil_time.h"
#include "text/jinja/heap.h"
#include "text/jinja/scope.h"

namespace quern::jinja {

// One rendering. One thread only.
class Interpreter {
 public:
  // `heap` outlives the interpreter, and so must the templates that it gets.
  // `time` is what strftime_now() shows.
  Interpreter(Heap& heap, std::optional<CivilTime> time) : heap_(heap), time_(time) {}

  // The text of the template with the variables of `scope`.
  Result<std::string> render(const Block& block, Scope& scope);
  // Where in the source the error of render() happened.
  uint32_t error_offset() const { return error_at_.value_or(0); }

  // For the environment.
  Heap& heap() { return heap_; }
  const std::optional<CivilTime>& time() const { return time_; }
  // Calls a macro, a function or a method. Errors: a value that cannot be called, and those of the
  // call.
  Result<Value> call(const Value& callee, const Arguments& arguments);
  // Filters and tests by name. Errors: kInvalidArgument for a name that is not known, with its
  // place.
  Result<Value> apply_filter(std::string_view name, const Value& input, const Arguments& arguments);
  Result<bool> apply_test(std::string_view name, const Value& input, const Arguments& arguments);
  // value.name and value[key]; undefined where there is no such thing.
  Result<Value> attribute(const Value& value, const std::string& name);
  Result<Value> item(const Value& value, const Value& key);
  // The items of a sequence, keys of a dict or characters of a string. A generator is spent.
  Result<std::vector<Value>> items_of(const Value& value);
  // The body of a macro with the arguments of a call.
  Result<Value> call_macro(const MacroStatement& macro, Scope& defined_in,
                           const Arguments& arguments);

 private:
  friend struct ExprEvaluator;
  friend struct StatementExecutor;

  // How a block ended: at its end, or at a {% break %} or {% continue %} of the loop around it.
  enum class Flow { kNormal, kBreak, kContinue };

  // Expressions (evaluate.cc). The place of the innermost error is noted.
  Result<Value> evaluate(const Expr& expr, Scope& scope);
  // Truth as Python has it: empty things, zero, none and undefined are false.
  Result<bool> is_true(const Expr& expr, Scope& scope);
  // The innermost variable of this name, else undefined with the name, for the error of its use.
  Result<Value> lookup(const NameExpr& name, Scope& scope);
  // Evaluates arguments in the order of the source, and unpacks *rest and **named.
  Result<Arguments> evaluate_arguments(const CallArguments& arguments, Scope& scope);
  // `caller` is what {% call %} passes; null for plain calls.
  Result<Value> evaluate_call(const CallExpr& call, Scope& scope, const Value* caller);
  Result<Value> filter(const FilterCall& filter, const Value& input, Scope& scope);

  // Statements (execute.cc).
  Result<Flow> execute(const Block& block, Scope& scope, std::string& out);
  // One statement; what it prints is appended to `out`.
  Result<Flow> execute(const Statement& statement, Scope& scope, std::string& out);
  // Runs the body once for each item, with `loop` in a scope of its own.
  Result<Flow> run_loop(const ForStatement& loop, Scope& scope, std::string& out);
  // Items of the iterable for which the loop's condition is true.
  Result<std::vector<Value>> loop_items(const ForStatement& loop, Scope& scope);
  // Sets a variable of the innermost scope, an attribute of a namespace, or each part of a tuple.
  Result<void> assign(const Target& target, const Value& value, Scope& scope);
  Result<void> assign_parts(const Target& target, const Value& value, Scope& scope);
  // Parameters of a macro from the arguments of a call; fallbacks where none is given.
  Result<void> bind_parameters(const MacroStatement& macro, const Arguments& arguments,
                               Scope& scope);
  // What the block prints, as a value.
  Result<Value> capture(const Block& block, Scope& scope);
  Result<Value> capture_filtered(const Block& block, const std::vector<FilterCall>& filters,
                                 Scope& scope);
  // Appends to the output within its limit. Errors: kResourceExhausted.
  Result<void> write(std::string_view text, std::string& out);
  Result<void> write(const Value& value, std::string& out);

  // Counts what is in progress while it lives.
  class DepthGuard {
   public:
    // Depth of macros, blocks and expressions together: recursion in a template must not overflow
    // the
    // stack of this process.
    explicit DepthGuard(Interpreter& interpreter) : interpreter_(interpreter) {
      ++interpreter_.depth_;
    }
    ~DepthGuard() { --interpreter_.depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;

   private:
    Interpreter& interpreter_;
  };
  Result<void> check_depth();
  // The first note wins: it is the innermost place.
  void note_error(uint32_t offset) {
    if (!error_at_) error_at_ = offset;
  }

  // Owned by the caller; values point into it.
  Heap& heap_;
  std::optional<CivilTime> time_;
  // What is in progress, one inside of another.
  int depth_ = 0;
  std::optional<uint32_t> error_at_;
};

}  // namespace quern::jinja
