// Matching of arguments with parameters.
// Errors name the callee and the parameter.
#include "text/jinja/arguments.h"

#include <algorithm>

#include "base/fail.h"
#include "text/jinja/object.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {

// Objects that can be called override it; is_callable() guards the call.
Result<Value> Object::call(Interpreter&, const Arguments&) {
  return fail::invalid("A value of type '{}' cannot be called", type_name());
}

// Booleans are integers, as in Python.
Result<int64_t> BoundArguments::integer(size_t i, int64_t fallback) const {
  if (!has(i)) return fallback;
  if (values_[i]->is_integral()) return values_[i]->integer();
  return fail::invalid("Argument '{}' of {} is of type '{}'; it must be an integer", names_[i],
                       callee_, type_name(*values_[i]));
}

Result<std::string_view> BoundArguments::text(size_t i, std::string_view fallback) const {
  if (!has(i)) return fallback;
  if (values_[i]->is_string()) return std::string_view(values_[i]->text());
  return fail::invalid("Argument '{}' of {} is of type '{}'; it must be a string", names_[i],
                       callee_, type_name(*values_[i]));
}

bool BoundArguments::truth(size_t i, bool fallback) const {
  return has(i) ? is_truthy(*values_[i]) : fallback;
}

// Errors: too many arguments, a name that is unknown or given twice, as sentences with the callee.
Result<BoundArguments> Arguments::bind(std::string_view callee,
                                       std::initializer_list<std::string_view> parameters,
                                       size_t num_required) const {
  BoundArguments bound(callee, parameters);
  if (positional.size() > parameters.size()) {
    return fail::invalid("{} takes at most {} arguments and gets {}", callee, parameters.size(),
                         positional.size());
  }
  // Positional values fill the parameters from the left; names may fill only what is still free.
  for (size_t i = 0; i < positional.size(); ++i) bound.slot(i) = positional[i];
  for (const NamedArgument& argument : named) {
    const auto* found = std::find(parameters.begin(), parameters.end(), *argument.name);
    if (found == parameters.end()) {
      return fail::invalid("{} has no parameter '{}'", callee, *argument.name);
    }
    std::optional<Value>& slot = bound.slot(static_cast<size_t>(found - parameters.begin()));
    if (slot) return fail::invalid("{} gets argument '{}' twice", callee, *argument.name);
    slot = argument.value;
  }
  for (size_t i = 0; i < num_required; ++i) {
    if (!bound.has(i)) {
      return fail::invalid("{} needs argument '{}'", callee, parameters.begin()[i]);
    }
  }
  return bound;
}

}  // namespace quern::jinja
