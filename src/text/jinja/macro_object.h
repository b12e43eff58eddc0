// Macros, and the blocks that {% call %} passes to them.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/object.h"

namespace quern::jinja {

// A macro as a value: it can be stored, passed and called. It sees the variables of where it was
// defined, not of where it is called.
class MacroObject : public Object {
 public:
  MacroObject(const MacroStatement& macro, Scope& defined_in)
      : macro_(macro), defined_in_(defined_in) {}

  std::string_view type_name() const override { return "macro"; }
  std::optional<Value> attribute(std::string_view name, Interpreter&) override {
    if (name == "name") return Value::string(&macro_.name);
    return std::nullopt;
  }
  bool is_callable() const override { return true; }
  Result<Value> call(Interpreter& interpreter, const Arguments& arguments) override {
    return interpreter.call_macro(macro_, defined_in_, arguments);
  }

 private:
  // Both outlive the object: the tree is the template's, the scope the heap's.
  const MacroStatement& macro_;
  Scope& defined_in_;
};

}  // namespace quern::jinja
