// Builds GGUF files byte by byte for tests, right or wrong, in either byte order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/gguf_reader.h"

namespace quern {

class GgufBytes {
 public:
  explicit GgufBytes(std::endian order = std::endian::little) : order_(order) {}

  template <class T>
  GgufBytes& number(T value) {
    auto raw = std::bit_cast<std::array<char, sizeof(T)>>(value);
    if (order_ != std::endian::native) std::ranges::reverse(raw);
    bytes_.append(raw.data(), raw.size());
    return *this;
  }
  GgufBytes& raw(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  GgufBytes& text(std::string_view text) { return number<uint64_t>(text.size()).raw(text); }
  GgufBytes& header(int64_t num_tensors, int64_t num_keys, uint32_t version = 3) {
    return raw("GGUF").number(version).number(num_tensors).number(num_keys);
  }
  GgufBytes& key(std::string_view name, uint32_t type) { return text(name).number(type); }
  GgufBytes& text_key(std::string_view name, std::string_view value) {
    return key(name, 8).text(value);
  }
  // `dims` innermost first.
  GgufBytes& tensor(std::string_view name, std::initializer_list<int64_t> dims, uint32_t type,
                    uint64_t offset) {
    text(name).number(static_cast<uint32_t>(dims.size()));
    for (const int64_t dim : dims) number(dim);
    return number(type).number(offset);
  }
  GgufBytes& pad(size_t alignment = 32) {
    while (bytes_.size() % alignment != 0) bytes_ += '\0';
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

  Result<std::shared_ptr<GgufFile>> parse() const {
    const auto copy = std::make_shared<std::string>(bytes_);
    return GgufFile::parse(std::as_bytes(std::span<const char>(*copy)), copy);
  }

 private:
  std::endian order_;
  std::string bytes_;
};

}  // namespace quern
