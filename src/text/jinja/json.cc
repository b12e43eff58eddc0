// JSON in both directions.
// Floats print the shortest digits that read back, as Python does it.
#include "text/jinja/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fail.h"
#include "text/jinja/sorting.h"
#include "text/jinja/value_text.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// Objects become dicts, in the order of the source. Errors: nested too deeply, numbers past 64
// bits.
Result<Value> convert(Heap& heap, const nlohmann::ordered_json& json, int depth) {
  using Type = nlohmann::ordered_json::value_t;
  if (depth > kMaxValueDepth) {
    return fail::invalid("The JSON nests over {} levels deep", kMaxValueDepth);
  }
  QUERN_TRY(heap.spend(1));
  switch (json.type()) {
    case Type::boolean:
      return Value::boolean(json.get<bool>());
    case Type::number_integer:
      return Value::integer(json.get<int64_t>());
    case Type::number_unsigned: {
      const auto number = json.get<uint64_t>();
      // Python's integers have no limit; here what passes 64 bits is the nearest float.
      if (number > static_cast<uint64_t>(INT64_MAX)) return Value::real(json.get<double>());
      return Value::integer(static_cast<int64_t>(number));
    }
    case Type::number_float:
      return Value::real(json.get<double>());
    case Type::string:
      QUERN_TRY(heap.reserve(json.get_ref<const std::string&>().size()));
      return heap.text(json.get_ref<const std::string&>());
    case Type::array: {
      QUERN_TRY(heap.reserve_items(json.size()));
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& element : json) {
        QUERN_ASSIGN_OR_RETURN(const Value item, convert(heap, element, depth + 1));
        items.push_back(item);
      }
      return heap.list(std::move(items));
    }
    case Type::object: {
      const Value dict = heap.dict();
      for (const auto& [key, element] : json.items()) {
        QUERN_ASSIGN_OR_RETURN(const Value value, convert(heap, element, depth + 1));
        QUERN_TRY(heap.set(dict.dict(), heap.text(key), value));
      }
      return dict;
    }
    default:
      return Value::none();
  }
}

// Writes values as Python's json.dumps does. One object, one text.
class JsonWriter {
 public:
  JsonWriter(Heap& heap, const JsonOptions& options, std::string& out)
      : heap_(heap), options_(options), out_(out) {}

  // `depth` is that of the value, for indentation and for the limit.
  Result<void> write(const Value& value, int depth) {
    if (depth > kMaxValueDepth) {
      return fail::invalid("A value nests over {} levels deep", kMaxValueDepth);
    }
    const size_t begin = out_.size();
    QUERN_TRY(write_value(value, depth));
    QUERN_TRY(heap_.spend_scan(out_.size() - begin));
    return heap_.reserve(out_.size());
  }

 private:
  // Errors: kInvalidArgument for values that JSON has not, by their type.
  Result<void> write_value(const Value& value, int depth) {
    switch (value.kind()) {
      case Kind::kNone:
        out_ += "null";
        return {};
      case Kind::kBool:
        out_ += value.truth() ? "true" : "false";
        return {};
      case Kind::kInt:
        out_ += std::to_string(value.integer());
        return {};
      case Kind::kFloat:
        write_float(value.real());
        return {};
      case Kind::kString:
        return write_string(value.text());
      case Kind::kList:
        if (value.list().is_tuple() || value.list().kind == ListKind::kList) {
          return write_list(value.list(), depth);
        }
        break;
      case Kind::kDict:
        return write_dict(value.dict(), depth);
      default:
        break;
    }
    if (value.is_undefined()) {
      return fail::invalid("{}, and JSON has no undefined value", value.undefined_reason());
    }
    return fail::invalid("A value of type '{}' cannot be written as JSON", type_name(value));
  }

  // The shortest digits that read back; NaN and Infinity as Python writes them.
  void write_float(double number) {
    if (std::isnan(number)) {
      out_ += "NaN";
    } else if (std::isinf(number)) {
      out_ += number > 0 ? "Infinity" : "-Infinity";
    } else {
      out_ += float_text(number);
    }
  }

  // Escapes as ensure_ascii asks, or only what JSON demands.
  Result<void> write_string(std::string_view text) {
    QUERN_TRY(heap_.reserve(out_.size() + 6 * text.size()));
    QUERN_TRY(heap_.spend_characters(text.size()));
    out_ += '"';
    while (!text.empty()) {
      const Utf8Step step = decode_utf8(text);
      // DEL (0x7F) too: Python's ensure_ascii escapes all but the blank to '~'.
      const bool is_escaped = options_.is_ascii && step.code_point > 0x7E;
      if (step.code_point >= ' ' && step.code_point != '"' && step.code_point != '\\' &&
          !is_escaped) {
        out_ += text.substr(0, step.size);
      } else {
        write_escape(step.code_point);
      }
      text.remove_prefix(step.size);
    }
    out_ += '"';
    return {};
  }

