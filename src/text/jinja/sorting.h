// Stable order of values, and the keys that filters sort and compare by.
#pragma once

#include <optional>
#include <vector>

#include "quern/error.h"
#include "text/jinja/interpreter.h"

namespace quern::jinja {

struct SortOptions {
  bool is_reversed = false;
  // Equal keys need no order: two times none can be sorted, none and 1 cannot.
  bool skips_equal = false;
};
// The positions of `keys` in ascending order (descending: reversed), equal keys in their order.
// Errors: kInvalidArgument where two keys have no order; kResourceExhausted.
Result<std::vector<size_t>> sorted_order(Heap& heap, const std::vector<Value>& keys,
                                         const SortOptions& options = {});

// item.a.b for the attribute "a.b"; parts that are numbers are indices. `fallback` replaces what
// is undefined on the way.
Result<Value> follow_path(Interpreter& interpreter, const Value& item, const Value& attribute,
                          const std::optional<Value>& fallback = std::nullopt);

// What an item is sorted by: an attribute of it where one is given, in lower case where case does
// not matter.
struct KeyOptions {
  std::optional<Value> attribute;
  std::optional<Value> fallback;
  bool is_case_sensitive = false;
};
Result<Value> sort_key(Interpreter& interpreter, const Value& item, const KeyOptions& options);
Result<std::vector<Value>> sort_keys(Interpreter& interpreter, const std::vector<Value>& items,
                                     const KeyOptions& options);

}  // namespace quern::jinja
