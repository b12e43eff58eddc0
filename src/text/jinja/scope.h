// The variables of one part of a template; names that it lacks are looked up outside.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace quern::jinja {

// Variables of one block, innermost first; lookups go outwards through the parents. The scopes of
// {% for %}, {% with %} and macros are new ones. One thread only.
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
  // For a scope that is used again in the next round of a loop.
  void clear() { variables_.clear(); }

  // A macro may look into this scope later, so that it cannot be used for something else.
  bool is_captured() const { return is_captured_; }
  // A scope that a macro looks into must stay as it is after its block has ended.
  void mark_captured() {
    for (Scope* scope = this; scope != nullptr && !scope->is_captured_; scope = scope->parent_) {
      scope->is_captured_ = true;
    }
  }

 private:
  // Null for the outermost scope.
  Scope* parent_;
  // Few, so that a search from the back is fastest; names are borrowed from tree or heap.
  std::vector<std::pair<std::string_view, Value>> variables_;
  bool is_captured_ = false;
};

}  // namespace quern::jinja
