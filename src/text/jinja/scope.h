// The variables of one part of a template; names that it lacks are looked up outside.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace quern::jinja {

class Scope {
 public:
  explicit Scope(Scope* parent) : parent_(parent) {}

  Scope* parent() const { return parent_; }
  size_t size() const { return variables_.size(); }

  // The variable of this scope only; nullptr where there is none.
  const Value* find_here(std::string_view name) const {
    for (const auto& [own_name, value] : variables_) {
      if (own_name == name) return &value;
    }
    return nullptr;
  }
  // `name` is borrowed.
  void set(std::string_view name, const Value& value) {
    for (auto& [own_name, own_value] : variables_) {
      if (own_name == name) {
        own_value = value;
        return;
      }
    }
    variables_.emplace_back(name, value);
  }
  void clear() { variables_.clear(); }

  // A macro may look into this scope later, so that it cannot be used for something else.
  bool is_captured() const { return is_captured_; }
  void mark_captured() {
    for (Scope* scope = this; scope != nullptr && !scope->is_captured_; scope = scope->parent_) {
      scope->is_captured_ = true;
    }
  }

 private:
  Scope* parent_;
  std::vector<std::pair<std::string_view, Value>> variables_;
  bool is_captured_ = false;
};

}  // namespace quern::jinja
