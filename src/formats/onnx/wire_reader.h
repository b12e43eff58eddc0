// Protocol Buffers' wire format, read field by field from bytes that nobody has checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"

namespace quern::onnx {

//   field = varint (number << 3 | wire type), then
//     0 varint: 7 bits a byte, low first, top bit "more follows"    2 bytes: varint size, bytes
//     1 fixed:  8 bytes                                             5 fixed: 4 bytes
// From the encoding guide of Protocol Buffers.

// How a field lies in the bytes; groups (3 and 4) are not used by ONNX and are refused.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field of a message. `number` holds varints and fixed numbers, `bytes` length-delimited data.
struct WireField {
  uint32_t tag = 0;  // the field's number
  // Which of the members counts.
  WireType type = WireType::kVarint;
  uint64_t number = 0;
  std::span<const std::byte> bytes;

  // The number as the field's description wants it.
  int64_t integer() const { return static_cast<int64_t>(number); }
  float f32() const;
  double f64() const;
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// Walks the fields of one message in the order of the bytes. Nothing is copied or allocated.
class WireReader {
 public:
  // Borrows the message.
  explicit WireReader(std::span<const std::byte> message) : rest_(message), size_(message.size()) {}

  // Between fields.
  bool is_at_end() const { return rest_.empty(); }
  // Errors: kDataLoss where the message ends inside a field, kInvalidArgument for a malformed one.
  Result<WireField> next();
  // A number alone, as packed runs hold them. Errors: those of next(), naming the offset.
  Result<uint64_t> varint();

 private:
  Result<uint64_t> fixed(size_t width);
  size_t offset() const { return size_ - rest_.size(); }

  std::span<const std::byte> rest_;
  size_t size_;
};

// Appends the numbers of a repeated field, which may be packed (one run of bytes) or single.
Result<void> append_integers(const WireField& field, std::vector<int64_t>& values);
// The same for floats.
Result<void> append_floats(const WireField& field, std::vector<float>& values);
Result<void> append_doubles(const WireField& field, std::vector<double>& values);

}  // namespace quern::onnx
