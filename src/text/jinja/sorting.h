// Stable order of values, and the keys that filters sort and compare by.
#pragma once

#include <optional>
#include <vector>

#include "quern/error.h"
#include "text/jinja/interpreter.h"

namespace quern::jinja {

// How sorted_order() compares.
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
  // A path such as "user.name" or 0 that leads from an item to its key; absent: the item itself.
  std::optional<Value> attribute;
  // The key where the path leads nowhere; absent: an undefined key.
  std::optional<Value> fallback;
  // False: texts are compared by their lower case, as Jinja does unless it is told otherwise.
  bool is_case_sensitive = false;
};
// What an item is compared, grouped or made unique by. Errors: those of following the path.
Result<Value> sort_key(Interpreter& interpreter, const Value& item, const KeyOptions& options);
Result<std::vector<Value>> sort_keys(Interpreter& interpreter, const std::vector<Value>& items,
                                     const KeyOptions& options);

}  // namespace quern::jinja
