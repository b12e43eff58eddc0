// Methods of lists and dicts. jinja2's immutable sandbox refuses those that change their value;
// here they change the rendering's own copy.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/environment.h"
#include "text/jinja/value_compare.h"

namespace quern::jinja {
namespace {

// For iterators, whose difference is signed.
std::ptrdiff_t offset(size_t i) {
  return static_cast<std::ptrdiff_t>(i);
}

// list.append: changes the list in place and gives none, as all that change do.
Result<Value> append(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("append", {"object"}, 1));
  interpreter.heap().append(receiver.list(), bound.value(0));
  return Value::none();
}

// list.extend with the items of any iterable.
Result<Value> extend(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("extend", {"iterable"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.items_of(bound.value(0)));
  for (const Value& item : items) interpreter.heap().append(receiver.list(), item);
  return Value::none();
}

// list.insert: an index outside goes to the nearer end, as in Python.
Result<Value> insert(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("insert", {"index", "object"}, 2));
  QUERN_ASSIGN_OR_RETURN(int64_t at, bound.integer(0, 0));
  std::vector<Value>& items = receiver.list().items;
  const auto size = static_cast<int64_t>(items.size());
  QUERN_TRY(interpreter.heap().spend_scan(items.size() * sizeof(Value)));
  interpreter.heap().count(2 * sizeof(Value));
  if (at < 0) at = std::max(at, -size) + size;
  items.insert(items.begin() + offset(static_cast<size_t>(std::min(at, size))), bound.value(1));
  return Value::none();
}

// list.pop: the last item, or the one at an index. Errors: an empty list, an index outside.
Result<Value> pop_item(Interpreter& interpreter, const Value& receiver,
                       const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("pop", {"index"}));
  QUERN_ASSIGN_OR_RETURN(int64_t at, bound.integer(0, -1));
  std::vector<Value>& items = receiver.list().items;
  const auto size = static_cast<int64_t>(items.size());
  if (at < -size || at >= size) {
    return fail::invalid("A list of {} items has no item {} to pop", size, at);
  }
  QUERN_TRY(interpreter.heap().spend_scan(items.size() * sizeof(Value)));
  if (at < 0) at += size;
  const Value item = items[static_cast<size_t>(at)];
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return item;
}

// The position of the first equal item; the size where there is none.
Result<size_t> find_item(Heap& heap, const List& list, const Value& wanted) {
  for (size_t i = 0; i < list.items.size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(const bool equal, is_equal(heap, list.items[i], wanted));
    if (equal) return i;
  }
  return list.items.size();
}

// list.remove: the first equal item. Errors: there is none.
Result<Value> remove(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("remove", {"value"}, 1));
  List& list = receiver.list();
  QUERN_ASSIGN_OR_RETURN(const size_t at, find_item(interpreter.heap(), list, bound.value(0)));
  if (at == list.items.size()) return fail::invalid("The list has no such item to remove");
  list.items.erase(list.items.begin() + offset(at));
  return Value::none();
}

// list.index. Errors: there is no equal item.
Result<Value> index(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("index", {"value"}, 1));
  const List& list = receiver.list();
  QUERN_ASSIGN_OR_RETURN(const size_t at, find_item(interpreter.heap(), list, bound.value(0)));
  if (at == list.items.size()) return fail::invalid("The list has no such item");
  return Value::integer(static_cast<int64_t>(at));
}

// list.count of equal items.
Result<Value> count(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("count", {"value"}, 1));
  int64_t number = 0;
  for (const Value& item : receiver.list().items) {
    QUERN_ASSIGN_OR_RETURN(const bool equal, is_equal(interpreter.heap(), item, bound.value(0)));
    number += equal ? 1 : 0;
  }
  return Value::integer(number);
}

// list.reverse, in place.
Result<Value> reverse(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("reverse", {}));
  std::vector<Value>& items = receiver.list().items;
  QUERN_TRY(interpreter.heap().spend_scan(items.size() * sizeof(Value)));
  std::reverse(items.begin(), items.end());
  return Value::none();
}

// list.clear, in place.
Result<Value> clear_list(Interpreter&, const Value& receiver, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("clear", {}));
  receiver.list().items.clear();
  return Value::none();
}

// list.copy: new list, same items.
Result<Value> copy_list(Interpreter& interpreter, const Value& receiver,
                        const Arguments& arguments) {
  QUERN_TRY(arguments.bind("copy", {}));
  QUERN_ASSIGN_OR_RETURN(std::vector<Value> items, interpreter.items_of(receiver));
  return interpreter.heap().list(std::move(items));
}

// dict.get: the value, or the second argument, or none.
Result<Value> get(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("get", {"key", "default"}, 1));
  QUERN_ASSIGN_OR_RETURN(const Value* found,
                         find_entry(interpreter.heap(), receiver.dict(), bound.value(0)));
  return found != nullptr ? *found : bound.value(1);
}

