// The arguments of a call, and their matching with the parameters of a function of ours.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/jinja/value.h"

namespace quern::jinja {

// An argument that a call gives by name: `x=2`.
struct NamedArgument {
  const std::string* name;  // borrowed from the template or the heap
  Value value;
};

// One per parameter; those that were not given are empty. The getters fall back to a default and
// refuse values of another type. `names` is the list that bind() got.
class BoundArguments {
 public:
  // `names` are those of the parameters in order; `callee` begins the sentences of errors. Both are
  // borrowed.
  BoundArguments(std::string_view callee, std::initializer_list<std::string_view> names)
      : callee_(callee), names_(names), values_(names.size()) {}

  // Whether the call gave parameter `i`, by position or by name.
  bool has(size_t i) const { return values_[i].has_value(); }
  Value value(size_t i, Value fallback = Value::none()) const {
    return values_[i].value_or(fallback);
  }
  // Errors: kInvalidArgument, naming callee and parameter, for a value that is no integer.
  Result<int64_t> integer(size_t i, int64_t fallback) const;
  // Errors: the same for a value that is no text. The text lives as long as the heap.
  Result<std::string_view> text(size_t i, std::string_view fallback) const;
  // Python's truth of the value.
  bool truth(size_t i, bool fallback) const;
  // Whether parameter i was given and is not none.
  bool is_given(size_t i) const { return has(i) && !values_[i]->is_none(); }

  // For bind(), which fills the parameters one by one.
  std::optional<Value>& slot(size_t i) { return values_[i]; }
  std::string_view callee() const { return callee_; }

 private:
  std::string_view callee_;
  std::vector<std::string_view> names_;
  std::vector<std::optional<Value>> values_;
};

// What a call gives, evaluated: positional values first, then named ones in the order of the
// source.
struct Arguments {
  std::vector<Value> positional;
  std::vector<NamedArgument> named;

  bool empty() const { return positional.empty() && named.empty(); }
  // Matches with the parameters of `callee`, as Python does; the first `num_required` must be
  // given. The names must outlive the result: string literals.
  Result<BoundArguments> bind(std::string_view callee,
                              std::initializer_list<std::string_view> parameters,
                              size_t num_required = 0) const;
};

}  // namespace quern::jinja
