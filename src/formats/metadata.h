// The typed key-value store of a model file, whatever the file format.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata_value.h"
#include "quern/error.h"

namespace quern {

// A borrowed array of texts; valid while the Metadata that gave it is.
class TextArray {
 public:
  // Borrows the value.
  explicit TextArray(const MetadataValue* value) : value_(value) {}
  int64_t size() const { return value_->size(); }
  // 0 <= i < size().
  std::string_view operator[](int64_t i) const { return *value_->text_at(i); }

 private:
  // In the metadata, which must outlive the view.
  const MetadataValue* value_;
};

// Keys in the order they were added, each once. Lookups are lenient about widths and signedness of
// integers, since files are. A key that is present with a wrong type is an error, never ignored;
// `_or` variants return the fallback only when the key is absent. Errors name the key, the type
// found and the type wanted: kNotFound (absent), kInvalidArgument (wrong type or count).
//
// Each lookup but peek() and has() records that the key was read, so that a loader can refuse keys
// that would change the result and were not honoured. Copies carry the record.
// Thread-compatible: lookups may run at the same time.
class Metadata {
 public:
  // Errors: kInvalidArgument when the key exists.
  Result<void> add(std::string key, MetadataValue value);
  // Adds or replaces.
  void set(std::string key, MetadataValue value);

  // Not a note that it was read.
  bool has(std::string_view key) const { return index_.contains(key); }
  // Null when absent. peek() leaves no trace in the record of keys read.
  const MetadataValue* peek(std::string_view key) const;
  // Null where there is none.
  const MetadataValue* find(std::string_view key) const;

  // Errors: kNotFound without the key, kInvalidArgument for another type; both name the key.
  Result<int64_t> integer(std::string_view key) const;
  Result<int64_t> integer_or(std::string_view key, int64_t fallback) const;
  Result<double> number(std::string_view key) const;
  Result<double> number_or(std::string_view key, double fallback) const;
  Result<bool> boolean(std::string_view key) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  Result<std::string_view> text(std::string_view key) const;
  Result<std::string_view> text_or(std::string_view key, std::string_view fallback) const;

  // Arrays of any length.
  Result<std::vector<int64_t>> integers(std::string_view key) const;
  Result<std::vector<double>> numbers(std::string_view key) const;
  Result<std::vector<bool>> booleans(std::string_view key) const;
  Result<TextArray> texts(std::string_view key) const;

  // `num_layers` values from an array of that length, or a scalar repeated.
  Result<std::vector<int64_t>> integers_per_layer(std::string_view key, int64_t num_layers) const;
  // A value for each layer, of a list or of one value for all.
  Result<std::vector<double>> numbers_per_layer(std::string_view key, int64_t num_layers) const;
  Result<std::vector<bool>> booleans_per_layer(std::string_view key, int64_t num_layers) const;

  // In the order of the file.
  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  // i-th key in order of addition, 0 <= i < size().
  const std::string& key(int64_t i) const { return entries_[static_cast<size_t>(i)].key; }
  const MetadataValue& value(int64_t i) const { return entries_[static_cast<size_t>(i)].value; }
  // Keys that begin with `prefix` and were not read, in order of addition.
  std::vector<std::string> unread_keys(std::string_view prefix) const;
  // Same keys and values in the same order; what was read does not count.
  bool operator==(const Metadata& other) const;

 private:
  // An atomic flag that copies as a plain value.
  struct ReadMark {
    // Set by reading, which does not change what the metadata are: copies keep the mark.
    mutable std::atomic<bool> is_set = false;
    ReadMark() = default;
    ReadMark(const ReadMark& other) : is_set(other.is_set.load(std::memory_order_relaxed)) {}
    ReadMark& operator=(const ReadMark& other) {
      is_set.store(other.is_set.load(std::memory_order_relaxed), std::memory_order_relaxed);
      return *this;
    }
  };
  // A key with its value.
  struct Entry {
    std::string key;
    MetadataValue value;
    ReadMark was_read;
  };

  Result<const MetadataValue*> require(std::string_view key, std::string_view wanted) const;
  template <class T>
  using Getter = Result<T> (MetadataValue::*)(int64_t) const;
  template <class T>
  Result<T> scalar(std::string_view key, std::string_view wanted, Getter<T> get) const;
  template <class T>
  Result<std::vector<T>> array(std::string_view key, std::string_view wanted, Getter<T> get) const;
  template <class T>
  Result<std::vector<T>> per_layer(std::string_view key, std::string_view wanted,
                                   int64_t num_layers, Getter<T> get) const;

  // In the order of the file; the index is by key.
  std::vector<Entry> entries_;
  // A tree, not a hash table: keys come from files, and nobody can make it slow.
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace quern