// Which of a dict's views is made.
enum class Part { kKeys, kValues, kItems };

// dict.keys, values and items: lists of what the dict holds now.
template <Part part>
Result<Value> view(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("a method", {}));
  Heap& heap = interpreter.heap();
  QUERN_TRY(heap.reserve_items(6 * receiver.dict().size()));
  std::vector<Value> items;
  items.reserve(receiver.dict().size());
  for (const auto& [key, value] : receiver.dict().entries()) {
    QUERN_TRY(heap.spend(1));
    items.push_back(part == Part::kKeys     ? key
                    : part == Part::kValues ? value
                                            : heap.list({key, value}, ListKind::kTuple));
  }
  constexpr const char* kLabel = part == Part::kKeys     ? "dict_keys"
                                 : part == Part::kValues ? "dict_values"
                                                         : "dict_items";
  return heap.list(std::move(items), ListKind::kView, kLabel);
}

// Later entries replace earlier ones of the same key.
Result<void> add_entries(Heap& heap, Dict& dict, const std::vector<Dict::Entry>& entries) {
  for (const auto& [key, value] : entries) QUERN_TRY(heap.set(dict, key, value));
  return {};
}

// dict.update with a dict, with pairs, and with named arguments, in this order.
Result<Value> update(Interpreter& interpreter, const Value& receiver, const Arguments& arguments) {
  Heap& heap = interpreter.heap();
  Arguments positional;
  positional.positional = arguments.positional;
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, positional.bind("update", {"other"}));
  if (bound.has(0)) {
    if (!bound.value(0).is_dict()) {
      return fail::invalid("update needs a dict, not a value of type '{}'",
                           type_name(bound.value(0)));
    }
    const std::vector<Dict::Entry> entries = bound.value(0).dict().entries();
    QUERN_TRY(add_entries(heap, receiver.dict(), entries));
  }
  for (const NamedArgument& argument : arguments.named) {
    QUERN_TRY(heap.set(receiver.dict(), Value::string(argument.name), argument.value));
  }
  return Value::none();
}

// dict.pop: the value of a key that is removed; a fallback where there is none.
Result<Value> pop_entry(Interpreter& interpreter, const Value& receiver,
                        const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("pop", {"key", "default"}, 1));
  Heap& heap = interpreter.heap();
  QUERN_ASSIGN_OR_RETURN(const Value* found, find_entry(heap, receiver.dict(), bound.value(0)));
  if (found == nullptr) {
    if (bound.has(1)) return bound.value(1);
    return fail::invalid("The dict has no such key to pop");
  }
  const Value value = *found;
  QUERN_TRY(heap.spend(1 + receiver.dict().size()));
  receiver.dict().erase(bound.value(0));
  return value;
}

// dict.setdefault: the value of a key, which is added where it is absent.
Result<Value> set_default(Interpreter& interpreter, const Value& receiver,
                          const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("setdefault", {"key", "default"}, 1));
  Heap& heap = interpreter.heap();
  QUERN_ASSIGN_OR_RETURN(const Value* found, find_entry(heap, receiver.dict(), bound.value(0)));
  if (found != nullptr) return *found;
  QUERN_TRY(heap.set(receiver.dict(), bound.value(0), bound.value(1)));
  return bound.value(1);
}

// dict.clear, in place.
Result<Value> clear_dict(Interpreter&, const Value& receiver, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("clear", {}));
  receiver.dict().clear();
  return Value::none();
}

// dict.copy: new dict, same values.
Result<Value> copy_dict(Interpreter& interpreter, const Value& receiver,
                        const Arguments& arguments) {
  QUERN_TRY(arguments.bind("copy", {}));
  const Value copy = interpreter.heap().dict();
  QUERN_TRY(add_entries(interpreter.heap(), copy.dict(), receiver.dict().entries()));
  return copy;
}

// By name; environment.cc searches them.
constexpr NamedMethod kListMethods[] = {
    {"append", append}, {"clear", clear_list}, {"copy", copy_list}, {"count", count},
    {"extend", extend}, {"index", index},      {"insert", insert},  {"pop", pop_item},
    {"remove", remove}, {"reverse", reverse},
};

constexpr NamedMethod kDictMethods[] = {
    {"clear", clear_dict},         {"copy", copy_dict},         {"get", get},
    {"items", view<Part::kItems>}, {"keys", view<Part::kKeys>}, {"pop", pop_entry},
    {"setdefault", set_default},   {"update", update},          {"values", view<Part::kValues>},
};

}  // namespace

std::span<const NamedMethod> list_methods() {
  return kListMethods;
}
std::span<const NamedMethod> dict_methods() {
  return kDictMethods;
}

}  // namespace quern::jinja
