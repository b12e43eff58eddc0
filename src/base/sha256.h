// SHA-256 (FIPS 180-4): names the content of files in a way that other tools can check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quern {

// Bytes in any pieces, then one digest. A plain value.
class Sha256 {
 public:
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text) { return update(std::as_bytes(std::span(text))); }
  // 64 lower-case hex digits of everything so far, as sha256sum prints. Once, and last.
  std::string hex_digest();

 private:
  void compress(const std::byte* block);

  // The first 32 bits of the fractions of the square roots of the first 8 primes (section 5.3.3).
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  size_t num_pending_ = 0;
  // Texts of 2^61 bytes and more would overflow the count of bits.
  uint64_t num_bytes_ = 0;
};

}  // namespace quern
