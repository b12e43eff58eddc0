// Functions that every template can call.
// Nothing here looks at the machine: time comes from the caller.
#include <utility>

#include "base/fail.h"
#include "text/jinja/environment.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

// The limit of jinja2's sandbox.
constexpr int64_t kMaxRange = 100'000;

// range(stop) or range(start, stop, step). Errors: a step of 0, more items than a template may
// have.
Result<Value> range(Interpreter& interpreter, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("range", {"start", "stop", "step"}, 1));
  QUERN_ASSIGN_OR_RETURN(int64_t start, bound.integer(0, 0));
  QUERN_ASSIGN_OR_RETURN(int64_t stop, bound.integer(1, start));
  QUERN_ASSIGN_OR_RETURN(const int64_t step, bound.integer(2, 1));
  // One argument is the end: bound.integer(1, start) above has taken it for `stop`.
  if (!bound.has(1)) start = 0;
  if (step == 0) return fail::invalid("The step of range is 0");
  Heap& heap = interpreter.heap();
  std::vector<Value> items;
  // 128 bits hold any distance of two integers.
  const bool is_up = step > 0;
  const __int128 distance = is_up ? __int128{stop} - start : __int128{start} - stop;
  const __int128 stride = is_up ? __int128{step} : -__int128{step};
  const __int128 count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  if (count > kMaxRange) {
    return fail::exhausted("range gives over {} numbers", kMaxRange);
  }
  QUERN_TRY(heap.reserve_items(static_cast<size_t>(count)));
  QUERN_TRY(heap.spend_scan(static_cast<size_t>(count) * sizeof(Value)));
  items.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    // No overflow: every item lies between start and stop.
    items.push_back(Value::integer(start + i * step));
  }
  std::string label = fmt::format("range({}, {}", start, stop);
  label += step == 1 ? ")" : fmt::format(", {})", step);
  return heap.list(std::move(items), ListKind::kRange, std::move(label));
}

// Entries of a dict, of pairs, and of named arguments, as dict() and namespace() take them.
Result<void> fill(Heap& heap, Dict& dict, std::string_view callee, const Arguments& arguments) {
  Arguments positional;
  positional.positional = arguments.positional;
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, positional.bind(callee, {"entries"}));
  if (bound.has(0)) {
    if (!bound.value(0).is_dict()) {
      return fail::invalid("{} needs a dict, not a value of type '{}'", callee,
                           type_name(bound.value(0)));
    }
    for (const auto& [key, value] : bound.value(0).dict().entries()) {
      QUERN_TRY(heap.set(dict, key, value));
    }
  }
  for (const NamedArgument& argument : arguments.named) {
    QUERN_TRY(heap.set(dict, Value::string(argument.name), argument.value));
  }
  return {};
}

// namespace(): a dict whose attributes {% set %} may change from inside of loops.
Result<Value> make_namespace(Interpreter& interpreter, const Arguments& arguments) {
  const Value made = interpreter.heap().name_space();
  QUERN_TRY(fill(interpreter.heap(), made.dict(), "namespace", arguments));
  return made;
}

// dict(): from a dict, pairs or named arguments.
Result<Value> make_dict(Interpreter& interpreter, const Arguments& arguments) {
  const Value made = interpreter.heap().dict();
  QUERN_TRY(fill(interpreter.heap(), made.dict(), "dict", arguments));
  return made;
}

// raise_exception(message): ends the template; chat templates refuse conversations with it.
Result<Value> raise_exception(Interpreter& interpreter, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("raise_exception", {"message"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::string text, to_text(interpreter.heap(), bound.value(0)));
  return fail::invalid("{}", text);
}

// strftime_now(format): the time that the caller gave, never the clock. Errors: none was given.
Result<Value> strftime_now(Interpreter& interpreter, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("strftime_now", {"format"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::string_view format, bound.text(0, ""));
  Heap& heap = interpreter.heap();
  // The longest expansion of two characters, %c, is 24.
  QUERN_TRY(heap.reserve(12 * format.size()));
  QUERN_TRY(heap.spend_characters(4 * format.size()));
  QUERN_ASSIGN_OR_RETURN(std::string text, format_time(*interpreter.time(), format));
  return heap.text(std::move(text));
}

// joiner(", "): nothing at the first call, the separator from then on.
class Joiner : public Object {
 public:
  // What joiner() gives: nothing at the first call, the separator at each later one.
  explicit Joiner(Value separator) : separator_(separator) {}
  std::string_view type_name() const override { return "joiner"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Interpreter& interpreter, const Arguments& arguments) override {
    QUERN_TRY(arguments.bind("a joiner", {}));
    if (std::exchange(was_called_, true)) return separator_;
    return interpreter.heap().text("");
  }

 private:
  Value separator_;
  bool was_called_ = false;
};

// joiner(separator=", ").
Result<Value> make_joiner(Interpreter& interpreter, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("joiner", {"sep"}));
  Heap& heap = interpreter.heap();
  return heap.object<Joiner>(bound.has(0) ? bound.value(0) : heap.text(", "));
}

// cycler(a, b): next() gives the items in turn; current and reset().
class Cycler : public Object {
 public:
  // What cycler() gives: next() walks the items in a circle; reset() goes back to the first.
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "cycler"; }
  std::optional<Value> attribute(std::string_view name, Interpreter& interpreter) override {
    if (name == "current") return items_[position_];
    if (name == "next") return interpreter.heap().object<Step>(*this, false);
    if (name == "reset") return interpreter.heap().object<Step>(*this, true);
    return std::nullopt;
  }

 private:
  // The methods next and reset of a cycler.
  class Step : public Object {
   public:
    Step(Cycler& cycler, bool is_reset) : cycler_(cycler), is_reset_(is_reset) {}
    std::string_view type_name() const override { return "method"; }
    bool is_callable() const override { return true; }
    Result<Value> call(Interpreter&, const Arguments& arguments) override {
      QUERN_TRY(arguments.bind("a method", {}));
      const Value current = cycler_.items_[cycler_.position_];
      cycler_.position_ = is_reset_ ? 0 : (cycler_.position_ + 1) % cycler_.items_.size();
      return is_reset_ ? Value::none() : current;
    }

   private:
    Cycler& cycler_;
    bool is_reset_;
  };

  std::vector<Value> items_;
  size_t position_ = 0;
};

// cycler(*items). Errors: no items.
Result<Value> make_cycler(Interpreter& interpreter, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) {
    return fail::invalid("cycler needs the items to go through");
  }
  return interpreter.heap().object<Cycler>(arguments.positional);
}

}  // namespace

// Names that every template sees; a variable of the same name hides one.
void add_globals(Interpreter& interpreter, Scope& scope) {
  constexpr std::pair<std::string_view, NativeFunction> kFunctions[] = {
      {"cycler", make_cycler},       {"dict", make_dict}, {"joiner", make_joiner},
      {"namespace", make_namespace}, {"range", range},    {"raise_exception", raise_exception},
  };
  Heap& heap = interpreter.heap();
  for (const auto& [name, function] : kFunctions) {
    scope.set(name, heap.object<FunctionObject>(function));
  }
  // Templates ask whether it is defined.
  if (interpreter.time()) scope.set("strftime_now", heap.object<FunctionObject>(strftime_now));
}

}  // namespace quern::jinja
