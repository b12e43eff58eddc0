// Merge sort with a comparison that can fail.
// Stable, and it stops at the first pair of values that has no order.
#include "text/jinja/sorting.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/number_parse.h"
#include "text/jinja/value_compare.h"

namespace quern::jinja {
namespace {

// A merge sort, since std::sort may do anything where a comparison fails halfway.
class MergeSort {
 public:
  MergeSort(Heap& heap, const std::vector<Value>& keys, const SortOptions& options)
      : heap_(heap), keys_(keys), options_(options), buffer_(keys.size()) {}

  // Halves until one item is left, so the recursion is as deep as the size has bits.
  Result<void> sort(std::vector<size_t>& order, size_t begin, size_t end) {
    if (end - begin < 2) return {};
    const size_t middle = begin + (end - begin) / 2;
    QUERN_TRY(sort(order, begin, middle));
    QUERN_TRY(sort(order, middle, end));
    size_t left = begin;
    size_t right = middle;
    for (size_t i = begin; i < end; ++i) {
      bool takes_right = left == middle;
      if (left < middle && right < end) {
        QUERN_ASSIGN_OR_RETURN(takes_right, goes_before(order[right], order[left]));
      }
      buffer_[i] = order[takes_right ? right++ : left++];
    }
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end),
              order.begin() + static_cast<std::ptrdiff_t>(begin));
    return {};
  }

 private:
  // Errors: values that have no order, as Python words them.
  Result<bool> goes_before(size_t a, size_t b) {
    if (options_.skips_equal) {
      QUERN_ASSIGN_OR_RETURN(const bool equal, is_equal(heap_, keys_[a], keys_[b]));
      if (equal) return false;
    }
    // Reversed by the comparison and not afterwards: equal items keep their order, as in Python.
    if (options_.is_reversed) std::swap(a, b);
    return is_less(heap_, keys_[a], keys_[b]);
  }

  Heap& heap_;
  const std::vector<Value>& keys_;
  SortOptions options_;
  std::vector<size_t> buffer_;
};

// Whether a part of a path is an index.
bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The part of a path as a key.
Value path_key(Heap& heap, std::string_view part) {
  if (is_number(part)) {
    if (const auto index = parse_integer(part, 10)) return Value::integer(*index);
  }
  return heap.text(std::string(part));
}

}  // namespace

// Stable: equal keys keep their order, in reverse too.
Result<std::vector<size_t>> sorted_order(Heap& heap, const std::vector<Value>& keys,
                                         const SortOptions& options) {
  QUERN_TRY(heap.reserve_items(keys.size()));
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  QUERN_TRY(MergeSort(heap, keys, options).sort(order, 0, order.size()));
  return order;
}

// "a.b.0" from the item on; undefined where a part is missing.
Result<Value> follow_path(Interpreter& interpreter, const Value& item, const Value& attribute,
                          const std::optional<Value>& fallback) {
  Heap& heap = interpreter.heap();
  if (attribute.is_integral()) {
    QUERN_ASSIGN_OR_RETURN(const Value found, interpreter.item(item, attribute));
    return found.is_undefined() && fallback ? *fallback : found;
  }
  if (!attribute.is_string()) {
    return fail::invalid("An attribute is of type '{}'; it must be a string or an integer",
                         type_name(attribute));
  }
  Value found = item;
  std::string_view path = attribute.text();
  while (true) {
    const size_t dot = std::min(path.find('.'), path.size());
    QUERN_TRY(heap.spend_scan(path.size()));
    const bool is_whole = dot == attribute.text().size();
    const std::string_view part = path.substr(0, dot);
    const Value key = is_whole && !is_number(part) ? attribute : path_key(heap, part);
    QUERN_ASSIGN_OR_RETURN(found, interpreter.item(found, key));
    if (found.is_undefined() && fallback) found = *fallback;
    if (dot == path.size()) return found;
    path.remove_prefix(dot + 1);
  }
}

// Texts are folded to lower case unless case counts.
Result<Value> sort_key(Interpreter& interpreter, const Value& item, const KeyOptions& options) {
  Value key = item;
  if (options.attribute && !options.attribute->is_none()) {
    QUERN_ASSIGN_OR_RETURN(key,
                           follow_path(interpreter, item, *options.attribute, options.fallback));
  }
  if (options.is_case_sensitive || !key.is_string()) return key;
  QUERN_TRY(interpreter.heap().spend_characters(key.text().size()));
  return interpreter.heap().text(to_lower(key.text()));
}

// For "a,b": a list of the keys by a and by b.
Result<Value> sort_key_list(Interpreter& interpreter, const Value& item,
                            const KeyOptions& options) {
  Heap& heap = interpreter.heap();
  std::vector<Value> keys;
  KeyOptions single = options;
  for (std::string_view rest = options.attribute->text();;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    QUERN_TRY(heap.spend_scan(rest.size()));
    single.attribute = heap.text(std::string(rest.substr(0, comma)));
    QUERN_ASSIGN_OR_RETURN(const Value key, sort_key(interpreter, item, single));
    keys.push_back(key);
    if (comma == rest.size()) return heap.list(std::move(keys));
    rest.remove_prefix(comma + 1);
  }
}

// Of all items, in their order.
Result<std::vector<Value>> sort_keys(Interpreter& interpreter, const std::vector<Value>& items,
                                     const KeyOptions& options) {
  QUERN_TRY(interpreter.heap().reserve_items(items.size()));
  std::vector<Value> keys;
  keys.reserve(items.size());
  const bool is_list = options.attribute && options.attribute->is_string() &&
                       options.attribute->text().find(',') != std::string::npos;
  for (const Value& item : items) {
    QUERN_TRY(interpreter.heap().spend(1));
    QUERN_ASSIGN_OR_RETURN(const Value key, is_list ? sort_key_list(interpreter, item, options)
                                                    : sort_key(interpreter, item, options));
    keys.push_back(key);
  }
  return keys;
}

}  // namespace quern::jinja
