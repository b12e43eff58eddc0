// Attributes, items and iteration of values.
// Dots and brackets differ only in what they try first.
#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/environment.h"
#include "text/jinja/value_compare.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

// An index from the end when negative; nullopt outside.
std::optional<size_t> resolve_index(int64_t index, size_t size) {
  const auto signed_size = static_cast<int64_t>(size);
  if (index < -signed_size || index >= signed_size) return std::nullopt;
  return static_cast<size_t>(index < 0 ? index + signed_size : index);
}

// `grouper` and `list` of what groupby gives; nothing for other names.
std::optional<Value> group_attribute(const List& group, std::string_view name) {
  if (group.kind != ListKind::kGroup) return std::nullopt;
  if (name == "grouper") return group.items[0];
  if (name == "list") return group.items[1];
  return std::nullopt;
}

// A method as a value, or an attribute of the few types that have some.
std::optional<Value> own_attribute(Interpreter& interpreter, const Value& value,
                                   const std::string& name) {
  // Methods before keys: `d.items` is the method even where the dict has a key "items".
  if (const NativeMethod method = find_method(value, name)) {
    return interpreter.heap().object<MethodObject>(value, method);
  }
  if (value.is_list()) return group_attribute(value.list(), name);
  if (value.kind() == Kind::kObject) return value.object().attribute(name, interpreter);
  if (value.kind() == Kind::kNamespace) {
    const Value* found = value.dict().find(name);
    if (found != nullptr) return *found;
  }
  return std::nullopt;
}

// The character at `index`, counted in code points from either end; nothing outside the text.
Result<std::optional<Value>> character(Heap& heap, const Value& value, int64_t index) {
  const std::string& text = value.text();
  // Counting characters reads every byte: an index in a long text is not a single step.
  QUERN_TRY(heap.spend_scan(4 * text.size()));
  const int64_t size = count_characters(text);
  const auto at = resolve_index(index, static_cast<size_t>(size));
  if (!at) return std::nullopt;
  // As many characters as bytes: ASCII, where the offset is the index.
  if (static_cast<size_t>(size) == text.size()) {
    return heap.text(std::string(1, text[*at]), value.is_safe());
  }
  const std::string_view rest =
      std::string_view(text).substr(character_offset(text, static_cast<int64_t>(*at)));
  return heap.text(std::string(rest.substr(0, character_offset(rest, 1))), value.is_safe());
}

// value[key] without the fallback to attributes; nullopt where there is no such item.
Result<std::optional<Value>> own_item(Heap& heap, const Value& value, const Value& key) {
  if (value.is_dict() && is_hashable(key)) {
    QUERN_ASSIGN_OR_RETURN(const Value* found, find_entry(heap, value.dict(), key));
    if (found != nullptr) return *found;
  }
  if (!key.is_integral()) return std::nullopt;
  if (value.is_string()) return character(heap, value, key.integer());
  if (value.is_list() && value.list().is_indexable()) {
    const List& list = value.list();
    if (const auto at = resolve_index(key.integer(), list.items.size())) return list.items[*at];
  }
  return std::nullopt;
}

}  // namespace

// Attributes first, then items: `a.b` is `a["b"]` where there is no attribute.
Result<Value> Interpreter::attribute(const Value& value, const std::string& name) {
  if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
  if (const auto found = own_attribute(*this, value, name)) return *found;
  if (value.is_dict()) {
    QUERN_TRY(heap_.spend_scan(4 * name.size()));
    if (const Value* found = value.dict().find(name)) return *found;
  }
  return Value::undefined(&name, Origin::kAttribute, type_name(value));
}

// Items first, then attributes, the other way round.
Result<Value> Interpreter::item(const Value& value, const Value& key) {
  if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
  QUERN_ASSIGN_OR_RETURN(const std::optional<Value> found, own_item(heap_, value, key));
  if (found) return *found;
  if (key.is_string()) {
    if (const auto attribute = own_attribute(*this, value, key.text())) return *attribute;
    return Value::undefined(&key.text(), Origin::kAttribute, type_name(value));
  }
  if (key.is_undefined()) return Value::undefined(heap_.name("Undefined"), Origin::kElement);
  std::string key_text;
  QUERN_TRY(append_repr(heap_, key, key_text));
  return Value::undefined(heap_.name(std::move(key_text)), Origin::kElement, type_name(value));
}

// A generator is spent: a second walk gives nothing, as in Python.
Result<std::vector<Value>> Interpreter::items_of(const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::kUndefined:
      return items;
    case Kind::kList: {
      List& list = value.list();
      QUERN_TRY(heap_.reserve_items(list.items.size()));
      QUERN_TRY(heap_.spend_scan(list.items.size() * sizeof(Value)));
      items.assign(list.items.begin() + static_cast<std::ptrdiff_t>(list.cursor), list.items.end());
      // The items are made already; the cursor alone plays the part of Python's lazy generator.
      if (list.kind == ListKind::kGenerator) list.cursor = list.items.size();
      return items;
    }
    case Kind::kDict:
      QUERN_TRY(heap_.reserve_items(value.dict().size()));
      QUERN_TRY(heap_.spend_scan(value.dict().size() * sizeof(Value)));
      for (const Dict::Entry& entry : value.dict().entries()) items.push_back(entry.key);
      return items;
    case Kind::kString:
      // Each character becomes a text of its own with its object: some 80 bytes for one.
      QUERN_TRY(heap_.reserve(value.text().size() * (sizeof(Value) + 2 * sizeof(std::string))));
      QUERN_TRY(heap_.spend(value.text().size() / 4));
      for (const std::string_view part : split_characters(value.text())) {
        items.push_back(heap_.text(std::string(part)));
      }
      return items;
    default:
      return fail::invalid("A value of type '{}' cannot be iterated over", type_name(value));
  }
}

}  // namespace quern::jinja
