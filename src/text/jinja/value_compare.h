// Equality and order of values.
#pragma once

#include "quern/error.h"
#include "text/jinja/value.h"

namespace quern::jinja {

class Heap;

// Whether a value can be a key: undefined, none, booleans, numbers, strings and
// shallow tuples of them.
bool is_hashable(const Value& value);
// A total order of the hashable values; 0 where two are the same key.
int compare_keys(const Value& a, const Value& b);

// Errors: kInvalidArgument where the values nest too deeply, kResourceExhausted.
Result<bool> is_equal(Heap& heap, const Value& a, const Value& b);

// a < b of numbers, strings and sequences; NaN is below nothing.
// Errors: kInvalidArgument where Python has no order of the two types, and as above.
Result<bool> is_less(Heap& heap, const Value& a, const Value& b);

// The value of a key, nullptr where there is none. Errors: kInvalidArgument (not hashable).
Result<const Value*> find_entry(Heap& heap, const Dict& dict, const Value& key);

// Whether `item` is in a sequence, among the keys of a dict or a part of a string.
Result<bool> contains(Heap& heap, const Value& container, const Value& item);

}  // namespace quern::jinja
