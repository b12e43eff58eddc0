// Quantising activations block by block.
#include "ops/quant_dynamic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/convert.h"

namespace quern {
namespace {

// Below this the reciprocal could overflow with 16 bits; the block counts as zero.
// At 2^-100 and 16 bits, r is below 2^115 and d above 2^-115: both are normal numbers.
constexpr float kSmallestAmax = 0x1p-100f;

// Integers of one block and its scale: q = round(x * limit / amax). A block with NaN or infinity
// has scale NaN, so that every product with it is NaN.
float quantize_block(std::span<const float> x, int32_t limit, std::span<int32_t> q) {
  std::ranges::fill(q, 0);
  float amax = 0.0f;
  for (const float v : x) {
    // Before the maximum, as std::max would drop a NaN.
    if (!std::isfinite(v)) return std::numeric_limits<float>::quiet_NaN();
    amax = std::max(amax, std::fabs(v));
  }
  if (amax < kSmallestAmax) return 0.0f;
  const float r = static_cast<float>(limit) / amax;
  // A product with r, rounded, for each element. A division by d would give other integers.
  for (size_t i = 0; i < x.size(); ++i) q[i] = round_to_range(x[i] * r, -limit, limit);
  return amax / static_cast<float>(limit);
}

}  // namespace

// Blocks of `block` elements, the last of which may be short; d gets a scale for each.
void quantize_dynamic(std::span<const float> x, int64_t block, int32_t limit, std::span<int32_t> q,
                      std::span<float> d) {
  // The last block is as long as what is left.
  const auto step = static_cast<size_t>(block);
  for (size_t begin = 0, b = 0; begin < x.size(); begin += step, ++b) {
    const size_t count = std::min(step, x.size() - begin);
    d[b] = quantize_block(x.subspan(begin, count), limit, q.subspan(begin, count));
  }
}

}  // namespace quern
