// The memory and the time of one rendering: everything that it makes lives here until it ends, and
// both are limited, because templates come from untrusted files.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/jinja/limits.h"
#include "text/jinja/object.h"
#include "text/jinja/scope.h"
#include "text/jinja/value.h"

namespace quern::jinja {

// One thread only.
class Heap {
 public:
  // All that is made here counts against the limits, and lives as long as the heap.
  explicit Heap(const Limits& limits) : limits_(limits) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // The makers below count what they make and do not fail; spend() then does. Whatever can grow
  // by more than a constant per step must ask reserve() first.
  Value text(std::string text, bool is_safe = false);
  // The text as a key or name; lives as long as the heap.
  const std::string* name(std::string text);
  // A new sequence that the heap owns. `label` is how it prints itself; empty: by its items.
  Value list(std::vector<Value> items, ListKind kind = ListKind::kList, std::string label = {});
  // A new, empty dict or namespace that the heap owns.
  Value dict();
  Value name_space();
  template <class T, class... Args>
  Value object(Args&&... args) {
    used_bytes_ += sizeof(T) + kObjectOverhead;
    objects_.push_back(std::make_unique<T>(std::forward<Args>(args)...));
    return Value::object(objects_.back().get());
  }
  // A new scope inside of `parent`; null for the outermost.
  Scope& scope(Scope* parent);
  // Sets an entry and counts it. Errors: kInvalidArgument for keys that are not hashable.
  Result<void> set(Dict& dict, const Value& key, const Value& value);
  // Adds without a check of the limits: callers reserve() what they add.
  void append(List& list, const Value& value);

  // Errors: kResourceExhausted past the limits.
  Result<void> spend(size_t steps);
  // Counts a walk over `bytes` of text as steps.
  Result<void> spend_scan(size_t bytes) { return spend(1 + bytes / kBytesPerStep); }
  // For work that looks up the class of each character.
  Result<void> spend_characters(size_t bytes) { return spend(1 + bytes / kBytesPerClassStep); }
  // Whether `bytes` more would fit the limits. Errors: kResourceExhausted, naming the limit.
  Result<void> reserve(size_t bytes) const;
  Result<void> reserve_items(size_t count) const;
  // The same for `count` texts of `bytes` bytes.
  Result<void> reserve_copies(size_t count, size_t bytes) const;

  const Limits& limits() const { return limits_; }
  // Outputs that are kept (captured blocks) and the like.
  void count(size_t bytes) { used_bytes_ += bytes; }

 private:
  // Bytes counted for each object beside its contents, an estimate of what the allocator takes.
  static constexpr size_t kObjectOverhead = 48;

  // Steps and bytes only grow: garbage counts until the template ends, which bounds the peak.
  Limits limits_;
  size_t used_steps_ = 0;
  size_t used_bytes_ = 0;
  // Deques: addresses must not change as they grow.
  std::deque<std::string> texts_;
  std::deque<List> lists_;
  std::deque<Dict> dicts_;
  std::deque<Scope> scopes_;
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace quern::jinja
