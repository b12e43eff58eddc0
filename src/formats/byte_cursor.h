// Reads numbers of a stated byte order from bytes that nobody has checked.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace quern {

// Every take_ function returns false, and moves nothing, when too few bytes remain.
class ByteCursor {
 public:
  // Borrows the bytes.
  explicit ByteCursor(std::span<const std::byte> bytes, std::endian order = std::endian::little)
      : bytes_(bytes), order_(order) {}

  // Bytes taken, and bytes left.
  size_t offset() const { return offset_; }
  size_t remaining() const { return bytes_.size() - offset_; }
  std::endian order() const { return order_; }

  // The next number in the file's byte order. False where too few bytes are left; nothing is taken
  // then.
  template <class T>
  bool take_number(T& value) {
    if (remaining() < sizeof(T)) return false;
    // Copied first: fields of a file may lie at any address.
    std::array<std::byte, sizeof(T)> raw;
    std::memcpy(raw.data(), bytes_.data() + offset_, sizeof(T));
    if (order_ != std::endian::native) std::ranges::reverse(raw);
    value = std::bit_cast<T>(raw);
    offset_ += sizeof(T);
    return true;
  }
  // A view into the bytes, or false.
  bool take_bytes(size_t size, std::string_view& value) {
    if (remaining() < size) return false;
    value = {reinterpret_cast<const char*>(bytes_.data()) + offset_, size};
    offset_ += size;
    return true;
  }

 private:
  // The whole file, or the part that is read.
  std::span<const std::byte> bytes_;
  std::endian order_;
  size_t offset_ = 0;
};

}  // namespace quern
