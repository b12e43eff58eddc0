// Varints and fixed numbers, little-endian on the wire.
// Lengths are compared with what is left before they are used.
#include "formats/onnx/wire_reader.h"

#include <bit>

#include "base/fail.h"

namespace quern::onnx {
namespace {

// Of one to eight bytes.
uint64_t little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i)
    value = value << 8 | std::to_integer<uint64_t>(bytes[i - 1]);
  return value;
}

}  // namespace

// Bits of the number as floats.
float WireField::f32() const {
  return std::bit_cast<float>(static_cast<uint32_t>(number));
}
double WireField::f64() const {
  return std::bit_cast<double>(number);
}

// Seven bits a byte, lowest first. Errors: over ten bytes, or the end.
Result<uint64_t> WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty())
      return fail::data_loss("The message ends inside a number at byte {}.", size_);
    const auto byte = std::to_integer<uint64_t>(rest_.front());
    rest_ = rest_.subspan(1);
    // The tenth byte holds the last bit of 64.
    if (shift == 63 && byte > 1) break;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return fail::invalid("The message has a number of more than 64 bits before byte {}.", offset());
}

// Errors: the end.
Result<uint64_t> WireReader::fixed(size_t width) {
  if (rest_.size() < width)
    return fail::data_loss("The message ends inside a number at byte {}.", size_);
  const uint64_t value = little_endian(rest_.first(width));
  rest_ = rest_.subspan(width);
  return value;
}

// Tag, then value. Errors: group types and tag 0, which no message has.
Result<WireField> WireReader::next() {
  QUERN_ASSIGN_OR_RETURN(const uint64_t key, varint());
  WireField field;
  if (key >> 3 == 0 || key >> 3 > 0x1fffffff) {
    return fail::invalid("The message has a field numbered {} before byte {}.", key >> 3, offset());
  }
  field.tag = static_cast<uint32_t>(key >> 3);
  field.type = static_cast<WireType>(key & 7);
  switch (field.type) {
    case WireType::kVarint: {
      QUERN_ASSIGN_OR_RETURN(field.number, varint());
      return field;
    }
    case WireType::kFixed64: {
      QUERN_ASSIGN_OR_RETURN(field.number, fixed(8));
      return field;
    }
    case WireType::kFixed32: {
      QUERN_ASSIGN_OR_RETURN(field.number, fixed(4));
      return field;
    }
    case WireType::kBytes: {
      QUERN_ASSIGN_OR_RETURN(const uint64_t size, varint());
      if (size > rest_.size()) {
        return fail::data_loss("Field {} has {} bytes; {} remain.", field.tag, size, rest_.size());
      }
      field.bytes = rest_.first(static_cast<size_t>(size));
      rest_ = rest_.subspan(static_cast<size_t>(size));
      return field;
    }
  }
  return fail::invalid("Field {} has the wire type {}, which is not used.", field.tag, key & 7);
}

// Packed or one by one: writers may choose.
Result<void> append_integers(const WireField& field, std::vector<int64_t>& values) {
  if (field.type == WireType::kVarint) {
    values.push_back(field.integer());
    return {};
  }
  if (field.type != WireType::kBytes)
    return fail::invalid("Field {} holds no integers.", field.tag);
  // A packed run has no tags: each number is read as the value of a field without one.
  WireReader run(field.bytes);
  while (!run.is_at_end()) {
    const auto value = run.varint();
    if (!value)
      return tl::unexpected(value.error().with_context(fmt::format("Field {}", field.tag)));
    values.push_back(static_cast<int64_t>(*value));
  }
  return {};
}

Result<void> append_floats(const WireField& field, std::vector<float>& values) {
  if (field.type == WireType::kFixed32) {
    values.push_back(field.f32());
    return {};
  }
  if (field.type != WireType::kBytes || field.bytes.size() % 4 != 0) {
    return fail::invalid("Field {} holds no whole f32 numbers.", field.tag);
  }
  for (size_t i = 0; i < field.bytes.size(); i += 4) {
    values.push_back(
        std::bit_cast<float>(static_cast<uint32_t>(little_endian(field.bytes.subspan(i, 4)))));
  }
  return {};
}

Result<void> append_doubles(const WireField& field, std::vector<double>& values) {
  if (field.type == WireType::kFixed64) {
    values.push_back(field.f64());
    return {};
  }
  if (field.type != WireType::kBytes || field.bytes.size() % 8 != 0) {
    return fail::invalid("Field {} holds no whole f64 numbers.", field.tag);
  }
  for (size_t i = 0; i < field.bytes.size(); i += 8) {
    values.push_back(std::bit_cast<double>(little_endian(field.bytes.subspan(i, 8))));
  }
  return {};
}

}  // namespace quern::onnx
