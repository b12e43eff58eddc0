// One value of a model file's key-value store: a number, a bool, a text, or an array of one type.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "quern/error.h"

namespace quern {

// The width is kept so that a file can be written back as it was.
enum class MetadataType : uint8_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat32,
  kFloat64,
  kBool,
  kString,
};
// Types of GGUF, arrays apart.
inline constexpr int kNumMetadataTypes = static_cast<int>(MetadataType::kString) + 1;

std::string_view metadata_type_name(MetadataType type);  // "u8", ..., "f64", "bool", "string"
// Bytes of a number or bool; 0 for strings.
int metadata_type_bytes(MetadataType type);

// Types that numbers can be made of.
template <class T>
concept MetadataNumber = std::same_as<T, uint8_t> || std::same_as<T, int8_t> ||
    std::same_as<T, uint16_t> || std::same_as<T, int16_t> || std::same_as<T, uint32_t> ||
    std::same_as<T, int32_t> || std::same_as<T, uint64_t> || std::same_as<T, int64_t> ||
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bool>;

// The MetadataType of T.
template <MetadataNumber T>
constexpr MetadataType metadata_type_of() {
  if constexpr (std::same_as<T, bool>)
    return MetadataType::kBool;
  else if constexpr (std::same_as<T, float>)
    return MetadataType::kFloat32;
  else if constexpr (std::same_as<T, double>)
    return MetadataType::kFloat64;
  else {  // kUint8, kInt8, kUint16, ...: by width, unsigned first
    constexpr int width_index = sizeof(T) == 8 ? 3 : sizeof(T) / 2;
    return static_cast<MetadataType>(2 * width_index + (std::is_signed_v<T> ? 1 : 0));
  }
}

// A plain value. A scalar is held as an array of one. Numbers are packed in host order; texts lie
// end to end in one block, so that a vocabulary costs two allocations. Thread-compatible.
class MetadataValue {
 public:
  MetadataValue() = default;  // an empty string
  // A number, or an array of them.
  template <MetadataNumber T>
  static MetadataValue number(T value) {
    return packed(metadata_type_of<T>(), false, bytes_of(std::span<const T>(&value, 1)));
  }
  template <MetadataNumber T>
  static MetadataValue numbers(std::span<const T> values) {
    return packed(metadata_type_of<T>(), true, bytes_of(values));
  }
  // A text, or an array of them.
  static MetadataValue text(std::string_view value);
  static MetadataValue texts(std::span<const std::string_view> values);
  // `bytes` holds whole elements of a number or bool type in host order; bools are 0 or 1.
  static MetadataValue packed(MetadataType type, bool is_array, std::string bytes);
  // Text i is bytes [ends[i - 1], ends[i]); the ends ascend and the last is bytes.size().
  static MetadataValue packed_texts(std::string bytes, std::vector<uint64_t> ends);

  MetadataType type() const { return type_; }  // of the elements
  // One element is not an array of one.
  bool is_array() const { return is_array_; }
  int64_t size() const;           // 1 for a scalar
  std::string type_name() const;  // "u32", "array of string"

  // Element i, 0 <= i < size(). Integers: any integer type or width; numbers: floats too;
  // bools: also integers that are 0 or 1; texts: strings only.
  // Errors: kInvalidArgument, with text that continues "<name of the value> ...".
  Result<int64_t> integer_at(int64_t i) const;
  // Errors: kInvalidArgument for another type, or for an element that is not there.
  Result<double> number_at(int64_t i) const;
  Result<bool> bool_at(int64_t i) const;
  Result<std::string_view> text_at(int64_t i) const;

  // Numbers: packed host order. Strings: end to end.
  std::string_view bytes() const { return bytes_; }
  bool operator==(const MetadataValue&) const = default;

 private:
  // Errors: an element that is not there.
  Result<void> check_index(int64_t i) const;
  // Bytes of one element.
  template <class T>
  static std::string bytes_of(std::span<const T> values) {
    std::string bytes(values.size_bytes(), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), values.size_bytes());
    return bytes;
  }
  template <class T>
  T load(int64_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }

  // Of the elements.
  MetadataType type_ = MetadataType::kString;
  bool is_array_ = false;
  std::string bytes_;
  std::vector<uint64_t> ends_;  // of the texts of an array; empty otherwise
};

}  // namespace quern
