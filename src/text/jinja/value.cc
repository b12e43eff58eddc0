// Values and dicts.
// Small dicts are searched one by one; large ones have an index.
#include "text/jinja/value.h"

#include <fmt/core.h>

#include <array>

#include "text/jinja/object.h"
#include "text/jinja/value_compare.h"

namespace quern::jinja {
namespace {

// In the order of Kind.
constexpr std::array<std::string_view, 12> kTypeNames = {
    "Undefined", "NoneType", "bool",  "int",       "float",     "str",
    "list",      "tuple",    "range", "dict view", "generator", "dict"};
constexpr std::string_view kNamespaceName = "Namespace";

}  // namespace

// Borrowed: the text must live as long as the value.
Value Value::string(const std::string* text, bool is_safe) {
  Value value(Kind::kString, Payload{.text = text});
  value.flag_ = is_safe ? 1 : 0;
  return value;
}

// Remembers what was missing, for the error of its first use.
Value Value::undefined(const std::string* name, Origin origin, std::string_view owner) {
  Value value(Kind::kUndefined, Payload{.text = name});
  value.flag_ = static_cast<uint8_t>(origin);
  for (size_t i = 0; i < kTypeNames.size(); ++i) {
    // An index in place of a text keeps a value at 16 bytes.
    if (kTypeNames[i] == owner) value.owner_ = static_cast<uint8_t>(i);
  }
  return value;
}

// Integers and booleans as floats.
double Value::real() const {
  return kind_ == Kind::kFloat ? payload_.real : static_cast<double>(payload_.integer);
}

// "'x' is undefined", "'dict object' has no attribute 'x'", as Jinja words them.
std::string Value::undefined_reason() const {
  if (payload_.text == nullptr) return "a value is undefined";
  const std::string& name = *payload_.text;
  // Owners without an entry are objects of our own.
  const std::string owner = owner_ == 0   ? "the object"
                            : owner_ == 1 ? "None"
                                          : fmt::format("{} object", kTypeNames[owner_]);
  switch (static_cast<Origin>(flag_)) {
    case Origin::kVariable:
      return fmt::format("'{}' is undefined", name);
    case Origin::kAttribute:
      return fmt::format("'{}' has no attribute '{}'", owner, name);
    case Origin::kElement:
      return fmt::format("{} has no element {}", owner, name);
    case Origin::kParameter:
      return fmt::format("parameter '{}' was not provided", name);
    case Origin::kHint:
      break;
  }
  return name;
}

// As Python names them.
std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kList:
      switch (value.list().kind) {
        case ListKind::kList:
          return kTypeNames[6];
        case ListKind::kTuple:
        case ListKind::kGroup:
          return kTypeNames[7];
        case ListKind::kRange:
          return kTypeNames[8];
        case ListKind::kView:
          return kTypeNames[9];
        case ListKind::kGenerator:
          return kTypeNames[10];
      }
      return kTypeNames[6];
    case Kind::kDict:
      return kTypeNames[11];
    case Kind::kNamespace:
      return kNamespaceName;
    case Kind::kObject:
      return value.object().type_name();
    default:
      return kTypeNames[static_cast<size_t>(value.kind())];
  }
}

// By the index, or one by one in small dicts.
size_t Dict::position(const Value& key) const {
  if (!index_.empty()) {
    const auto found = index_.find(key);
    return found == index_.end() ? entries_.size() : found->second;
  }
  size_t i = 0;
  while (i < entries_.size() && compare_keys(entries_[i].key, key) != 0) ++i;
  return i;
}

const Value* Dict::find(const Value& key) const {
  const size_t i = position(key);
  return i < entries_.size() ? &entries_[i].value : nullptr;
}

// Without a value for the key: lookups by name are the most frequent.
const Value* Dict::find(std::string_view key) const {
  if (!index_.empty()) {
    const std::string text(key);
    return find(Value::string(&text));
  }
  for (const Entry& entry : entries_) {
    if (entry.key.is_string() && entry.key.text() == key) return &entry.value;
  }
  return nullptr;
}

// Small dicts get their index when they grow past kIndexedSize.
void Dict::set(const Value& key, const Value& value) {
  const size_t i = position(key);
  if (i < entries_.size()) {
    entries_[i].value = value;
    return;
  }
  entries_.push_back({key, value});
  if (!index_.empty()) {
    index_.emplace(key, i);
  } else if (entries_.size() > kIndexedSize) {
    rebuild_index();
  }
}

// Later entries move up, so the index is made again.
bool Dict::erase(const Value& key) {
  const size_t i = position(key);
  if (i == entries_.size()) return false;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
  rebuild_index();
  return true;
}

void Dict::clear() {
  entries_.clear();
  index_.clear();
}

void Dict::rebuild_index() {
  index_.clear();
  if (entries_.size() <= kIndexedSize) return;
  for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].key, i);
}

// A strict order over all hashable values; numbers by value, whatever their type.
bool KeyLess::operator()(const Value& a, const Value& b) const {
  return compare_keys(a, b) < 0;
}

}  // namespace quern::jinja
