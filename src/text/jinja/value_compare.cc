// Comparisons as Python makes them.
// Depth and work are limited: a value may hold itself.
#include "text/jinja/value_compare.h"

#include <cmath>

#include "base/fail.h"
#include "text/jinja/heap.h"

namespace quern::jinja {
namespace {

// Keys nested deeper are refused instead of recursed into.
constexpr int kMaxKeyDepth = 8;

// Lists, dicts and namespaces can change and are no keys.
bool is_hashable_to(const Value& value, int depth) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kString:
      return true;
    case Kind::kList:
      if (!value.list().is_tuple() || depth == kMaxKeyDepth) return false;
      for (const Value& item : value.list().items) {
        if (!is_hashable_to(item, depth + 1)) return false;
      }
      return true;
    default:
      return false;
  }
}

// -1, 0 or 1.
template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// An integer against a float, exactly: 2^53 + 1 and 2^53 as a float differ. NaN is above all.
int compare_mixed(int64_t a, double b) {
  if (std::isnan(b) || b >= 0x1p63) return -1;
  if (b < -0x1p63) return 1;
  const double whole = std::floor(b);
  // A float below 2^63 has a floor that fits; where it equals the integer, the fraction decides.
  const int order = three_way(a, static_cast<int64_t>(whole));
  return order != 0 ? order : three_way(whole, b);
}

// Integers and floats exactly, without rounding the integer.
int compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return three_way(a.integer(), b.integer());
  if (a.is_integral()) return compare_mixed(a.integer(), b.real());
  if (b.is_integral()) return -compare_mixed(b.integer(), a.real());
  const bool a_nan = std::isnan(a.real());
  const bool b_nan = std::isnan(b.real());
  return a_nan || b_nan ? three_way(a_nan, b_nan) : three_way(a.real(), b.real());
}

// Groups of types with an order of their own.
int key_rank(const Value& value) {
  if (value.is_undefined()) return -1;
  if (value.is_none()) return 0;
  if (value.is_number()) return 1;
  return value.is_string() ? 2 : 3;
}

// NaN equals nothing, itself included.
bool is_nan(const Value& value) {
  return value.kind() == Kind::kFloat && std::isnan(value.real());
}

// Comparisons nest as their values do, down to a limit.
Result<bool> equal_to(Heap& heap, const Value& a, const Value& b, int depth);

// Item by item; kinds differ where Python's types do.
Result<bool> equal_lists(Heap& heap, const List& a, const List& b, int depth) {
  if (&a == &b) return true;
  if (a.kind != b.kind && !(a.is_tuple() && b.is_tuple())) return false;
  if (a.kind == ListKind::kGenerator || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(const bool equal, equal_to(heap, a.items[i], b.items[i], depth + 1));
    if (!equal) return false;
  }
  return true;
}

// The same keys with equal values, in any order.
Result<bool> equal_dicts(Heap& heap, const Dict& a, const Dict& b, int depth) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  for (const Dict::Entry& entry : a.entries()) {
    const Value* other = b.find(entry.key);
    if (other == nullptr) return false;
    QUERN_ASSIGN_OR_RETURN(const bool equal, equal_to(heap, entry.value, *other, depth + 1));
    if (!equal) return false;
  }
  return true;
}

// Numbers by value across types, texts by their bytes; other types are unequal.
Result<bool> equal_to(Heap& heap, const Value& a, const Value& b, int depth) {
  if (depth > kMaxValueDepth) {
    return fail::invalid("A value nests over {} levels deep", kMaxValueDepth);
  }
  QUERN_TRY(heap.spend(1));
  if (a.is_number() && b.is_number()) {
    return !is_nan(a) && !is_nan(b) && compare_numbers(a, b) == 0;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      QUERN_TRY(heap.spend_scan(a.text().size()));
      return a.text() == b.text();
    case Kind::kList:
      return equal_lists(heap, a.list(), b.list(), depth);
    case Kind::kDict:
      return equal_dicts(heap, a.dict(), b.dict(), depth);
    default:
      return a.address() == b.address();
  }
}

