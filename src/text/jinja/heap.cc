// Makers of values, and the limits of a rendering.
// Nothing is freed while a template runs, so that values can be plain pointers; limits bound the
// sum.
#include "text/jinja/heap.h"

#include "base/fail.h"
#include "text/jinja/value_compare.h"

namespace quern::jinja {

// The text moves into the heap and counts with its size.
Value Heap::text(std::string text, bool is_safe) {
  return Value::string(name(std::move(text)), is_safe);
}

// For names that live as long as the heap: of undefined values and attributes.
const std::string* Heap::name(std::string text) {
  used_bytes_ += text.capacity() + sizeof(std::string);
  return &texts_.emplace_back(std::move(text));
}

// Counts one object and its items.
Value Heap::list(std::vector<Value> items, ListKind kind, std::string label) {
  used_bytes_ += items.capacity() * sizeof(Value) + sizeof(List) + label.size();
  lists_.push_back({std::move(items), kind, 0, std::move(label)});
  return Value::list(&lists_.back());
}

Value Heap::dict() {
  used_bytes_ += sizeof(Dict);
  return Value::dict(&dicts_.emplace_back());
}

Value Heap::name_space() {
  used_bytes_ += sizeof(Dict);
  return Value::name_space(&dicts_.emplace_back());
}

// Scopes are few and small; they count as objects.
Scope& Heap::scope(Scope* parent) {
  used_bytes_ += sizeof(Scope) + kObjectOverhead;
  return scopes_.emplace_back(parent);
}

// Counts a new entry; a replaced one costs nothing more.
Result<void> Heap::set(Dict& dict, const Value& key, const Value& value) {
  if (!is_hashable(key)) {
    return fail::invalid("A value of type '{}' cannot be a key of a dict", type_name(key));
  }
  // A look-up compares the key with a few others, each at the worst over its whole length.
  QUERN_TRY(spend_scan(key.is_string() ? 4 * key.text().size() : 0));
  const size_t size = dict.size();
  dict.set(key, value);
  if (dict.size() > size) used_bytes_ += sizeof(Dict::Entry) * 2 + kObjectOverhead;
  return {};
}

// Its room was reserved by the caller.
void Heap::append(List& list, const Value& value) {
  used_bytes_ += 2 * sizeof(Value);
  list.items.push_back(value);
}

// Errors: kResourceExhausted once the template has taken all its steps.
Result<void> Heap::spend(size_t steps) {
  // Cannot wrap: every charge is far below 2^63, and the first one past the limit ends the
  // template.
  used_steps_ += steps;
  if (used_steps_ > limits_.max_steps) {
    return fail::exhausted("The template takes over {} steps", limits_.max_steps);
  }
  return reserve(0);
}

// Before something of this size is made: the check must come before the allocation.
Result<void> Heap::reserve(size_t bytes) const {
  if (used_bytes_ > limits_.max_bytes || bytes > limits_.max_bytes - used_bytes_) {
    return fail::exhausted("The template takes over {} MiB of memory", limits_.max_bytes >> 20);
  }
  return {};
}

// The same for lists, by their items.
Result<void> Heap::reserve_items(size_t count) const {
  return reserve_copies(count, sizeof(Value));
}

Result<void> Heap::reserve_copies(size_t count, size_t bytes) const {
  // A division first: the product may wrap.
  if (bytes > 0 && count > limits_.max_bytes / bytes) return reserve(limits_.max_bytes + 1);
  return reserve(count * bytes);
}

}  // namespace quern::jinja
