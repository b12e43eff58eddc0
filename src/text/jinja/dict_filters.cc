// Filters of dicts, and those of any value.
// Sorting folds case unless it is told not to, as all of Jinja's sorting does.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/environment.h"
#include "text/jinja/json.h"
#include "text/jinja/sorting.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

// (key, value) tuples in order of insertion.
Result<std::vector<Value>> pairs_of(Heap& heap, const Dict& dict) {
  // Each pair is a list of two values, with what a list itself takes.
  QUERN_TRY(heap.reserve_items(6 * dict.size()));
  std::vector<Value> pairs;
  for (const Dict::Entry& entry : dict.entries()) {
    QUERN_TRY(heap.spend(1));
    pairs.push_back(heap.list({entry.key, entry.value}, ListKind::kTuple));
  }
  return pairs;
}

// items: pairs of a dict; nothing for an undefined value.
Result<Value> items(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("items", {}));
  std::vector<Value> pairs;
  if (value.is_dict()) {
    QUERN_ASSIGN_OR_RETURN(pairs, pairs_of(interpreter.heap(), value.dict()));
  } else if (!value.is_undefined()) {
    return fail::invalid("items needs a dict, not a value of type '{}'", type_name(value));
  }
  return interpreter.heap().list(std::move(pairs), ListKind::kGenerator);
}

// dictsort: pairs by key or by value, without case unless asked.
Result<Value> dictsort(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("dictsort", {"case_sensitive", "by", "reverse"}));
  QUERN_ASSIGN_OR_RETURN(const std::string_view by, bound.text(1, "key"));
  if (by != "key" && by != "value") {
    return fail::invalid("dictsort sorts by '{}'; it must be key or value", by);
  }
  if (!value.is_dict()) {
    return fail::invalid("dictsort needs a dict, not a value of type '{}'", type_name(value));
  }
  Heap& heap = interpreter.heap();
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> pairs, pairs_of(heap, value.dict()));
  const KeyOptions options{Value::integer(by == "key" ? 0 : 1), std::nullopt,
                           bound.truth(0, false)};
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> keys, sort_keys(interpreter, pairs, options));
  QUERN_ASSIGN_OR_RETURN(const std::vector<size_t> order,
                         sorted_order(heap, keys, {bound.truth(2, false)}));
  std::vector<Value> sorted;
  for (const size_t i : order) sorted.push_back(pairs[i]);
  return heap.list(std::move(sorted));
}

// default: a value in place of an undefined one, or of any false one where asked.
Result<Value> default_filter(Interpreter& interpreter, const Value& value,
                             const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("default", {"default_value", "boolean"}));
  const bool is_missing = value.is_undefined() || (bound.truth(1, false) && !is_truthy(value));
  if (!is_missing) return value;
  return bound.has(0) ? bound.value(0) : interpreter.heap().text("");
}

// json.dumps with the arguments and defaults that transformers gives it.
Result<Value> tojson(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(
      const BoundArguments bound,
      arguments.bind("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}));
  Heap& heap = interpreter.heap();
  JsonOptions options;
  options.is_ascii = bound.truth(0, false);
  options.sorts_keys = bound.truth(3, false);
  if (bound.is_given(1) && bound.value(1).is_string()) {
    options.indent = bound.value(1).text();
  } else if (bound.is_given(1)) {
    QUERN_ASSIGN_OR_RETURN(const int64_t width, bound.integer(1, 0));
    const auto size = static_cast<size_t>(std::max<int64_t>(width, 0));
    QUERN_TRY(heap.reserve(size));
    options.indent = std::string(size, ' ');
  }
  // json.dumps: with an indent the line break stands in for the space behind a comma.
  if (options.indent) options.item_separator = ",";
  if (bound.is_given(2)) {
    QUERN_ASSIGN_OR_RETURN(const std::vector<Value> parts, interpreter.items_of(bound.value(2)));
    if (parts.size() != 2 || !parts[0].is_string() || !parts[1].is_string()) {
      return fail::invalid("The separators of tojson must be two strings");
    }
    options.item_separator = parts[0].text();
    options.key_separator = parts[1].text();
  }
  std::string out;
  QUERN_TRY(append_json(heap, value, options, out));
  return heap.text(std::move(out));
}

// By name; environment.cc searches them. `d` is Jinja's short name of default.
constexpr NamedFilter kFilters[] = {
    {"d", default_filter}, {"default", default_filter}, {"dictsort", dictsort},
    {"items", items},      {"tojson", tojson},
};

}  // namespace

std::span<const NamedFilter> dict_filters() {
  return kFilters;
}

}  // namespace quern::jinja
