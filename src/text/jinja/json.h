// Values from JSON and to JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "quern/error.h"
#include "text/jinja/heap.h"

namespace quern::jinja {

// Integers past 64 bits become floats. Errors: kInvalidArgument where the JSON nests over
// kMaxValueDepth levels deep, kResourceExhausted.
Result<Value> from_json(Heap& heap, const nlohmann::ordered_json& json);

// How append_json() lays out a value. A plain value; the defaults are those of Python's json.dumps.
struct JsonOptions {
  bool is_ascii = false;  // other characters as \u escapes
  bool sorts_keys = false;
  std::optional<std::string> indent;  // of one level; absent: all on one line
  // Between items, and between a key and its value.
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// Appends the value as Python's json.dumps writes it. Errors: kInvalidArgument (the value holds
// something that JSON cannot, or nests too deeply), kResourceExhausted.
Result<void> append_json(Heap& heap, const Value& value, const JsonOptions& options,
                         std::string& out);

}  // namespace quern::jinja
