// The variable `loop` inside a for.
#pragma once

#include <vector>

#include "text/jinja/object.h"

namespace quern::jinja {

// The variable `loop` of a {% for %}: index, first, last, length, cycle(), changed(), ...
// Its interpreter moves it from item to item.
class LoopObject : public Object {
 public:
  explicit LoopObject(std::vector<Value> items) : items_(std::move(items)) {}

  std::string_view type_name() const override { return "loop"; }
  std::optional<Value> attribute(std::string_view name, Interpreter& interpreter) override;

  // All items, since `loop.length` and `loop.nextitem` look ahead.
  const std::vector<Value>& items() const { return items_; }
  void go_to(size_t index) { index_ = index; }

  // loop.cycle(a, b, ...): one of the arguments per round.
  Result<Value> cycle(const Arguments& arguments) const;
  // loop.changed(...): whether the arguments differ from those of the last call.
  Result<Value> changed(Interpreter& interpreter, const Arguments& arguments);

 private:
  // Of this loop; never changed while it runs.
  std::vector<Value> items_;
  size_t index_ = 0;
  // What changed() was given last; not set before its first call.
  std::vector<Value> last_changed_;
  bool has_last_ = false;
};

}  // namespace quern::jinja
