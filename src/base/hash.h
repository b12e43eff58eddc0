// A 64-bit hash that is the same on every machine; for semantic hashes of graphs and cache keys.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace quern {

// FNV-1a (Fowler, Noll, Vo) with the finaliser of MurmurHash3, which spreads the last bytes over
// all bits. Not for untrusted keys in hash tables: collisions are easy to make. Calls chain:
// Hasher().text("a").number(1).digest(). One thread only.
class Hasher {
 public:
  // Appends `size` bytes; where one piece ends and the next begins does not matter.
  Hasher& bytes(const void* data, size_t size) {
    const auto* p = static_cast<const unsigned char*>(data);
    // The prime of 64-bit FNV.
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
    // Shifts and not a copy of memory, which would hash big-endian hosts differently.
    for (int i = 0; i < 8; ++i) state_ = (state_ ^ ((v >> (8 * i)) & 0xff)) * 0x100000001b3ULL;
    return *this;
  }
  // The hash of all that was appended; more may follow.
  uint64_t digest() const {
    uint64_t h = state_;
    h ^= h >> 33;
    // Constants of fmix64 in MurmurHash3: each output bit depends on each input bit.
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
  }

 private:
  // The offset basis of FNV.
  uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace quern
