// The values of templates: Python's, as far as chat templates see them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quern::jinja {

class Dict;
class Object;
struct List;

// The type of a value; what belongs to each is in Payload.
enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,  // every sequence; List::kind says which
  kDict,
  kNamespace,  // a Dict whose entries are attributes that templates may set
  kObject,     // functions, macros, the loop variable
};

// Where an undefined value comes from, for the message of the error that its use gives.
enum class Origin : uint8_t { kVariable, kAttribute, kElement, kParameter, kHint };

// A value of 16 bytes, copied freely. What it points to belongs to a Heap (or, for constants, to
// the template) and lives as long as that. Thread-compatible.
class Value {
 public:
  Value() = default;  // undefined, without a name
  // Values that hold what they are.
  static Value none() { return Value(Kind::kNone); }
  static Value boolean(bool truth) { return Value(Kind::kBool, Payload{.integer = truth ? 1 : 0}); }
  static Value integer(int64_t number) { return Value(Kind::kInt, Payload{.integer = number}); }
  static Value real(double number) { return Value(Kind::kFloat, Payload{.real = number}); }
  // `text` is borrowed. A safe text is one that was escaped, or must not be (jinja2's Markup).
  static Value string(const std::string* text, bool is_safe = false);
  // Values that point at what the heap owns; equal pointers are the same object, as in Python.
  static Value list(List* list) { return Value(Kind::kList, Payload{.list = list}); }
  static Value dict(Dict* dict) { return Value(Kind::kDict, Payload{.dict = dict}); }
  static Value name_space(Dict* dict) { return Value(Kind::kNamespace, Payload{.dict = dict}); }
  static Value object(Object* object) { return Value(Kind::kObject, Payload{.object = object}); }
  // `name` (borrowed) was not found; `owner` is the type that it was looked for in.
  static Value undefined(const std::string* name, Origin origin, std::string_view owner = {});

  // Lookups of the kind; integral are integers and booleans, as in Python.
  Kind kind() const { return kind_; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  // Numbers as Python counts them: True is 1.
  bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }
  bool is_safe() const { return is_string() && flag_ != 0; }

  // Each holds only for its kind.
  bool truth() const { return payload_.integer != 0; }        // kBool
  int64_t integer() const { return payload_.integer; }        // kInt, kBool
  double real() const;                                        // numbers
  const std::string& text() const { return *payload_.text; }  // kString
  List& list() const { return *payload_.list; }               // kList
  Dict& dict() const { return *payload_.dict; }               // kDict, kNamespace
  Object& object() const { return *payload_.object; }         // kObject
  const void* address() const { return payload_.object; }     // kinds with a pointer

  // What is undefined and why: "'tools' is undefined"; kUndefined only.
  std::string undefined_reason() const;

 private:
  // Which member counts follows from the kind.
  union Payload {
    int64_t integer;
    double real;
    const std::string* text;
    List* list;
    Dict* dict;
    Object* object;
  };
  explicit Value(Kind kind, Payload payload = Payload{.integer = 0})
      : payload_(payload), kind_(kind) {}

  Payload payload_ = {.integer = 0};
  Kind kind_ = Kind::kUndefined;
  uint8_t flag_ = 0;   // kString: is safe; kUndefined: the Origin
  uint8_t owner_ = 0;  // kUndefined: index of the owner's type name
};

// What a sequence is, since all of them are held as List.
enum class ListKind : uint8_t {
  kList,
  kTuple,
  kGroup,  // a tuple (grouper, list) of the filter groupby
  kRange,
  kView,       // keys, values or items of a dict
  kGenerator,  // can be walked once: what map, select and the like give
};

// A sequence on the heap. Lists may change; the other kinds do not after they are made.
struct List {
  std::vector<Value> items;
  ListKind kind = ListKind::kList;
  size_t cursor = 0;  // kGenerator: the next item
  std::string label;  // how a range, view or generator prints itself; may be empty

  // Whether it prints and compares as a tuple.
  bool is_tuple() const { return kind == ListKind::kTuple || kind == ListKind::kGroup; }
  bool is_indexable() const { return is_tuple() || kind == ListKind::kList || is_range(); }
  bool is_range() const { return kind == ListKind::kRange; }
};

// Order of the values that can be keys; 1, 1.0 and true are one key.
struct KeyLess {
  bool operator()(const Value& a, const Value& b) const;
};

// Keys and values in order of insertion. Keys must be hashable (value_compare.h).
class Dict {
 public:
  // One pair, in its place of insertion.
  struct Entry {
    Value key;
    Value value;
  };
  // In order of insertion; valid until the dict changes.
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }

  // nullptr where there is no such key; valid until the dict changes.
  const Value* find(const Value& key) const;
  // The same for a text, without making a value of it.
  const Value* find(std::string_view key) const;
  // Replaces the value of an equal key, which keeps its place; else appends.
  void set(const Value& key, const Value& value);
  // False where there is no such key. Linear in the size.
  bool erase(const Value& key);
  // Removes everything; the address stays, so that references to the dict see it.
  void clear();

 private:
  // Larger dicts have an index; smaller ones are searched one by one.
  static constexpr size_t kIndexedSize = 12;
  // Of the key in entries_; size() where it is not there.
  size_t position(const Value& key) const;
  // After a removal, which moves all later entries.
  void rebuild_index();

  // Entries, and their places by key once there are more than kIndexedSize.
  std::vector<Entry> entries_;
  std::map<Value, size_t, KeyLess> index_;
};

// Python's name of the value's type: "str", "dict", "NoneType", ...
std::string_view type_name(const Value& value);

}  // namespace quern::jinja