// Errors: types without an order between them, as Python words them.
Result<bool> less_than(Heap& heap, const Value& a, const Value& b, int depth) {
  if (depth > kMaxValueDepth) {
    return fail::invalid("A value nests over {} levels deep", kMaxValueDepth);
  }
  QUERN_TRY(heap.spend(1));
  if (a.is_number() && b.is_number()) {
    return !is_nan(a) && !is_nan(b) && compare_numbers(a, b) < 0;
  }
  if (a.is_string() && b.is_string()) {
    QUERN_TRY(heap.spend_scan(a.text().size()));
    return a.text() < b.text();  // the order of bytes is that of code points
  }
  if (a.is_undefined()) return fail::invalid("{}", a.undefined_reason());
  if (b.is_undefined()) return fail::invalid("{}", b.undefined_reason());
  const bool are_sequences =
      a.is_list() && b.is_list() &&
      (a.list().kind == b.list().kind || (a.list().is_tuple() && b.list().is_tuple())) &&
      (a.list().is_tuple() || a.list().kind == ListKind::kList);
  if (!are_sequences) {
    return fail::invalid("Values of the types '{}' and '{}' have no order", type_name(a),
                         type_name(b));
  }
  const auto& left = a.list().items;
  const auto& right = b.list().items;
  for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(const bool equal, equal_to(heap, left[i], right[i], depth + 1));
    if (!equal) return less_than(heap, left[i], right[i], depth + 1);
  }
  return left.size() < right.size();
}

// What a generator shows on the way is gone.
Result<bool> list_contains(Heap& heap, List& list, const Value& item) {
  for (size_t i = list.cursor; i < list.items.size(); ++i) {
    if (list.kind == ListKind::kGenerator) list.cursor = i + 1;
    QUERN_ASSIGN_OR_RETURN(const bool equal, is_equal(heap, list.items[i], item));
    if (equal) return true;
  }
  return false;
}

// For `in`: keys that cannot be hashed are errors.
Result<bool> has_entry(Heap& heap, const Dict& dict, const Value& key) {
  QUERN_ASSIGN_OR_RETURN(const Value* value, find_entry(heap, dict, key));
  return value != nullptr;
}

}  // namespace

bool is_hashable(const Value& value) {
  return is_hashable_to(value, 0);
}

// Only for hashable values.
int compare_keys(const Value& a, const Value& b) {
  const int rank = key_rank(a);
  // Undefined and none have one value each: equal rank is equality.
  if (const int order = three_way(rank, key_rank(b)); order != 0 || rank <= 0) return order;
  if (rank == 1) return compare_numbers(a, b);
  if (rank == 2) return three_way(a.text(), b.text());
  const auto& left = a.list().items;
  const auto& right = b.list().items;
  for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
    if (const int order = compare_keys(left[i], right[i]); order != 0) return order;
  }
  return three_way(left.size(), right.size());
}

Result<bool> is_equal(Heap& heap, const Value& a, const Value& b) {
  return equal_to(heap, a, b, 0);
}

Result<bool> is_less(Heap& heap, const Value& a, const Value& b) {
  return less_than(heap, a, b, 0);
}

// Null where there is no such key. Errors: a key that cannot be one.
Result<const Value*> find_entry(Heap& heap, const Dict& dict, const Value& key) {
  if (!is_hashable(key)) {
    return fail::invalid("A value of type '{}' cannot be a key of a dict", type_name(key));
  }
  // A search compares with a few keys.
  if (key.is_string()) QUERN_TRY(heap.spend_scan(4 * key.text().size()));
  return dict.find(key);
}

// `in`: parts of texts, items of sequences, keys of dicts.
Result<bool> contains(Heap& heap, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kUndefined:
      return false;
    case Kind::kString:
      if (!item.is_string()) {
        return fail::invalid("'in' of a string needs a string on its left, not '{}'",
                             type_name(item));
      }
      QUERN_TRY(heap.spend_scan(container.text().size()));
      return container.text().find(item.text()) != std::string::npos;
    case Kind::kDict:
      return has_entry(heap, container.dict(), item);
    case Kind::kList:
      return list_contains(heap, container.list(), item);
    default:
      return fail::invalid("A value of type '{}' cannot be searched with 'in'",
                           type_name(container));
  }
}

}  // namespace quern::jinja
