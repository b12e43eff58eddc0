// Search for the scale of a block of codes.
#include "tensor/formats/codebook_fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/formats/affine_fit.h"
#include "tensor/formats/codebooks.h"

namespace quern {
namespace {

constexpr int kSize = 32;

// A choice of scale with the codebook values that it gives, and the sums that a refit needs.
struct CodebookFit {
  float scale = 0;
  float error = std::numeric_limits<float>::infinity();  // sum of (scale * q - x)^2
  float sum_qq = 0;
  float sum_xq = 0;
  float q[kSize] = {};
};

// q holds the chosen values.
void measure(const float* x, CodebookFit& fit) {
  float squares[kSize], qq[kSize], xq[kSize];
  for (int i = 0; i < kSize; ++i) {
    const float difference = fit.scale * fit.q[i] - x[i];
    squares[i] = difference * difference;
    qq[i] = fit.q[i] * fit.q[i];
    xq[i] = x[i] * fit.q[i];
  }
  fit.error = sum_of(squares, kSize);
  fit.sum_qq = sum_of(qq, kSize);
  fit.sum_xq = sum_of(xq, kSize);
}

// 0 for a scale of 0: all codes are then those of 0.
float inverse_of(float scale) {
  return scale == 0 ? 0.0f : 1.0f / scale;
}

// The nearest value of kIq4Values to x / scale; the lower one between two.
CodebookFit quantize_iq4(const float* x, float scale) {
  CodebookFit fit;
  fit.scale = scale;
  const float inverse = inverse_of(scale);
  std::fill(std::begin(fit.q), std::end(fit.q), static_cast<float>(kIq4Values[0]));
  for (int k = 1; k < 16; ++k) {
    const float step = static_cast<float>(kIq4Values[k] - kIq4Values[k - 1]);
    // Counting the middles that x passes finds the nearest value without a search: each adds one
    // step.
    const float middle = static_cast<float>(kIq4Values[k]) - 0.5f * step;
    for (int i = 0; i < kSize; ++i) fit.q[i] += x[i] * inverse > middle ? step : 0.0f;
  }
  measure(x, fit);
  return fit;
}

// The nearest of kFp4Values, whose steps are 1 below 4, 2 below 8 and 4 from there.
float nearest_fp4(float x) {
  constexpr float kRounder = 0x1.8p23f;  // adding it rounds to a whole number, ties to even
  const float size = std::min(std::fabs(x), 12.0f);
  // Rounding to even multiples of the step takes ties to the code whose last bit is 0, as the codes
  // of a floating-point kind count upwards within an exponent.
  const float step = size < 4 ? 1.0f : (size < 8 ? 2.0f : 4.0f);
  const float rounded = ((size / step + kRounder) - kRounder) * step;
  return x < 0 ? -rounded : rounded;
}

// The nearest fp4 value to each x / scale, with the sums of the fit.
CodebookFit quantize_fp4(const float* x, float scale) {
  CodebookFit fit;
  fit.scale = scale;
  const float inverse = inverse_of(scale);
  for (int i = 0; i < kSize; ++i) fit.q[i] = nearest_fp4(x[i] * inverse);
  measure(x, fit);
  return fit;
}

// The first of two equal fits stays.
void keep_better(const CodebookFit& candidate, CodebookFit& best) {
  if (candidate.error < best.error) best = candidate;
}

// The fit as a decoded block.
void store(const CodebookFit& fit, DecodedBlock& out) {
  for (int i = 0; i < kSize; ++i) out.q[i] = static_cast<int8_t>(fit.q[i]);
  out.sub[0] = 1;
  out.scale[0] = fit.scale;
}

}  // namespace

// Several places for the largest element, each scale refitted twice by least squares.
void fit_iq4(const float* x, DecodedBlock& out) {
  // Where the extremum starts: near either end of the codebook and, for a single large element,
  // beyond it. Found by trial on the golden input of ggml's formats.
  // Both signs are tried: the codebook is not symmetric (-127 to 113), so that a block may fit
  // better turned around.
  constexpr float kPlaces[] = {-127, -135, -119, -111, -104, 113, 120, 105, 97, 89};
  const float extremum = extremum_of(x, kSize);
  CodebookFit best;
  for (float place : kPlaces) {
    CodebookFit fit = quantize_iq4(x, as_f16(extremum / place));
    keep_better(fit, best);
    for (int round = 0; round < 2 && fit.sum_qq > 0; ++round) {
      fit = quantize_iq4(x, as_f16(fit.sum_xq / fit.sum_qq));
      keep_better(fit, best);
    }
  }
  store(best, out);
}

// Scales are powers of two: the smallest that reaches the largest element, and the two below,
// which clip it for finer steps.
void fit_fp4(const float* x, DecodedBlock& out) {
  const float amax = std::fabs(extremum_of(x, kSize));
  // 2^n with 12 * 2^n >= amax: n = ceil(log2(amax / 12)), from the bits of amax / 12.
  const auto bits = std::bit_cast<uint32_t>(amax / 12);
  const int exponent = static_cast<int>(bits >> 23) + ((bits & 0x7FFFFF) != 0 ? 1 : 0);
  CodebookFit best;
  for (int biased = exponent; biased > exponent - 3; --biased) {
    // Normal powers of two whose reciprocal is normal too: 2^-126 to 2^126.
    const auto field = static_cast<uint32_t>(std::clamp(biased, 1, 253));
    keep_better(quantize_fp4(x, std::bit_cast<float>(field << 23)), best);
  }
  store(best, out);
}

}  // namespace quern
