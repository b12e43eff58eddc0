// Tests of the choice of scales and integers: exact where the format can be, never worse than the
// plain choice, defined for zeros and huge values.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "tensor/formats/affine_fit.h"
#include "tensor/formats/block_fit.h"
#include "tensor/formats/codebook_fit.h"
#include "tensor/formats/codebooks.h"

namespace quern {
namespace {

using Row = std::array<float, 32>;

Row random_row(uint32_t seed) {
  std::mt19937 engine(seed);
  Row x;
  for (float& value : x) value = static_cast<float>(engine() % 20001) / 10000.0F - 1.0F;
  return x;
}

// The sum of squares in f64, from scale, minimum and integers alone.
double error_of(const Row& x, const AffineFit& fit) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double y = static_cast<double>(fit.scale) * fit.q[i] + fit.minimum;
    sum += (y - x[i]) * (y - x[i]);
  }
  return sum;
}

// What a refit starts from.
TEST(AffineFit, SumsAreThoseOfTheIntegers) {
  const Row x = random_row(1);
  const AffineFit fit = quantize_affine(x.data(), 32, 0.07F, -0.4F, 0, 15);
  double q = 0;
  double qq = 0;
  double xq = 0;
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_GE(fit.q[i], 0);
    EXPECT_LE(fit.q[i], 15);
    EXPECT_EQ(fit.q[i], std::nearbyint(fit.q[i]));
    q += fit.q[i];
    qq += fit.q[i] * fit.q[i];
    xq += x[i] * fit.q[i];
  }
  EXPECT_EQ(fit.sum_q, q);
  EXPECT_EQ(fit.sum_qq, qq);
  EXPECT_NEAR(fit.sum_xq, xq, 1e-4);
  EXPECT_NEAR(fit.error, error_of(x, fit), 1e-5);
}

// No division by it.
TEST(AffineFit, AScaleOfZeroGivesTheBoundNearestToZero) {
  const Row x = random_row(2);
  EXPECT_EQ(quantize_affine(x.data(), 32, 0, 0, -8, 7).q[5], 0);
  EXPECT_EQ(quantize_affine(x.data(), 32, 0, 0, 3, 7).q[5], 3);
  EXPECT_EQ(quantize_affine(x.data(), 32, 0, 0, -7, -2).q[5], -2);
}

// As everywhere.
TEST(AffineFit, IntegersRoundToEven) {
  Row x{};
  x[0] = 0.5F;
  // Halves next to even and odd numbers, of both signs, and values near and past the end 7.
  x[1] = 1.5F;
  x[2] = -2.5F;
  x[3] = 7.49F;
  x[4] = 99.0F;
  const AffineFit fit = quantize_affine(x.data(), 32, 1, 0, -8, 7);
  EXPECT_EQ(fit.q[0], 0);
  EXPECT_EQ(fit.q[1], 2);
  EXPECT_EQ(fit.q[2], -2);
  EXPECT_EQ(fit.q[3], 7);
  EXPECT_EQ(fit.q[4], 7);
}

// The plain way is among the trials.
TEST(SearchScale, IsNeverWorseThanTheExtremumOnTheEdge) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Row x = random_row(seed);
    for (const auto& [low, high] : {std::pair{-8, 7}, std::pair{-4, 3}, std::pair{-16, 15}}) {
      const AffineFit best = search_scale(x.data(), 32, low, high, FitStorage::kF16);
      const float plain = as_f16(extremum_of(x.data(), 32) / static_cast<float>(low));
      EXPECT_LE(best.error, quantize_affine(x.data(), 32, plain, 0, low, high).error) << seed;
      // The error is of the scale as it will be stored: a fit in f32 could look better than it is.
      EXPECT_EQ(best.scale, as_f16(best.scale));
    }
  }
}

// On rows with outliers.
TEST(SearchScaleMin, IsBetterThanTheRangeFromEndToEnd) {
  double searched = 0;
  double plain = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Row x = random_row(seed);
    const auto [least, most] = std::ranges::minmax(x);
    searched += search_scale_min(x.data(), 32, 15, FitStorage::kF16).error;
    plain += quantize_affine(x.data(), 32, (most - least) / 15, least, 0, 15).error;
  }
  EXPECT_LT(searched, 0.95 * plain);
}

// The format stores their negation.
TEST(SearchScaleMin, SubScaleMinimumsAreNotPositive) {
  Row x = random_row(3);
  // All values 4 to 6: the ideal minimum is 4, which a format that subtracts one cannot hold.
  for (float& value : x) value += 5.0F;
  const AffineFit fit = search_scale_min(x.data(), 32, 15, FitStorage::kSubScale);
  EXPECT_LE(fit.minimum, 0.0F);
  EXPECT_GT(fit.scale, 0.0F);
  EXPECT_GT(search_scale_min(x.data(), 32, 15, FitStorage::kF16).minimum, 3.0F);
}

// Scale 0, or the value itself.
TEST(Fits, ConstantBlocksHaveNoRange) {
  Row x;
  x.fill(-0.75F);
  const AffineFit fit = search_scale_min(x.data(), 32, 15, FitStorage::kF16);
  EXPECT_EQ(fit.error, 0.0F);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(fit.scale * fit.q[i] + fit.minimum, -0.75F);
}

