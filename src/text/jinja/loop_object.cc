// Attributes of `loop`.
// Methods are values of their own, which a template may store.
#include "text/jinja/loop_object.h"

#include "base/fail.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/value_compare.h"

namespace quern::jinja {
namespace {

using Member = Result<Value> (*)(LoopObject&, Interpreter&, const Arguments&);

// loop.cycle and loop.changed as values that can be called.
class LoopMethod : public Object {
 public:
  LoopMethod(LoopObject& loop, Member member) : loop_(loop), member_(member) {}
  std::string_view type_name() const override { return "method"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Interpreter& interpreter, const Arguments& arguments) override {
    return member_(loop_, interpreter, arguments);
  }

 private:
  LoopObject& loop_;
  Member member_;
};

// Sizes are small enough for a signed number.
Value number(size_t value) {
  return Value::integer(static_cast<int64_t>(value));
}

}  // namespace

// Nothing for names that a loop does not have.
std::optional<Value> LoopObject::attribute(std::string_view name, Interpreter& interpreter) {
  static const std::string kNoPrevious = "there is no previous item";
  static const std::string kNoNext = "there is no next item";
  const size_t size = items_.size();
  if (name == "index") return number(index_ + 1);
  if (name == "index0") return number(index_);
  if (name == "first") return Value::boolean(index_ == 0);
  if (name == "last") return Value::boolean(index_ + 1 == size);
  if (name == "length") return number(size);
  // Counted from the end: the last item has revindex 1 and revindex0 0.
  if (name == "revindex") return number(size - index_);
  if (name == "revindex0") return number(size - index_ - 1);
  if (name == "depth") return Value::integer(1);  // loops are never recursive
  if (name == "depth0") return Value::integer(0);
  if (name == "previtem") {
    return index_ > 0 ? items_[index_ - 1] : Value::undefined(&kNoPrevious, Origin::kHint);
  }
  if (name == "nextitem") {
    return index_ + 1 < size ? items_[index_ + 1] : Value::undefined(&kNoNext, Origin::kHint);
  }
  if (name == "cycle") {
    return interpreter.heap().object<LoopMethod>(
        *this, [](LoopObject& loop, Interpreter&, const Arguments& arguments) {
          return loop.cycle(arguments);
        });
  }
  if (name == "changed") {
    return interpreter.heap().object<LoopMethod>(
        *this, [](LoopObject& loop, Interpreter& caller, const Arguments& arguments) {
          return loop.changed(caller, arguments);
        });
  }
  return std::nullopt;
}

// The argument whose turn it is. Errors: no arguments.
Result<Value> LoopObject::cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) return fail::invalid("loop.cycle needs an argument");
  return arguments.positional[index_ % arguments.positional.size()];
}

// Whether the arguments differ from those of the call before.
Result<Value> LoopObject::changed(Interpreter& interpreter, const Arguments& arguments) {
  bool is_same = has_last_ && last_changed_.size() == arguments.positional.size();
  for (size_t i = 0; is_same && i < last_changed_.size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(is_same,
                           is_equal(interpreter.heap(), last_changed_[i], arguments.positional[i]));
  }
  last_changed_ = arguments.positional;
  has_last_ = true;
  return Value::boolean(!is_same);
}

}  // namespace quern::jinja
