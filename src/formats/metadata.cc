// Lookups with the type wanted.
// Every successful look-up marks the key as read: what nobody reads may change what the model
// computes.
#include "formats/metadata.h"

#include <utility>

#include "base/fail.h"

namespace quern {
namespace {

// The key before an error of its value.
tl::unexpected<Error> about(std::string_view key, const Error& error) {
  return fail::with(error.code, "Metadata key '{}' {}.", key, error.message);
}

// "... is of type ...; it must be ...".
tl::unexpected<Error> wrong_type(std::string_view key, const MetadataValue& value,
                                 std::string_view wanted) {
  return fail::invalid("Metadata key '{}' is of type {}; {} is needed.", key, value.type_name(),
                       wanted);
}

// Elements of any value, in order.
template <class T>
Result<std::vector<T>> elements(std::string_view key, const MetadataValue& value,
                                Result<T> (MetadataValue::*get)(int64_t) const) {
  std::vector<T> result;
  result.reserve(static_cast<size_t>(value.size()));
  for (int64_t i = 0; i < value.size(); ++i) {
    const auto element = (value.*get)(i);
    if (!element) return about(key, element.error());
    result.push_back(*element);
  }
  return result;
}

}  // namespace

// Errors: the key is there.
Result<void> Metadata::add(std::string key, MetadataValue value) {
  const auto [place, is_new] = index_.try_emplace(key, entries_.size());
  if (!is_new) return fail::invalid("Metadata key '{}' occurs twice.", key);
  entries_.push_back({std::move(key), std::move(value), {}});
  return {};
}

// Adds or replaces.
void Metadata::set(std::string key, MetadataValue value) {
  const auto found = index_.find(key);
  if (found != index_.end()) {
    entries_[found->second].value = std::move(value);
    return;
  }
  index_.emplace(key, entries_.size());
  entries_.push_back({std::move(key), std::move(value), {}});
}

// Without a note that it was read.
const MetadataValue* Metadata::peek(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second].value;
}

// Notes it, for unread_keys().
const MetadataValue* Metadata::find(std::string_view key) const {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  const Entry& entry = entries_[found->second];
  entry.was_read.is_set.store(true, std::memory_order_relaxed);
  return &entry.value;
}

// Errors: kNotFound, saying what was wanted.
Result<const MetadataValue*> Metadata::require(std::string_view key,
                                               std::string_view wanted) const {
  const MetadataValue* value = find(key);
  if (value == nullptr) {
    return fail::not_found("Metadata key '{}' is absent; {} is needed.", key, wanted);
  }
  return value;
}

// Typed access: one of the type, one with a fallback, lists.
template <class T>
Result<T> Metadata::scalar(std::string_view key, std::string_view wanted, Getter<T> get) const {
  QUERN_ASSIGN_OR_RETURN(const MetadataValue* value, require(key, wanted));
  if (value->is_array()) return wrong_type(key, *value, wanted);
  auto element = (value->*get)(0);
  if (!element) return about(key, element.error());
  return element;
}

template <class T>
Result<std::vector<T>> Metadata::array(std::string_view key, std::string_view wanted,
                                       Getter<T> get) const {
  QUERN_ASSIGN_OR_RETURN(const MetadataValue* value, require(key, wanted));
  if (!value->is_array()) return wrong_type(key, *value, wanted);
  return elements(key, *value, get);
}

template <class T>
Result<std::vector<T>> Metadata::per_layer(std::string_view key, std::string_view wanted,
                                           int64_t num_layers, Getter<T> get) const {
  QUERN_ASSIGN_OR_RETURN(const MetadataValue* value, require(key, wanted));
  // An array of another length belongs to another model: repeating or cutting it would compute
  // something that nobody trained.
  if (value->is_array() && value->size() != num_layers) {
    return fail::invalid("Metadata key '{}' holds {} values; the model has {} layers.", key,
                         value->size(), num_layers);
  }
  QUERN_ASSIGN_OR_RETURN(auto values, elements(key, *value, get));
  if (!value->is_array()) return std::vector<T>(static_cast<size_t>(num_layers), values[0]);
  return values;
}

// Any integer type; booleans are none. Errors: wrong types and numbers past 64 bits, with the key.
Result<int64_t> Metadata::integer(std::string_view key) const {
  return scalar(key, "an integer", &MetadataValue::integer_at);
}
Result<int64_t> Metadata::integer_or(std::string_view key, int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}
// Integers too.
Result<double> Metadata::number(std::string_view key) const {
  return scalar(key, "a number", &MetadataValue::number_at);
}
Result<double> Metadata::number_or(std::string_view key, double fallback) const {
  return has(key) ? number(key) : fallback;
}
Result<bool> Metadata::boolean(std::string_view key) const {
  return scalar(key, "a bool", &MetadataValue::bool_at);
}
Result<bool> Metadata::boolean_or(std::string_view key, bool fallback) const {
  return has(key) ? boolean(key) : fallback;
}
Result<std::string_view> Metadata::text(std::string_view key) const {
  return scalar(key, "a string", &MetadataValue::text_at);
}
Result<std::string_view> Metadata::text_or(std::string_view key, std::string_view fallback) const {
  return has(key) ? text(key) : fallback;
}

// Arrays only, of any length: a single value is of a wrong type here, other than per layer.
Result<std::vector<int64_t>> Metadata::integers(std::string_view key) const {
  return array(key, "an array of integers", &MetadataValue::integer_at);
}
Result<std::vector<double>> Metadata::numbers(std::string_view key) const {
  return array(key, "an array of numbers", &MetadataValue::number_at);
}
Result<std::vector<bool>> Metadata::booleans(std::string_view key) const {
  return array(key, "an array of bools", &MetadataValue::bool_at);
}

// A view; no text is copied.
Result<TextArray> Metadata::texts(std::string_view key) const {
  QUERN_ASSIGN_OR_RETURN(const MetadataValue* value, require(key, "an array of strings"));
  if (!value->is_array() || value->type() != MetadataType::kString) {
    return wrong_type(key, *value, "an array of strings");
  }
  return TextArray(value);
}

// One value for all layers, or one for each. Errors: another number of values.
Result<std::vector<int64_t>> Metadata::integers_per_layer(std::string_view key,
                                                          int64_t num_layers) const {
  return per_layer(key, "an integer or an array of integers", num_layers,
                   &MetadataValue::integer_at);
}
Result<std::vector<double>> Metadata::numbers_per_layer(std::string_view key,
                                                        int64_t num_layers) const {
  return per_layer(key, "a number or an array of numbers", num_layers, &MetadataValue::number_at);
}
Result<std::vector<bool>> Metadata::booleans_per_layer(std::string_view key,
                                                       int64_t num_layers) const {
  return per_layer(key, "a bool or an array of bools", num_layers, &MetadataValue::bool_at);
}

// Keys that nothing asked for: a reader that ignores one may compute something else.
std::vector<std::string> Metadata::unread_keys(std::string_view prefix) const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries_) {
    const bool was_read = entry.was_read.is_set.load(std::memory_order_relaxed);
    if (!was_read && entry.key.starts_with(prefix)) keys.push_back(entry.key);
  }
  return keys;
}

bool Metadata::operator==(const Metadata& other) const {
  if (size() != other.size()) return false;
  for (int64_t i = 0; i < size(); ++i) {
    if (key(i) != other.key(i) || value(i) != other.value(i)) return false;
  }
  return true;
}

}  // namespace quern
