// What templates call or ask for attributes, but cannot take apart.
#pragma once

#include <optional>
#include <string_view>

#include "quern/error.h"
#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace quern::jinja {

class Interpreter;

// Lives on the heap of one rendering.
class Object {
 public:
  Object() = default;
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // Python's name of the type, for errors and for repr.
  virtual std::string_view type_name() const = 0;
  // nullopt where there is no such attribute.
  virtual std::optional<Value> attribute(std::string_view, Interpreter&) { return std::nullopt; }
  // Whether `call` may be asked; by default an object cannot be called.
  virtual bool is_callable() const { return false; }
  virtual Result<Value> call(Interpreter&, const Arguments&);
};

using NativeFunction = Result<Value> (*)(Interpreter&, const Arguments&);
using NativeMethod = Result<Value> (*)(Interpreter&, const Value& receiver, const Arguments&);

// A function of the environment, such as range.
class FunctionObject : public Object {
 public:
  // A function of this engine, such as range().
  explicit FunctionObject(NativeFunction function) : function_(function) {}
  std::string_view type_name() const override { return "function"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Interpreter& interpreter, const Arguments& arguments) override {
    return function_(interpreter, arguments);
  }

 private:
  NativeFunction function_;
};

// A method and the value that it is called on.
class MethodObject : public Object {
 public:
  // A method bound to the value it belongs to: `text.upper`.
  MethodObject(Value receiver, NativeMethod method) : receiver_(receiver), method_(method) {}
  std::string_view type_name() const override { return "method"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Interpreter& interpreter, const Arguments& arguments) override {
    return method_(interpreter, receiver_, arguments);
  }

 private:
  Value receiver_;
  NativeMethod method_;
};

}  // namespace quern::jinja
