// Calls of macros.
// A macro runs in a scope inside of where it was defined, whoever calls it.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/interpreter.h"

namespace quern::jinja {
namespace {

// Names that are bound only where the body mentions them.
constexpr std::string_view kVarargs = "varargs";
constexpr std::string_view kKwargs = "kwargs";
constexpr std::string_view kCaller = "caller";

// Arguments past the parameters; a macro takes them only where it mentions `varargs`.
Result<void> bind_rest(Heap& heap, const MacroStatement& macro, const Arguments& arguments,
                       Scope& scope) {
  const size_t num_parameters = macro.parameters.size();
  const auto& positional = arguments.positional;
  if (!macro.uses_varargs) {
    if (positional.size() <= num_parameters) return {};
    return fail::invalid("The macro '{}' takes at most {} arguments and gets {}", macro.name,
                         num_parameters, positional.size());
  }
  std::vector<Value> rest;
  if (positional.size() > num_parameters) {
    rest.assign(positional.begin() + static_cast<std::ptrdiff_t>(num_parameters), positional.end());
  }
  scope.set(kVarargs, heap.list(std::move(rest), ListKind::kTuple));
  return {};
}

// Named arguments that are no parameters.
Result<void> bind_named(Heap& heap, const MacroStatement& macro, const Arguments& arguments,
                        Scope& scope) {
  static const std::string kNoCaller = "no caller is defined";
  const Value rest = heap.dict();
  for (const NamedArgument& argument : arguments.named) {
    QUERN_TRY(heap.spend(1 + macro.parameters.size() / 16));
    const auto found =
        std::find_if(macro.parameters.begin(), macro.parameters.end(),
                     [&](const auto& parameter) { return parameter.name == *argument.name; });
    if (found != macro.parameters.end()) {
      // Bound by position, or by an earlier name of the same call.
      if (scope.find_here(found->name) != nullptr) {
        return fail::invalid("The macro '{}' gets argument '{}' twice", macro.name, found->name);
      }
      scope.set(found->name, argument.value);
    } else if (*argument.name == kCaller && macro.uses_caller) {
      scope.set(kCaller, argument.value);
    } else if (macro.uses_kwargs) {
      QUERN_TRY(heap.set(rest.dict(), Value::string(argument.name), argument.value));
    } else {
      return fail::invalid("The macro '{}' has no parameter '{}'", macro.name, *argument.name);
    }
  }
  if (macro.uses_kwargs) scope.set(kKwargs, rest);
  if (macro.uses_caller && scope.find_here(kCaller) == nullptr) {
    scope.set(kCaller, Value::undefined(&kNoCaller, Origin::kHint));
  }
  return {};
}

}  // namespace

// By position, then by name, then fallbacks. Errors: as Python words them.
Result<void> Interpreter::bind_parameters(const MacroStatement& macro, const Arguments& arguments,
                                          Scope& scope) {
  const size_t num_given = std::min(macro.parameters.size(), arguments.positional.size());
  for (size_t i = 0; i < num_given; ++i) {
    QUERN_TRY(heap_.spend(1 + i / 16));
    scope.set(macro.parameters[i].name, arguments.positional[i]);
  }
  QUERN_TRY(bind_rest(heap_, macro, arguments, scope));
  QUERN_TRY(bind_named(heap_, macro, arguments, scope));
  // Defaults see the parameters before them.
  for (size_t i = num_given; i < macro.parameters.size(); ++i) {
    const MacroStatement::Parameter& parameter = macro.parameters[i];
    QUERN_TRY(heap_.spend(1 + i / 16));
    if (scope.find_here(parameter.name) != nullptr) continue;
    if (parameter.fallback == nullptr) {
      scope.set(parameter.name, Value::undefined(&parameter.name, Origin::kParameter));
      continue;
    }
    QUERN_ASSIGN_OR_RETURN(const Value value, evaluate(*parameter.fallback, scope));
    scope.set(parameter.name, value);
  }
  return {};
}

// A new scope for each call; the text that the body prints is the value.
Result<Value> Interpreter::call_macro(const MacroStatement& macro, Scope& defined_in,
                                      const Arguments& arguments) {
  Scope& scope = heap_.scope(&defined_in);
  QUERN_TRY(bind_parameters(macro, arguments, scope));
  return capture(macro.body, scope);
}

}  // namespace quern::jinja
