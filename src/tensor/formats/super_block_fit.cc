// Fits of super-blocks: sub-blocks are fitted alone, their scales become integers under a common
// f16 scale, then integers and common scales are improved in turn.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tensor/convert.h"
#include "tensor/formats/affine_fit.h"
#include "tensor/formats/block_fit.h"

namespace quern {
namespace {

constexpr int kSuperBlock = 256;
constexpr int kMaxSubBlocks = 16;
// Refits of the common scales, each followed by new integers.
constexpr int kRounds = 2;

// What a super-block stores, with each sub-block's fit under its integer scale and minimum.
struct SuperFit {
  float scale = 0;
  float minimum = 0;  // subtracted, times the integer minimum
  float error = std::numeric_limits<float>::infinity();
  std::array<int, kMaxSubBlocks> sub{};
  std::array<int, kMaxSubBlocks> min{};
  std::array<AffineFit, kMaxSubBlocks> fits;
};

// 16 sub-blocks of 16 elements, or 8 of 32.
size_t num_sub_blocks(const SuperRanges& ranges) {
  return static_cast<size_t>(kSuperBlock / ranges.sub_block);
}

// The elements of sub-block j.
const float* sub_block(const float* x, const SuperRanges& ranges, size_t j) {
  return x + j * static_cast<size_t>(ranges.sub_block);
}

using SubFits = std::array<AffineFit, kMaxSubBlocks>;

// value / unit as an integer of the range; 0, or what is nearest to it, for a unit of 0.
int nearest(float value, float unit, int low, int high) {
  return unit == 0 ? std::clamp(0, low, high) : round_to_range(value / unit, low, high);
}

// The best integers next to the ideal scale and minimum of sub-block j, under the common ones.
void choose_integers(const float* x, const SuperRanges& ranges, const AffineFit& ideal, size_t j,
                     SuperFit& super) {
  const int sub = nearest(ideal.scale, super.scale, ranges.sub_low, ranges.sub_high);
  const int min = nearest(-ideal.minimum, super.minimum, 0, ranges.sub_high);
  // The nearest integers are not always the best together: their neighbours are tried, 9 pairs (3
  // where there is no minimum).
  const int min_reach = super.minimum == 0 ? 0 : 1;
  AffineFit& best = super.fits[j];
  best.error = std::numeric_limits<float>::infinity();
  for (int s = std::max(sub - 1, ranges.sub_low); s <= std::min(sub + 1, ranges.sub_high); ++s) {
    for (int m = std::max(min - min_reach, 0); m <= std::min(min + min_reach, ranges.sub_high);
         ++m) {
      const AffineFit fit =
          quantize_affine(x, ranges.sub_block, super.scale * static_cast<float>(s),
                          -(super.minimum * static_cast<float>(m)), ranges.low, ranges.high);
      if (!(fit.error < best.error)) continue;
      best = fit;
      super.sub[j] = s;
      super.min[j] = m;
    }
  }
}

// Every sub-block with its best integers under the common scales.
SuperFit fit_integers(const float* x, const SuperRanges& ranges, const SubFits& ideal, float scale,
                      float minimum) {
  SuperFit super;
  super.scale = scale;
  super.minimum = minimum;
  super.error = 0;
  for (size_t j = 0; j < num_sub_blocks(ranges); ++j) {
    choose_integers(sub_block(x, ranges, j), ranges, ideal[j], j, super);
    super.error += super.fits[j].error;
  }
  return super;
}

// Least squares for the common scale and minimum with all integers fixed: the normal equations of
// x ~ scale * (sub * q) - minimum * min.
void refit_common(const float* x, const SuperRanges& ranges, const SuperFit& super, float* scale,
                  float* minimum) {
  // With a = sub * q and b = min of each element: sums over the block of a a, a b, b b, x a, x b.
  //   scale * aa - minimum * ab = xa
  //   scale * ab - minimum * bb = xb
  float aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
  for (size_t j = 0; j < num_sub_blocks(ranges); ++j) {
    const AffineFit& fit = super.fits[j];
    const auto s = static_cast<float>(super.sub[j]);
    const auto m = static_cast<float>(super.min[j]);
    aa += s * s * fit.sum_qq;
    ab += s * m * fit.sum_q;
    bb += m * m * static_cast<float>(ranges.sub_block);
    xa += s * fit.sum_xq;
    xb += m * sum_of(sub_block(x, ranges, j), ranges.sub_block);
  }
  const float determinant = aa * bb - ab * ab;
  if (bb > 0 && determinant > 0) {
    *scale = as_f16((xa * bb - xb * ab) / determinant);
    *minimum = as_f16((xa * ab - xb * aa) / determinant);
  // No sub-block has a minimum: one unknown is left. Otherwise the old scales stay.
  } else if (aa > 0 && bb == 0) {
    *scale = as_f16(xa / aa);
  }
}

// Integers under common scales, then common scales under the integers, in turn; the best is kept,
// since a rounded refit may be worse.
SuperFit improve(const float* x, const SuperRanges& ranges, const SubFits& ideal, float scale,
                 float minimum) {
  SuperFit best = fit_integers(x, ranges, ideal, scale, minimum);
  SuperFit super = best;
  for (int round = 0; round < kRounds; ++round) {
    // A refit starts from the last round, not from the best one: it may lead past a bad round.
    refit_common(x, ranges, super, &scale, &minimum);
    super = fit_integers(x, ranges, ideal, scale, minimum);
    if (super.error < best.error) best = super;
  }
  return best;
}

// The fit as a decoded block.
void store(const SuperFit& super, const SuperRanges& ranges, DecodedBlock& out) {
  out.scale[0] = super.scale;
  out.minimum = super.minimum;
  const auto size = static_cast<size_t>(ranges.sub_block);
  for (size_t j = 0; j < num_sub_blocks(ranges); ++j) {
    out.sub[j] = static_cast<int16_t>(super.sub[j]);
    out.mins[j] = static_cast<int16_t>(super.min[j]);
    for (size_t i = 0; i < size; ++i) {
      out.q[j * size + i] = static_cast<int8_t>(super.fits[j].q[i]);
    }
  }
}

}  // namespace

// Formats without minimums: q3_K and q6_K.
void fit_super_scale(const float* x, const SuperRanges& ranges, DecodedBlock& out) {
  SubFits ideal;
  float largest = 0;
  for (size_t j = 0; j < num_sub_blocks(ranges); ++j) {
    AffineFit& fit = ideal[j];
    fit = search_scale(sub_block(x, ranges, j), ranges.sub_block, ranges.low, ranges.high,
                       FitStorage::kSubScale);
    if (std::fabs(fit.scale) > std::fabs(largest)) largest = fit.scale;
  }
  // The largest sub-scale becomes the end of the range that reaches farther: sub_low, which is
  // negative.
  const float scale = as_f16(largest / static_cast<float>(ranges.sub_low));
  store(improve(x, ranges, ideal, scale, 0), ranges, out);
}

// Formats whose sub-blocks have minimums, which are 0 or less: q2_K, q4_K and q5_K.
void fit_super_scale_min(const float* x, const SuperRanges& ranges, DecodedBlock& out) {
  SubFits ideal;
  float largest_scale = 0;
  float least_minimum = 0;
  for (size_t j = 0; j < num_sub_blocks(ranges); ++j) {
    AffineFit& fit = ideal[j];
    fit = search_scale_min(sub_block(x, ranges, j), ranges.sub_block, ranges.high,
                           FitStorage::kSubScale);
    largest_scale = std::max(largest_scale, fit.scale);
    least_minimum = std::min(least_minimum, fit.minimum);
  }
  const auto steps = static_cast<float>(ranges.sub_high);
  const SuperFit super =
      improve(x, ranges, ideal, as_f16(largest_scale / steps), as_f16(-least_minimum / steps));
  store(super, ranges, out);
}

}  // namespace quern
