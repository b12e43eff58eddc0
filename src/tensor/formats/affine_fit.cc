// Least-squares search for the scale and minimum of a few values.
#include "tensor/formats/affine_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/convert.h"

namespace quern {
namespace {

// Eight partial sums and their tree: what a vector unit adds, written so that every compiler adds
// it in this order.
struct LaneSum {
  float part[8] = {};
  float total() const {
    const float a = (part[0] + part[4]) + (part[2] + part[6]);
    const float b = (part[1] + part[5]) + (part[3] + part[7]);
    return a + b;
  }
};

// The first of two equal fits stays, so that the order of trials decides.
void keep_better(const AffineFit& candidate, AffineFit& best) {
  if (candidate.error < best.error) best = candidate;
}

// What the format will hold: fits are judged with the rounded numbers, not with the ideal ones.
float stored_scale(float scale, FitStorage storage) {
  return storage == FitStorage::kF16 ? as_f16(scale) : scale;
}

float stored_minimum(float minimum, FitStorage storage) {
  return storage == FitStorage::kF16 ? as_f16(minimum) : std::min(minimum, 0.0f);
}

// Refits a range twice by least squares over its integers, keeping the best.
void refine_scale_min(const float* x, int n, int high, FitStorage storage, AffineFit fit,
                      AffineFit& best) {
  const float sum_x = sum_of(x, n);
  const auto count = static_cast<float>(n);
  for (int round = 0; round < 2; ++round) {
    // Normal equations of x ~ scale * q + minimum: [sum_qq sum_q; sum_q n]. The determinant is 0
    // where all q are equal.
    //   d/dscale: scale * sum_qq + minimum * sum_q = sum_xq
    //   d/dminimum: scale * sum_q + minimum * n    = sum_x
    const float determinant = count * fit.sum_qq - fit.sum_q * fit.sum_q;
    if (determinant <= 0) return;
    float scale = (count * fit.sum_xq - sum_x * fit.sum_q) / determinant;
    if (storage == FitStorage::kSubScale && sum_x > scale * fit.sum_q) {
      scale = fit.sum_xq / fit.sum_qq;  // the minimum would be positive: fit with 0
    }
    scale = stored_scale(scale, storage);
    const float minimum = stored_minimum((sum_x - scale * fit.sum_q) / count, storage);
    // q counts upward from the minimum: a scale that is not positive has lost the range.
    if (scale <= 0) return;
    fit = quantize_affine(x, n, scale, minimum, 0, high);
    keep_better(fit, best);
  }
}

}  // namespace

// What an f16 makes of x; beyond its range the largest finite one.
float as_f16(float x) {
  constexpr float kLargest = 65504;
  return f16_to_f32(to_f16(std::clamp(x, -kLargest, kLargest)));
}

// Sums n elements, a multiple of 8, in eight lanes.
float sum_of(const float* x, int n) {
  LaneSum sum;
  for (int i = 0; i < n; i += 8) {
    for (int l = 0; l < 8; ++l) sum.part[l] += x[i + l];
  }
  return sum.total();
}

// The element largest in size, with its sign; the first of equals. Formats with one scale let it
// hit an end of their range exactly.
float extremum_of(const float* x, int n) {
  float result = 0;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(result)) result = x[i];
  }
  return result;
}

// The integers under a given scale and minimum, their error, and the sums that a refit needs.
AffineFit quantize_affine(const float* x, int n, float scale, float minimum, int low, int high) {
  constexpr float kRounder = 0x1.8p23f;  // adding it rounds to a whole number, ties to even
  // One division; a scale of 0 makes every q the bound nearest to 0.
  const float inverse = scale == 0 ? 0.0f : 1.0f / scale;
  const auto low_f = static_cast<float>(low);
  const auto high_f = static_cast<float>(high);
  AffineFit fit;
  float squares[kMaxFitSize];
  for (int i = 0; i < n; ++i) {
    // A NaN (0 times the infinite inverse of a tiny scale) compares false and becomes `low`.
    const float exact = (x[i] - minimum) * inverse;
    const float raised = exact > low_f ? exact : low_f;
    const float bounded = raised < high_f ? raised : high_f;
    // 1.5 * 2^23 has a last bit of weight 1, and so have its neighbours on both sides: the sum
    // rounds to a whole number for either sign.
    fit.q[i] = (bounded + kRounder) - kRounder;
    const float difference = (scale * fit.q[i] + minimum) - x[i];
    squares[i] = difference * difference;
  }
  LaneSum error, sum_q, sum_qq, sum_xq;
  for (int i = 0; i < n; i += 8) {
    for (int l = 0; l < 8; ++l) error.part[l] += squares[i + l];
    for (int l = 0; l < 8; ++l) sum_q.part[l] += fit.q[i + l];
    for (int l = 0; l < 8; ++l) sum_qq.part[l] += fit.q[i + l] * fit.q[i + l];
    for (int l = 0; l < 8; ++l) sum_xq.part[l] += x[i + l] * fit.q[i + l];
  }
  fit.scale = scale;
  fit.minimum = minimum;
  fit.error = error.total();
  fit.sum_q = sum_q.total();
  fit.sum_qq = sum_qq.total();
  fit.sum_xq = sum_xq.total();
  return fit;
}

// Fits x ~ scale * q with q from low to high: several starting scales, each refitted once.
AffineFit search_scale(const float* x, int n, int low, int high, FitStorage storage) {
  // How far inside the end `low` of the range, in steps, the extremum starts. Found by trial on the
  // golden input of ggml's formats.
  constexpr float kInside[] = {0, -0.5f, 0.4f, 0.9f};
  const float extremum = extremum_of(x, n);
  AffineFit best{};
  best.error = std::numeric_limits<float>::infinity();
  for (float inside : kInside) {
    // low is negative and reaches one step farther than high: the extremum lies at that end, and
    // the sign of the scale follows from it.
    const float scale = stored_scale(extremum / (static_cast<float>(low) + inside), storage);
    const AffineFit fit = quantize_affine(x, n, scale, 0, low, high);
    keep_better(fit, best);
    // All q are 0: no scale is better than another.
    if (fit.sum_qq == 0) continue;
    const float refitted = stored_scale(fit.sum_xq / fit.sum_qq, storage);
    keep_better(quantize_affine(x, n, refitted, 0, low, high), best);
  }
  return best;
}

// Fits x ~ scale * q + minimum with q from 0 to high over a grid of ranges; see
// refine_scale_min().
AffineFit search_scale_min(const float* x, int n, int high, FitStorage storage) {
  constexpr float kMoreSteps[] = {-1, -0.33f, 0.33f, 1};  // of the range, beyond `high`
  constexpr float kShifts[] = {0, -0.35f, 0.35f};         // of the minimum, in steps
  const float least = stored_minimum(*std::min_element(x, x + n), storage);
  const float most = std::max(*std::max_element(x, x + n), least);
  // Scale 0 first: a constant block has error 0 with it, and no later trial is better.
  AffineFit best = quantize_affine(x, n, 0, least, 0, high);
  for (float more_steps : kMoreSteps) {
    const float step = (most - least) / (static_cast<float>(high) + more_steps);
    for (float shift : kShifts) {
      const float minimum = stored_minimum(least + shift * step, storage);
      const AffineFit fit = quantize_affine(x, n, stored_scale(step, storage), minimum, 0, high);
      keep_better(fit, best);
      refine_scale_min(x, n, high, storage, fit, best);
    }
  }
  return best;
}

}  // namespace quern
