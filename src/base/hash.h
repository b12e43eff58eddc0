// A 64-bit hash that is the same on every machine; for semantic hashes of graphs and cache keys.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace quern {

// FNV-1a with a finalising mix. Not for untrusted keys in hash tables.
class Hasher {
 public:
  Hasher& bytes(const void* data, size_t size) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) state_ = (state_ ^ p[i]) * 0x100000001b3ULL;
    return *this;
  }
  // Length first, so that ("ab", "c") and ("a", "bc") differ.
  Hasher& text(std::string_view s) {
    number(s.size());
    return bytes(s.data(), s.size());
  }
  // Little-endian bytes of the value on every host.
  Hasher& number(uint64_t v) {
    for (int i = 0; i < 8; ++i) state_ = (state_ ^ ((v >> (8 * i)) & 0xff)) * 0x100000001b3ULL;
    return *this;
  }
  uint64_t digest() const {
    uint64_t h = state_;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace quern
