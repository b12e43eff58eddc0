// Tests of the table of rotary angles: rows of the positions asked for, made once.
#include "backends/cpu/steps/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quern::cpu {
namespace {

class RopeTableTest : public testing::Test {
 protected:
  static RopeSpec spec() {
    RopeSpec spec;
    // Three pairs with a base of 100: angles that std::cos can check without losing digits.
    spec.n_rot = 6;
    spec.base = 100.0;
    return spec;
  }
  // Angle of pair i at a position: position * base^(-2 i / n_rot).
  static double angle(int32_t position, int64_t i) {
    return position * std::pow(100.0, -2.0 * static_cast<double>(i) / 6);
  }
  // The scalar level: the table is made by host functions alone.
  Machine machine_{2, best_kernel_table(CpuFeatures{})};
};

TEST_F(RopeTableTest, RowsAreThoseOfThePositions) {
  RopeTable<double> table(spec(), RopeStyle::kHalf);
  const std::vector<int32_t> positions = {0, 5, 1000, 5};
  table.update(positions, {}, machine_);
  ASSERT_EQ(table.row_size(), 3);
  for (size_t t = 0; t < positions.size(); ++t) {
    for (int64_t i = 0; i < 3; ++i) {
      const double a = angle(positions[t], i);
      EXPECT_NEAR(table.cos(static_cast<int64_t>(t))[i], std::cos(a), 1e-12) << t << " " << i;
      EXPECT_NEAR(table.sin(static_cast<int64_t>(t))[i], std::sin(a), 1e-12) << t << " " << i;
    }
  }
}

// Pairs (x0, x1) need (c, c) and (-s, s), so that a kernel multiplies whole vectors.
TEST_F(RopeTableTest, InterleavedRowsRepeatAndSign) {
  RopeTable<float> half(spec(), RopeStyle::kHalf);
  RopeTable<float> pairs(spec(), RopeStyle::kInterleaved);
  const std::vector<int32_t> positions = {3};
  half.update(positions, {}, machine_);
  pairs.update(positions, {}, machine_);
  ASSERT_EQ(pairs.row_size(), 6);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pairs.cos(0)[2 * i], half.cos(0)[i]);
    EXPECT_EQ(pairs.cos(0)[2 * i + 1], half.cos(0)[i]);
    EXPECT_EQ(pairs.sin(0)[2 * i], -half.sin(0)[i]);
    EXPECT_EQ(pairs.sin(0)[2 * i + 1], half.sin(0)[i]);
  }
}

// Twice as slow at position 8 is the same as position 4.
TEST_F(RopeTableTest, FactorsDivideTheFrequencies) {
  RopeTable<double> plain(spec(), RopeStyle::kHalf);
  RopeTable<double> slow(spec(), RopeStyle::kHalf);
  const std::vector<int32_t> positions = {8};
  const std::vector<int32_t> half_way = {4};
  const std::vector<double> twos = {2, 2, 2};
  plain.update(half_way, {}, machine_);
  slow.update(positions, twos, machine_);
  for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(slow.cos(0)[i], plain.cos(0)[i], 1e-15);
}

// 2 twice: the table may keep its rows; then other factors at the same position, where it may not.
TEST_F(RopeTableTest, AnUpdateReplacesTheRows) {
  RopeTable<double> table(spec(), RopeStyle::kHalf);
  for (const int32_t position : {1, 2, 2, 7}) {
    const std::vector<int32_t> positions = {position};
    table.update(positions, {}, machine_);
    EXPECT_NEAR(table.cos(0)[0], std::cos(position), 1e-14);
  }
  const std::vector<double> factors = {3, 3, 3};
  const std::vector<int32_t> positions = {7};
  table.update(positions, factors, machine_);  // the same positions, other frequencies
  EXPECT_NEAR(table.cos(0)[0], std::cos(7.0 / 3), 1e-14);
  table.update({}, factors, machine_);  // no tokens at all
}

}  // namespace
}  // namespace quern::cpu
