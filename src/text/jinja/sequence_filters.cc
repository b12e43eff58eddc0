// Filters of whole sequences.
// Sizes are reserved before lists are made, so that limits hold.
#include <algorithm>
#include <set>

#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/environment.h"
#include "text/jinja/operators.h"
#include "text/jinja/sorting.h"
#include "text/jinja/value_compare.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

// What Jinja gives as a generator prints as one, and is empty after one walk.
Value generator(Interpreter& interpreter, std::vector<Value> items) {
  return interpreter.heap().list(std::move(items), ListKind::kGenerator);
}

// length, count: of texts in characters. Errors: values without a length.
Result<Value> length(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("length", {}));
  switch (value.kind()) {
    case Kind::kUndefined:
      return Value::integer(0);
    case Kind::kString:
      QUERN_TRY(interpreter.heap().spend_scan(value.text().size()));
      return Value::integer(count_characters(value.text()));
    case Kind::kDict:
      return Value::integer(static_cast<int64_t>(value.dict().size()));
    case Kind::kList:
      // Its items are known here and unknown to Python, which has no length for it.
      if (value.list().kind == ListKind::kGenerator) break;
      return Value::integer(static_cast<int64_t>(value.list().items.size()));
    default:
      break;
  }
  return fail::invalid("A value of type '{}' has no length", type_name(value));
}

// first: undefined for an empty sequence, not an error.
Result<Value> first(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  static const std::string kReason = "the sequence of 'first' is empty";
  QUERN_TRY(arguments.bind("first", {}));
  if (value.is_list()) {  // without walking the rest
    List& list = value.list();
    // Only a generator's cursor moves; for others it stays at 0.
    if (list.cursor == list.items.size()) return Value::undefined(&kReason, Origin::kHint);
    const Value item = list.items[list.cursor];
    if (list.kind == ListKind::kGenerator) ++list.cursor;
    return item;
  }
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  return items.empty() ? Value::undefined(&kReason, Origin::kHint) : items.front();
}

// last: the same.
Result<Value> last(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  static const std::string kReason = "the sequence of 'last' is empty";
  QUERN_TRY(arguments.bind("last", {}));
  if (value.is_list() && value.list().kind == ListKind::kGenerator) {
    return fail::invalid("A generator has no last item; turn it into a list first");
  }
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  return items.empty() ? Value::undefined(&kReason, Origin::kHint) : items.back();
}

// join: texts of the items, or of an attribute of each, with a separator between them.
Result<Value> join(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("join", {"d", "attribute"}));
  Heap& heap = interpreter.heap();
  std::string separator;
  if (bound.has(0)) {
    QUERN_ASSIGN_OR_RETURN(separator, to_text(heap, bound.value(0)));
  }
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  // Known before anything is joined: the items may add little.
  if (!items.empty()) QUERN_TRY(heap.reserve_copies(items.size() - 1, separator.size()));
  std::string out;
  bool is_first = true;
  for (Value item : items) {
    if (bound.is_given(1)) {
      QUERN_ASSIGN_OR_RETURN(item, follow_path(interpreter, item, bound.value(1)));
    }
    QUERN_TRY(heap.spend_scan(separator.size()));
    QUERN_TRY(heap.reserve(out.size() + separator.size()));
    if (!is_first) out += separator;
    is_first = false;
    QUERN_TRY(append_text(heap, item, out));
  }
  return heap.text(std::move(out));
}

// list: the items of any iterable.
Result<Value> list_filter(Interpreter& interpreter, const Value& value,
                          const Arguments& arguments) {
  QUERN_TRY(arguments.bind("list", {}));
  QUERN_ASSIGN_OR_RETURN(std::vector<Value> items, interpreter.items_of(value));
  return interpreter.heap().list(std::move(items));
}

// reverse: texts by characters, sequences by items.
Result<Value> reverse(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("reverse", {}));
  if (value.is_string()) {
    // text[::-1]: characters, and not bytes.
    return slice(interpreter.heap(), value, Value::none(), Value::none(), Value::integer(-1));
  }
  QUERN_ASSIGN_OR_RETURN(std::vector<Value> items, interpreter.items_of(value));
  std::reverse(items.begin(), items.end());
  return generator(interpreter, std::move(items));
}

// sort: by value or attribute, without case unless asked; equal items keep their order.
Result<Value> sort(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("sort", {"reverse", "case_sensitive", "attribute"}));
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  KeyOptions options;
  options.is_case_sensitive = bound.truth(1, false);
  if (bound.is_given(2)) options.attribute = bound.value(2);
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> keys, sort_keys(interpreter, items, options));
  QUERN_ASSIGN_OR_RETURN(const std::vector<size_t> order,
                         sorted_order(interpreter.heap(), keys, {bound.truth(0, false), true}));
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const size_t i : order) sorted.push_back(items[i]);
  return interpreter.heap().list(std::move(sorted));
}

// unique: the first of equal items, without case unless asked.
Result<Value> unique(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("unique", {"case_sensitive", "attribute"}));
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  KeyOptions options;
  options.is_case_sensitive = bound.truth(0, false);
  if (bound.is_given(1)) options.attribute = bound.value(1);
  std::set<Value, KeyLess> seen;
  std::vector<Value> kept;
  for (const Value& item : items) {
    // One for the walk and one for the search among those seen.
    QUERN_TRY(interpreter.heap().spend(2));
    QUERN_ASSIGN_OR_RETURN(const Value key, sort_key(interpreter, item, options));
    if (!is_hashable(key)) {
      return fail::invalid("A value of type '{}' cannot be a key", type_name(key));
    }
    if (seen.insert(key).second) kept.push_back(item);
  }
  return generator(interpreter, std::move(kept));
}