// With its sign.
TEST(ExtremumOf, IsTheFirstOfLargestMagnitude) {
  Row x{};
  EXPECT_EQ(extremum_of(x.data(), 32), 0.0F);
  x[3] = -2.0F;
  x[9] = 2.0F;
  EXPECT_EQ(extremum_of(x.data(), 32), -2.0F);
}

// Never infinity.
TEST(AsF16, RoundsAndSaturates) {
  EXPECT_EQ(as_f16(1.0F / 3.0F), 0.333251953125F);
  EXPECT_EQ(as_f16(1e9F), 65504.0F);
  EXPECT_EQ(as_f16(-1e9F), -65504.0F);
  EXPECT_EQ(as_f16(1e-9F), 0.0F);
}

// Squares must not overflow.
TEST(CopyBounded, CutsMagnitudesAndFindsWhatIsNotFinite) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Row x = random_row(4);
  Row bounded{};
  x[0] = 1e30F;
  x[1] = -3e38F;
  EXPECT_TRUE(copy_bounded(x.data(), 32, bounded.data()));
  EXPECT_EQ(bounded[0], 0x1p28F);
  EXPECT_EQ(bounded[1], -0x1p28F);
  EXPECT_EQ(bounded[2], x[2]);
  for (const float bad : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    x[31] = bad;
    EXPECT_FALSE(copy_bounded(x.data(), 32, bounded.data()));
  }
}

// Both ends are reached.
TEST(FitAmax, UsesTheWholeRange) {
  Row x;
  for (size_t i = 0; i < 32; ++i) x[i] = static_cast<float>(i) - 31.0F;
  DecodedBlock out{};
  fit_amax(x.data(), 32, 127, out);
  EXPECT_EQ(out.scale[0], as_f16(31.0F / 127.0F));
  EXPECT_EQ(out.q[0], -127);
  EXPECT_EQ(out.q[31], 0);
}

// Error 0.
TEST(CodebookFit, MultiplesOfTheCodebookAreExact) {
  Row x;
  for (size_t i = 0; i < 32; ++i) x[i] = 0.25F * static_cast<float>(kIq4Values[i % 16]);
  DecodedBlock out{};
  fit_iq4(x.data(), out);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(out.scale[0] * static_cast<float>(out.q[i]), x[i]);
  for (size_t i = 0; i < 32; ++i) x[i] = 0x1p-9F * static_cast<float>(kFp4Values[i % 16]);
  fit_fp4(x.data(), out);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(out.scale[0] * static_cast<float>(out.q[i]), x[i]);
}

// The format stores an exponent.
TEST(CodebookFit, FloatingPointScalesArePowersOfTwo) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Row x = random_row(seed);
    DecodedBlock out{};
    fit_fp4(x.data(), out);
    int exponent = 0;
    // frexp() gives 0.5 for powers of two alone.
    EXPECT_EQ(std::frexp(out.scale[0], &exponent), 0.5F) << seed;
  }
}

// A super-block that the format holds exactly: the search must find it.
TEST(SuperBlockFit, WhatTheFormatHoldsIsFoundAgain) {
  std::array<float, 256> x{};
  for (size_t i = 0; i < 256; ++i) {
    const auto sub = static_cast<float>(static_cast<int>(i / 16) * 4 - 32);  // -32 .. 28
    const int q = i % 16 == 0 ? -4 : static_cast<int>(i % 8) - 4;
    x[i] = 0.0625F * sub * static_cast<float>(q);
  }
  DecodedBlock out{};
  fit_super_scale(x.data(), {.sub_block = 16, .low = -4, .high = 3, .sub_low = -32, .sub_high = 31},
                  out);
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(out.scale[0] * static_cast<float>(out.sub[i / 16] * out.q[i]), x[i]) << i;
  }
}

// Each its own.
TEST(SuperBlockFit, MinimumsFollowTheSubBlocks) {
  std::array<float, 256> x{};
  for (size_t i = 0; i < 256; ++i) {
    const auto j = static_cast<float>(i / 32);
    x[i] = 0.01F * static_cast<float>(i % 16) * (j + 1) - 0.05F * j;
  }
  DecodedBlock out{};
  fit_super_scale_min(x.data(),
                      {.sub_block = 32, .low = 0, .high = 15, .sub_low = 0, .sub_high = 63}, out);
  double error = 0;
  for (size_t i = 0; i < 256; ++i) {
    const double y = out.scale[0] * out.sub[i / 32] * out.q[i] - out.minimum * out.mins[i / 32];
    error = std::max(error, std::abs(y - x[i]));
    EXPECT_GE(out.sub[i / 32], 0);
    EXPECT_LE(out.sub[i / 32], 63);
    EXPECT_GE(out.mins[i / 32], 0);
    EXPECT_LE(out.mins[i / 32], 63);
  }
  // The steps: 0.01 * (j + 1) up to 0.08, where 63 integer sub-scales hold 1/8 to 8/8 of the
  // largest closely. 0.02 is a quarter of the largest step.
  EXPECT_LT(error, 0.02);
}

}  // namespace
}  // namespace quern
