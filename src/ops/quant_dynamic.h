// Quantising activations: the definition of `quant.dynamic` for one row.
#pragma once

#include <cstdint>
#include <span>

namespace quern {

// Largest integer of a width: 127 for 8 bits; 127 * 257 for 16, so that both planes fit int8.
// 32,639 = 127 * 256 + 127.
constexpr int32_t dynamic_limit(int64_t bits) {
  return bits == 8 ? 127 : 32639;
}

// Blocks of `block` count from x[0]; the last may be short. For each: amax = max |x|,
// d = amax / limit, r = limit / amax (both 0 if amax < 2^-100), q = round_even(x * r) clamped to
// [-limit, limit]. If amax is not finite: d = NaN, q = 0. d has ceil(n / block) elements.
void quantize_dynamic(std::span<const float> x, int64_t block, int32_t limit, std::span<int32_t> q,
                      std::span<float> d);

// The two int8 planes of a 16-bit integer: q = 256 * hi + lo.
// 256 * hi is the multiple nearest to q, so that lo lies in [-128, 127]; the shift of a negative
// number is arithmetic (C++20).
constexpr int8_t high_plane(int32_t q) {
  return static_cast<int8_t>((q + 128) >> 8);
}
constexpr int8_t low_plane(int32_t q) {
  return static_cast<int8_t>(q - 256 * high_plane(q));
}

}  // namespace quern
