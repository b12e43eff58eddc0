// Conversions between the stored types and what a caller asks for.
// Numbers are kept in the width of the file, so that writing gives the same bytes.
#include "formats/metadata_value.h"

#include <array>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/fail.h"

namespace quern {
namespace {

// A row for each type: its name in errors, and its bytes.
struct TypeFacts {
  std::string_view name;
  int bytes;
};

// In the order of MetadataType.
constexpr std::array<TypeFacts, kNumMetadataTypes> kTypes = {{{"u8", 1},
                                                              {"i8", 1},
                                                              {"u16", 2},
                                                              {"i16", 2},
                                                              {"u32", 4},
                                                              {"i32", 4},
                                                              {"u64", 8},
                                                              {"i64", 8},
                                                              {"f32", 4},
                                                              {"f64", 8},
                                                              {"bool", 1},
                                                              {"string", 0}}};

}  // namespace

// For errors.
std::string_view metadata_type_name(MetadataType type) {
  return kTypes[static_cast<size_t>(type)].name;
}

// Of one element; 0 for texts.
int metadata_type_bytes(MetadataType type) {
  return kTypes[static_cast<size_t>(type)].bytes;
}

// Copies the text.
MetadataValue MetadataValue::text(std::string_view value) {
  MetadataValue result;
  result.bytes_ = value;
  return result;
}

// End to end, with where each ends.
MetadataValue MetadataValue::texts(std::span<const std::string_view> values) {
  std::string bytes;
  std::vector<uint64_t> ends;
  ends.reserve(values.size());
  for (const std::string_view value : values) {
    bytes += value;
    ends.push_back(bytes.size());
  }
  return packed_texts(std::move(bytes), std::move(ends));
}

// Bytes of numbers in the host's order.
MetadataValue MetadataValue::packed(MetadataType type, bool is_array, std::string bytes) {
  const auto width = static_cast<size_t>(metadata_type_bytes(type));
  QUERN_CHECK(width > 0 && bytes.size() % width == 0);
  QUERN_CHECK(is_array || bytes.size() == width);
  MetadataValue result;
  result.type_ = type;
  result.is_array_ = is_array;
  result.bytes_ = std::move(bytes);
  return result;
}

// The same for texts.
MetadataValue MetadataValue::packed_texts(std::string bytes, std::vector<uint64_t> ends) {
  QUERN_CHECK((ends.empty() ? 0 : ends.back()) == bytes.size());
  MetadataValue result;
  result.is_array_ = true;
  result.bytes_ = std::move(bytes);
  result.ends_ = std::move(ends);
  return result;
}

// 1 for what is no array.
int64_t MetadataValue::size() const {
  if (!is_array_) return 1;
  if (type_ == MetadataType::kString) return static_cast<int64_t>(ends_.size());
  return static_cast<int64_t>(bytes_.size()) / metadata_type_bytes(type_);
}

// "u32", "array of string".
std::string MetadataValue::type_name() const {
  return fmt::format("{}{}", is_array_ ? "array of " : "", metadata_type_name(type_));
}

Result<void> MetadataValue::check_index(int64_t i) const {
  if (i >= 0 && i < size()) return {};
  return fail::invalid("has {} elements; element {} is needed", size(), i);
}

// Errors: no integer, past 64 bits, or outside the array.
Result<int64_t> MetadataValue::integer_at(int64_t i) const {
  QUERN_TRY(check_index(i));
  switch (type_) {
    case MetadataType::kUint8:
      return load<uint8_t>(i);
    case MetadataType::kInt8:
      return load<int8_t>(i);
    case MetadataType::kUint16:
      return load<uint16_t>(i);
    case MetadataType::kInt16:
      return load<int16_t>(i);
    case MetadataType::kUint32:
      return load<uint32_t>(i);
    case MetadataType::kInt32:
      return load<int32_t>(i);
    case MetadataType::kInt64:
      return load<int64_t>(i);
    case MetadataType::kUint64: {
      const auto value = load<uint64_t>(i);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return fail::invalid("holds {}; the limit is 2^63 - 1", value);
      }
      return static_cast<int64_t>(value);
    }
    default:
      return fail::invalid("is of type {}; an integer is needed", type_name());
  }
}

// Integers are numbers too.
Result<double> MetadataValue::number_at(int64_t i) const {
  QUERN_TRY(check_index(i));
  switch (type_) {
    case MetadataType::kFloat32:
      return load<float>(i);
    case MetadataType::kFloat64:
      return load<double>(i);
    case MetadataType::kUint64:
      return static_cast<double>(load<uint64_t>(i));
    case MetadataType::kBool:
    case MetadataType::kString:
      return fail::invalid("is of type {}; a number is needed", type_name());
    default: {
      QUERN_ASSIGN_OR_RETURN(const int64_t value, integer_at(i));
      return static_cast<double>(value);
    }
  }
}

// Integers that are 0 or 1 too: some writers have no bool.
Result<bool> MetadataValue::bool_at(int64_t i) const {
  QUERN_TRY(check_index(i));
  if (type_ == MetadataType::kBool) return load<uint8_t>(i) != 0;
  const auto value = integer_at(i);
  if (!value) return fail::invalid("is of type {}; a bool is needed", type_name());
  if (*value != 0 && *value != 1) return fail::invalid("holds {}; a bool is needed", *value);
  return *value == 1;
}

// Any bytes: UTF-8 is up to whoever shows it.
Result<std::string_view> MetadataValue::text_at(int64_t i) const {
  if (type_ != MetadataType::kString) {
    return fail::invalid("is of type {}; a string is needed", type_name());
  }
  QUERN_TRY(check_index(i));
  if (!is_array_) return std::string_view(bytes_);
  const auto index = static_cast<size_t>(i);
  //   bytes_  b a n a n a f i g        ends_  6 6 9: "banana", "", "fig"
  const size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(bytes_).substr(begin, ends_[index] - begin);
}

}  // namespace quern