  // \uXXXX, in two halves past the basic plane.
  void write_escape(uint32_t code_point) {
    constexpr std::string_view kPlain = "\"\\\n\r\t\f\b";
    constexpr std::string_view kNames = "\"\\nrtfb";
    const size_t simple =
        code_point < 0x80 ? kPlain.find(static_cast<char>(code_point)) : std::string_view::npos;
    if (simple != std::string_view::npos) {
      out_ += '\\';
      out_ += kNames[simple];
    } else if (code_point < 0x10000) {
      out_ += fmt::format("\\u{:04x}", code_point);
    } else {
      const uint32_t rest = code_point - 0x10000;
      // 20 bits in two halves of 10, by UTF-16.
      out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    }
  }

  // A line break and the indentation, where one was asked for.
  Result<void> begin_line(int depth) {
    if (!options_.indent) return {};
    const auto levels = static_cast<size_t>(depth);
    QUERN_TRY(heap_.reserve(out_.size() + levels * options_.indent->size()));
    QUERN_TRY(heap_.spend_scan(levels * options_.indent->size()));
    out_ += '\n';
    for (size_t i = 0; i < levels; ++i) out_ += *options_.indent;
    return {};
  }

  // The separator before all items but the first.
  Result<void> begin_item(bool is_first, int depth) {
    if (!is_first) {
      QUERN_TRY(heap_.reserve(out_.size() + options_.item_separator.size()));
      QUERN_TRY(heap_.spend_scan(options_.item_separator.size()));
      out_ += options_.item_separator;
    }
    return begin_line(depth);
  }

  // Tuples and other sequences are lists.
  Result<void> write_list(const List& list, int depth) {
    out_ += '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      QUERN_TRY(begin_item(i == 0, depth + 1));
      QUERN_TRY(write(list.items[i], depth + 1));
    }
    if (!list.items.empty()) QUERN_TRY(begin_line(depth));
    out_ += ']';
    return {};
  }

  // Indices of the entries as they are written: sorted by key, or as inserted.
  Result<std::vector<size_t>> order_of(const Dict& dict) {
    std::vector<Value> keys;
    for (const Dict::Entry& entry : dict.entries()) keys.push_back(entry.key);
    if (options_.sorts_keys) return sorted_order(heap_, keys);
    std::vector<size_t> order(keys.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    return order;
  }

  // Keys must be texts, numbers, booleans or none, as in Python.
  Result<void> write_dict(const Dict& dict, int depth) {
    out_ += '{';
    QUERN_ASSIGN_OR_RETURN(const std::vector<size_t> order, order_of(dict));
    for (size_t i = 0; i < order.size(); ++i) {
      const Dict::Entry& entry = dict.entries()[order[i]];
      QUERN_TRY(begin_item(i == 0, depth + 1));
      QUERN_TRY(write_key(entry.key, depth + 1));
      QUERN_TRY(heap_.reserve(out_.size() + options_.key_separator.size()));
      QUERN_TRY(heap_.spend_scan(options_.key_separator.size()));
      out_ += options_.key_separator;
      QUERN_TRY(write(entry.value, depth + 1));
    }
    if (!order.empty()) QUERN_TRY(begin_line(depth));
    out_ += '}';
    return {};
  }

  // Keys that are no texts are written as texts.
  Result<void> write_key(const Value& key, int depth) {
    if (key.is_string()) return write_string(key.text());
    if (key.is_list()) return fail::invalid("A tuple cannot be a key in JSON");
    out_ += '"';
    QUERN_TRY(write(key, depth));
    out_ += '"';
    return {};
  }

  Heap& heap_;
  const JsonOptions& options_;
  std::string& out_;
};

}  // namespace

// The value of a whole document.
Result<Value> from_json(Heap& heap, const nlohmann::ordered_json& json) {
  return convert(heap, json, 0);
}

// Appended to `out` within the limits of the heap.
Result<void> append_json(Heap& heap, const Value& value, const JsonOptions& options,
                         std::string& out) {
  return JsonWriter(heap, options, out).write(value, 0);
}

}  // namespace quern::jinja
