// Fits x ~ scale * q + minimum to at most 32 values, with q whole numbers of a range.
// Frozen like any strict operation: f32 +, -, *, / and comparisons in a fixed order; sums run in 8
// partials (element i in partial i mod 8) that join as (p, p + 4), (p, p + 2), (p, p + 1).
// Values are bounded (copy_bounded in block_fit.h) and n is a multiple of 8.
#pragma once

#include <cstdint>

namespace quern {

inline constexpr int kMaxFitSize = 32;

// x quantised with one scale and minimum, and the sums that a refit needs.
struct AffineFit {
  // x ~ scale * q + minimum.
  float scale;
  float minimum;
  float error;  // sum of (scale * q + minimum - x)^2
  // Sums over the n elements: of q, of q * q, and of x * q.
  float sum_q;
  float sum_qq;
  float sum_xq;
  float q[kMaxFitSize];
};

// How the format stores a fit.
enum class FitStorage : uint8_t {
  kF16,       // scale and minimum are f16
  kSubScale,  // rounded later by the super-block, minimum at most 0
};

// q = round((x - minimum) / scale), clamped to [low, high]; the nearest to 0 for a scale of 0.
// The error and all sums are of these q, so that a caller compares and refits without another walk.
AffineFit quantize_affine(const float* x, int n, float scale, float minimum, int low, int high);

// Without a minimum: the best of 4 starting scales, each also refitted by least squares.
AffineFit search_scale(const float* x, int n, int low, int high, FitStorage storage);

// With a minimum and q in [0, high]: the best of 12 starting ranges, each refitted twice.
AffineFit search_scale_min(const float* x, int n, int high, FitStorage storage);

// The sum of n values in 8 partials, as above.
float sum_of(const float* x, int n);
// The element of largest magnitude, the first among equals.
float extremum_of(const float* x, int n);
// The nearest f16 as f32; the largest finite one past the range.
float as_f16(float x);

}  // namespace quern