// The least or greatest item; the first among equals.
Result<Value> extreme(Interpreter& interpreter, const Value& value, const Arguments& arguments,
                      bool is_max) {
  static const std::string kReason = "the sequence of 'min' or 'max' is empty";
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind(is_max ? "max" : "min", {"case_sensitive", "attribute"}));
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  if (items.empty()) return Value::undefined(&kReason, Origin::kHint);
  KeyOptions options;
  options.is_case_sensitive = bound.truth(0, false);
  if (bound.is_given(1)) options.attribute = bound.value(1);
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> keys, sort_keys(interpreter, items, options));
  size_t best = 0;
  for (size_t i = 1; i < keys.size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(const bool is_better,
                           is_max ? is_less(interpreter.heap(), keys[best], keys[i])
                                  : is_less(interpreter.heap(), keys[i], keys[best]));
    // Strictly better, so the first of equal items stays.
    if (is_better) best = i;
  }
  return items[best];
}

// min and max: undefined for an empty sequence.
Result<Value> min(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  return extreme(interpreter, value, arguments, false);
}

Result<Value> max(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  return extreme(interpreter, value, arguments, true);
}

// sum: numbers of items, or of an attribute, from a start.
Result<Value> sum(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("sum", {"attribute", "start"}));
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  Value total = bound.value(1, Value::integer(0));
  // Python's rule. Lists may be added, with a list as the start.
  if (total.is_string()) return fail::invalid("sum cannot add strings; use join");
  for (Value item : items) {
    QUERN_TRY(interpreter.heap().spend(1));
    if (bound.is_given(0)) {
      QUERN_ASSIGN_OR_RETURN(item, follow_path(interpreter, item, bound.value(0)));
    }
    QUERN_ASSIGN_OR_RETURN(total, apply_binary(interpreter.heap(), BinaryOp::kAdd, total, item));
  }
  return total;
}

// Lists of `count` items each; the last is filled up where a filler is given.
Result<Value> batch(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("batch", {"linecount", "fill_with"}, 1));
  QUERN_ASSIGN_OR_RETURN(const int64_t count, bound.integer(0, 1));
  if (count < 1) return fail::invalid("batch makes lists of {} items; at least 1", count);
  Heap& heap = interpreter.heap();
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  std::vector<Value> batches;
  const auto size = static_cast<size_t>(count);
  for (size_t i = 0; i < items.size(); i += std::min(size, items.size() - i)) {
    const size_t end = i + std::min(size, items.size() - i);
    std::vector<Value> part(items.begin() + static_cast<std::ptrdiff_t>(i),
                            items.begin() + static_cast<std::ptrdiff_t>(end));
    if (bound.is_given(1) && part.size() < size) {
      // `size` is the template's own number: one item in batches of 10^12 would be filled up to
      // that.
      QUERN_TRY(heap.reserve_items(size));
      QUERN_TRY(heap.spend_scan(size));
      part.resize(size, bound.value(1));
    }
    QUERN_TRY(heap.spend(1));
    batches.push_back(heap.list(std::move(part)));
  }
  return generator(interpreter, std::move(batches));
}

// `count` lists of about the same size; those that got no extra item get the filler, if one is
// given.
Result<Value> slice_filter(Interpreter& interpreter, const Value& value,
                           const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("slice", {"slices", "fill_with"}, 1));
  QUERN_ASSIGN_OR_RETURN(const int64_t count, bound.integer(0, 1));
  if (count < 1) return fail::invalid("slice makes {} lists; at least 1", count);
  Heap& heap = interpreter.heap();
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  const auto num_slices = static_cast<size_t>(count);
  QUERN_TRY(heap.reserve_items(num_slices));
  const size_t size = items.size() / num_slices;
  const size_t num_longer = items.size() % num_slices;
  std::vector<Value> slices;
  size_t begin = 0;
  for (size_t i = 0; i < num_slices; ++i) {
    const size_t end = begin + size + (i < num_longer ? 1 : 0);
    std::vector<Value> part(items.begin() + static_cast<std::ptrdiff_t>(begin),
                            items.begin() + static_cast<std::ptrdiff_t>(end));
    // Also where all are of one size, as Jinja does it.
    if (bound.is_given(1) && i >= num_longer) part.push_back(bound.value(1));
    QUERN_TRY(heap.spend(1));
    slices.push_back(heap.list(std::move(part)));
    begin = end;
  }
  return generator(interpreter, std::move(slices));
}

// By name; environment.cc searches them.
constexpr NamedFilter kFilters[] = {
    {"batch", batch}, {"count", length},    {"first", first},        {"join", join},
    {"last", last},   {"length", length},   {"list", list_filter},   {"max", max},
    {"min", min},     {"reverse", reverse}, {"slice", slice_filter}, {"sort", sort},
    {"sum", sum},     {"unique", unique},
};

}  // namespace

std::span<const NamedFilter> sequence_filters() {
  return kFilters;
}

}  // namespace quern::jinja
