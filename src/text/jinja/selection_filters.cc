// Filters that apply a filter or a test to each item.
// Results are generators in Jinja: they print as one and are empty after one walk.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/environment.h"
#include "text/jinja/sorting.h"
#include "text/jinja/value_compare.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

// Takes the first positional argument, which must be a string.
Result<std::string_view> take_name(std::string_view callee, Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.positional[0].is_string()) {
    return fail::invalid("{} needs a name as its first argument", callee);
  }
  // The text belongs to the heap or the template, so the view outlives the argument list.
  const std::string& name = arguments.positional[0].text();
  arguments.positional.erase(arguments.positional.begin());
  return std::string_view(name);
}

// None and the like count as empty here.
Result<std::vector<Value>> items_or_nothing(Interpreter& interpreter, const Value& value) {
  if (!is_truthy(value)) return std::vector<Value>();
  return interpreter.items_of(value);
}

// map(attribute="a.b"): what the path leads to, or a fallback.
Result<std::vector<Value>> map_attribute(Interpreter& interpreter, const std::vector<Value>& items,
                                         const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("map", {"attribute", "default"}));
  std::optional<Value> fallback;
  if (bound.is_given(1)) fallback = bound.value(1);
  std::vector<Value> mapped;
  for (const Value& item : items) {
    QUERN_ASSIGN_OR_RETURN(const Value found,
                           follow_path(interpreter, item, bound.value(0), fallback));
    mapped.push_back(found);
  }
  return mapped;
}

// map: attributes, or another filter on each item. The result is walked once.
Result<Value> map(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, items_or_nothing(interpreter, value));
  Heap& heap = interpreter.heap();
  QUERN_TRY(heap.reserve_items(items.size()));
  // jinja2 looks for the named attribute only if there is no positional argument.
  const auto is_attribute = [](const NamedArgument& argument) {
    return *argument.name == "attribute";
  };
  if (arguments.positional.empty() && std::ranges::any_of(arguments.named, is_attribute)) {
    QUERN_ASSIGN_OR_RETURN(std::vector<Value> mapped, map_attribute(interpreter, items, arguments));
    return heap.list(std::move(mapped), ListKind::kGenerator);
  }
  Arguments rest = arguments;
  QUERN_ASSIGN_OR_RETURN(const std::string_view name, take_name("map", rest));
  std::vector<Value> mapped;
  for (const Value& item : items) {
    QUERN_TRY(heap.spend(1));
    QUERN_ASSIGN_OR_RETURN(const Value result, interpreter.apply_filter(name, item, rest));
    mapped.push_back(result);
  }
  return heap.list(std::move(mapped), ListKind::kGenerator);
}

// Keeps the items, or those attributes of them, that pass a test; without a test, the truthy ones.
Result<Value> select_where(Interpreter& interpreter, const Value& value, Arguments arguments,
                           const std::optional<Value>& attribute, bool keeps) {
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, items_or_nothing(interpreter, value));
  std::string_view test;
  if (!arguments.positional.empty()) {
    QUERN_ASSIGN_OR_RETURN(test, take_name("a filter", arguments));
  }
  std::vector<Value> kept;
  for (const Value& item : items) {
    QUERN_TRY(interpreter.heap().spend(1));
    Value subject = item;
    if (attribute) {
      QUERN_ASSIGN_OR_RETURN(subject, follow_path(interpreter, item, *attribute));
    }
    bool holds = is_truthy(subject);
    if (!test.empty()) {
      QUERN_ASSIGN_OR_RETURN(holds, interpreter.apply_test(test, subject, arguments));
    }
    if (holds == keeps) kept.push_back(item);
  }
  return interpreter.heap().list(std::move(kept), ListKind::kGenerator);
}

// select and reject: by a test, or by truth.
template <bool keeps>
Result<Value> select(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  return select_where(interpreter, value, arguments, std::nullopt, keeps);
}

// The same on an attribute of each item.
template <bool keeps>
Result<Value> select_attribute(Interpreter& interpreter, const Value& value,
                               const Arguments& arguments) {
  if (arguments.positional.empty()) {
    return fail::invalid("{} needs an attribute as its first argument",
                         keeps ? "selectattr" : "rejectattr");
  }
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  return select_where(interpreter, value, std::move(rest), arguments.positional[0], keeps);
}

// Pairs of a key and the items that have it, in the order of the keys.
Result<Value> group_by(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("groupby", {"attribute", "default", "case_sensitive"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(value));
  Heap& heap = interpreter.heap();
  KeyOptions options{bound.value(0), std::nullopt, bound.truth(2, false)};
  if (bound.is_given(1)) options.fallback = bound.value(1);
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> keys, sort_keys(interpreter, items, options));
  // Stable, so the items of a group are in their first order, and equal keys are neighbours.
  QUERN_ASSIGN_OR_RETURN(const std::vector<size_t> order, sorted_order(heap, keys));
  options.is_case_sensitive = true;  // the group is named as its first item spells it
  std::vector<Value> groups;
  for (size_t i = 0; i < order.size(); ++i) {
    bool is_same = false;
    if (i > 0) {
      QUERN_ASSIGN_OR_RETURN(is_same, is_equal(heap, keys[order[i - 1]], keys[order[i]]));
    }
    if (!is_same) {
      QUERN_ASSIGN_OR_RETURN(const Value name, sort_key(interpreter, items[order[i]], options));
      groups.push_back(heap.list({name, heap.list({})}, ListKind::kGroup));
    }
    heap.append(groups.back().list().items[1].list(), items[order[i]]);
  }
  return heap.list(std::move(groups));
}

// attr: the attribute alone, never an item.
Result<Value> attribute(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("attr", {"name"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::string_view name_text, bound.text(0, ""));
  const std::string* name = interpreter.heap().name(std::string(name_text));
  // Unlike the dot, attr does not see the keys of dicts.
  if (value.is_dict() && find_method(value, *name) == nullptr) {
    return Value::undefined(name, Origin::kAttribute, type_name(value));
  }
  return interpreter.attribute(value, *name);
}

// By name; environment.cc searches them.
constexpr NamedFilter kFilters[] = {
    {"attr", attribute},
    {"groupby", group_by},
    {"map", map},
    {"reject", select<false>},
    {"rejectattr", select_attribute<false>},
    {"select", select<true>},
    {"selectattr", select_attribute<true>},
};

}  // namespace

std::span<const NamedFilter> selection_filters() {
  return kFilters;
}

}  // namespace quern::jinja
