// Tests of overflow-checked arithmetic at the edges of 64 bits.
#include "base/checked_math.h"

#include <gtest/gtest.h>

#include <limits>

namespace quern {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// Up to both ends.
TEST(CheckedMath, ProductsThatFitAreExact) {
  // 2^31 * 2^31 is the largest product of equal powers that fits; kMin * 1 the lowest of all.
  EXPECT_EQ(checked_multiply(0, kMax), 0);
  EXPECT_EQ(checked_multiply(1, kMin), kMin);
  EXPECT_EQ(checked_multiply(-3, 7), -21);
  EXPECT_EQ(checked_multiply(int64_t{1} << 31, (int64_t{1} << 31)), int64_t{1} << 62);
  EXPECT_EQ(checked_multiply(kMax / 3, 3), kMax / 3 * 3);
}

// One past either end.
TEST(CheckedMath, ProductsThatDoNotFitAreNothing) {
  // -kMin is one more than kMax: the product that only two's complement refuses.
  EXPECT_FALSE(checked_multiply(kMax, 2));
  EXPECT_FALSE(checked_multiply(kMax / 3 + 1, 3));
  EXPECT_FALSE(checked_multiply(int64_t{1} << 32, int64_t{1} << 31));
  EXPECT_FALSE(checked_multiply(kMin, -1));
  EXPECT_FALSE(checked_multiply(kMin, 2));
}

// Carries in both directions.
TEST(CheckedMath, SumsStopAtBothEnds) {
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(kMin + 1, -1), kMin);
  // Opposite signs never overflow.
  EXPECT_EQ(checked_add(kMin, kMax), -1);
  EXPECT_FALSE(checked_add(kMax, 1));
  EXPECT_FALSE(checked_add(kMin, -1));
}

// 0 of them for nothing.
TEST(CheckedMath, CeilDivideCountsThePieces) {
  EXPECT_EQ(ceil_divide(0, 5), 0);
  EXPECT_EQ(ceil_divide(1, 5), 1);
  EXPECT_EQ(ceil_divide(5, 5), 1);
  EXPECT_EQ(ceil_divide(6, 5), 2);
  EXPECT_EQ(ceil_divide(7, 1), 7);
  // The largest argument that the contract a + b < 2^63 allows for b = 64.
  EXPECT_EQ(ceil_divide(kMax - 64, 64), kMax / 64);
}

// Multiples stay.
TEST(CheckedMath, RoundUpGivesTheNextMultiple) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(1, 64), 64);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(round_up(65, 64), 128);
  // By definition: a multiple, not below, and less than one multiple above.
  for (int64_t a = 0; a < 200; ++a) {
    const int64_t rounded = round_up(a, 7);
    EXPECT_EQ(rounded % 7, 0);
    EXPECT_GE(rounded, a);
    EXPECT_LT(rounded, a + 7);
  }
}

}  // namespace
}  // namespace quern
