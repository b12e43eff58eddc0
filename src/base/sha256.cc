// The compression function of FIPS 180-4, section 6.2, in plain integers.
#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace quern {
namespace {

// The first 32 bits of the fractions of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Words are big-endian, whatever the machine is.
uint32_t load_big_endian(const std::byte* p) {
  const auto at = [&](int i) { return std::to_integer<uint32_t>(p[i]); };
  return at(0) << 24 | at(1) << 16 | at(2) << 8 | at(3);
}

}  // namespace

// One block of 64 bytes into the state: message schedule, then 64 rounds.
void Sha256::compress(const std::byte* block) {
  std::array<uint32_t, 64> w;
  for (size_t t = 0; t < 16; ++t) w[t] = load_big_endian(block + 4 * t);
  for (size_t t = 16; t < 64; ++t) {
    // sigma0 and sigma1 of section 4.1.2.
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t t = 0; t < 64; ++t) {
    // Sigma1, Ch and then Sigma0, Maj of the same section.
    const uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  // Sums wrap modulo 2^32, as the standard wants.
  const std::array<uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += added[i];
}

// Whole blocks are taken where they lie; only what is left over is copied.
Sha256& Sha256::update(std::span<const std::byte> bytes) {
  num_bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (num_pending_ == 0 && bytes.size() >= 64) {
      compress(bytes.data());
      bytes = bytes.subspan(64);
      continue;
    }
    const size_t taken = std::min(bytes.size(), 64 - num_pending_);
    std::memcpy(pending_.data() + num_pending_, bytes.data(), taken);
    num_pending_ += taken;
    bytes = bytes.subspan(taken);
    if (num_pending_ < 64) break;
    compress(pending_.data());
    num_pending_ = 0;
  }
  return *this;
}

// Pads, and ends the object's use: another update would go on from the padded state.
std::string Sha256::hex_digest() {
  // A one bit, zeros up to 56 bytes of a block, then the number of bits.
  const uint64_t num_bits = num_bytes_ * 8;
  // At most 64 bytes of padding and 8 of length.
  std::array<std::byte, 72> tail{};
  tail[0] = std::byte{0x80};
  // With 56 bytes or more pending, the length does not fit and another block is filled.
  const size_t padding = (num_pending_ < 56 ? 56 : 120) - num_pending_;
  // Big-endian, like the words.
  for (size_t i = 0; i < 8; ++i)
    tail[padding + i] = static_cast<std::byte>(num_bits >> (56 - 8 * i));
  update({tail.data(), padding + 8});
  std::string text;
  for (const uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  }
  return text;
}

}  // namespace quern
