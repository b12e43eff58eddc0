// Fits of blocks with one scale; super-blocks are in super_block_fit.cc.
#include "tensor/formats/block_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/formats/affine_fit.h"

namespace quern {
namespace {

// The fit as a decoded block, which the packers read.
void store(const AffineFit& fit, int n, DecodedBlock& out) {
  for (int i = 0; i < n; ++i) out.q[i] = static_cast<int8_t>(fit.q[i]);
  out.sub[0] = 1;
  out.scale[0] = fit.scale;
  out.minimum = fit.minimum;
}

}  // namespace

// False where an element is NaN or infinite; otherwise the block with huge values limited, so
// that no sum of squares overflows.
bool copy_bounded(const float* x, int n, float* bounded) {
  // See the header.
  constexpr float kBound = 0x1p28f;
  float zero = 0;  // x * 0 is a zero exactly for finite x
  for (int i = 0; i < n; ++i) {
    // Infinity and NaN times 0 are NaN, and a sum stays NaN: one test at the end, no branch inside.
    zero += x[i] * 0.0f;
    // A NaN may pass here: the block is then not fitted at all.
    bounded[i] = std::min(std::max(x[i], -kBound), kBound);
  }
  return zero == 0;
}

// A block that decodes to NaN in every element: what is not finite must not look like a number.
void fill_not_finite(DecodedBlock& out) {
  out = {};
  std::fill(std::begin(out.scale), std::end(out.scale), std::numeric_limits<float>::quiet_NaN());
  std::fill(std::begin(out.sub), std::end(out.sub), int16_t{1});
}

// The largest element becomes +-high: no search (q8_0).
void fit_amax(const float* x, int n, int high, DecodedBlock& out) {
  const float scale = as_f16(std::fabs(extremum_of(x, n)) / static_cast<float>(high));
  store(quantize_affine(x, n, scale, 0, -high, high), n, out);
}

// One scale, found by search_scale().
void fit_scale(const float* x, int n, int low, int high, DecodedBlock& out) {
  store(search_scale(x, n, low, high, FitStorage::kF16), n, out);
}

// Scale and minimum, found by search_scale_min().
void fit_scale_min(const float* x, int n, int high, DecodedBlock& out) {
  store(search_scale_min(x, n, high, FitStorage::kF16), n, out);
}

}  // namespace quern
