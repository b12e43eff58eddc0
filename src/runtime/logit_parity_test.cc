#include "runtime/logit_parity.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace quern {
namespace {

using enum CorrectnessClass;
using enum Numerics;

bool passes(const std::vector<float>& logits, const std::vector<float>& expected,
            CorrectnessClass correctness, Numerics numerics = kStrict) {
  return check_parity(compare_logits(logits, expected), correctness, numerics, "test").has_value();
}

// Angle, best token, largest difference.
TEST(LogitParity, MeasuresRows) {
  const LogitParity p = compare_logits(std::vector<float>{3, 4}, std::vector<float>{4, 3});
  EXPECT_FALSE(p.has_equal_bits);
  EXPECT_TRUE(p.is_finite);
  EXPECT_DOUBLE_EQ(p.cosine, 24.0 / 25);
  EXPECT_EQ(p.argmax, 1);
  EXPECT_EQ(p.expected_argmax, 0);
  EXPECT_EQ(p.max_difference, 1);
}

// One ulp is too much then.
TEST(LogitParity, BitsMustBeEqualWhereTheyArePromised) {
  const std::vector<float> expected{1, 2, 3}, near{1, 2, std::nextafter(3.0F, 4.0F)};
  EXPECT_TRUE(passes(expected, expected, kBitExact));
  EXPECT_FALSE(passes(near, expected, kBitExact));
  EXPECT_TRUE(passes(near, expected, kBitExact, kFast));
  EXPECT_TRUE(passes(near, expected, kApprox));
}

// Sign and payload of a NaN are no part of the promise; where it stands is.
TEST(LogitParity, AllNaNsAreEqualBits) {
  const auto nan = [](uint32_t bits) { return std::bit_cast<float>(bits); };
  const std::vector<float> expected{1, nan(0x7FC00000), 3};
  for (const uint32_t bits : {0x7FC00000U, 0xFFC00000U, 0x7FC01234U, 0x7F800001U}) {
    EXPECT_TRUE(passes({1, nan(bits), 3}, expected, kBitExact)) << bits;
    // An approximate device must be finite, whatever the reference gives.
    EXPECT_FALSE(passes({1, nan(bits), 3}, expected, kApprox)) << bits;
  }
  EXPECT_FALSE(passes({1, 2, 3}, expected, kBitExact));
  EXPECT_FALSE(passes({1, INFINITY, 3}, expected, kBitExact));
  EXPECT_FALSE(passes({1, nan(0x7FC00000), 3}, {1, 2, 3}, kBitExact));
  // Zeros of another sign stay other bits.
  EXPECT_FALSE(passes({1, -0.0F}, {1, 0.0F}, kBitExact));
}

// A scale of all logits is allowed.
TEST(LogitParity, ApproximateRowsNeedTheBestTokenAndTheAngle) {
  const std::vector<float> expected{1, 2, 3};
  EXPECT_FALSE(passes({1, 3, 2.9F}, expected, kApprox));  // another best token
  EXPECT_FALSE(passes({-1, 2, 3}, expected, kApprox));    // another angle
  EXPECT_TRUE(passes({2, 4, 6}, expected, kApprox));      // another scale
  EXPECT_FALSE(passes({1, 2, NAN}, expected, kApprox));
  EXPECT_FALSE(passes({1, 2, INFINITY}, expected, kApprox));
}

// -infinity on both sides.
TEST(LogitParity, ForbiddenTokensCountNothing) {
  EXPECT_TRUE(passes({-INFINITY, 2, 3}, {-INFINITY, 2, 3}, kApprox));
  EXPECT_FALSE(passes({-INFINITY, 2, 3}, {1, 2, 3}, kApprox));
  EXPECT_TRUE(passes({0, 0}, {0, 0}, kApprox));
  EXPECT_FALSE(passes({0, 1}, {0, 0}, kApprox));
}

// And what was needed.
TEST(LogitParity, TheErrorSaysWhatWasMeasured) {
  const auto result =
      check_parity(compare_logits(std::vector<float>{3, 4}, std::vector<float>{4, 3}), kApprox,
                   kStrict, "gpu:0");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(result.error().message,
            "Device gpu:0 fails the parity gate: for one token its logits differ from the "
            "reference's by up to 1, with cosine 0.960000000, best token 1 against 0; it must be "
            "finite, agree on the best token and have a cosine of 0.999. 'quern verify' names the "
            "operation at fault.");
}

}  // namespace
}  // namespace quern
