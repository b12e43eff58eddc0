// Softmax and its relatives: the steps of the definition, special values, rules.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/math/strict_math.h"
#include "support/bit_equal.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

// The numbers differ between standard libraries; no expectation depends on them.
std::vector<float> normals(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 4.0f);
  std::vector<float> values(n);
  for (float& v : values) v = normal(random);
  return values;
}

// max and the lanes(32) sum of exp(x - max) of a row of at most 4,096 elements.
std::pair<float, float> plain_max_and_sum(const std::vector<float>& row) {
  float max = row[0];
  for (const float v : row) max = std::max(max, v);
  float lanes[32] = {};
  for (size_t i = 0; i < row.size(); ++i) lanes[i % 32] += strict_exp(row[i] - max);
  for (int half = 16; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return {max, lanes[0]};
}

// Maximum, exponentials, lanes, reciprocal.
// Lengths below, at and above 32 lanes, up to one whole chunk: plain_max_and_sum has no second one.
TEST(Softmax, FollowsTheStepsOfTheDefinition) {
  for (const size_t n : {1, 2, 31, 33, 64, 1000, 4096}) {
    const auto row = normals(n, static_cast<unsigned>(n));
    const auto [max, sum] = plain_max_and_sum(row);
    const Tensor x = f32({1, static_cast<int64_t>(n)}, row);
    std::vector<float> softmax, log_softmax;
    const float inv = 1.0f / sum, log_sum = strict_log(sum);
    for (const float v : row) {
      softmax.push_back(strict_exp(v - max) * inv);
      log_softmax.push_back((v - max) - log_sum);
    }
    EXPECT_TRUE(all_same_bits(values_of<float>(run_one("math.softmax", {x})), softmax)) << n;
    EXPECT_TRUE(
        all_same_bits(values_of<float>(run_one("activation.log_softmax", {x})), log_softmax));
    EXPECT_TRUE(all_same_bits(values_of<float>(run_one("math.logsumexp", {x})), {max + log_sum}));
  }
}

// Within the documented bound.
TEST(Softmax, IsCloseToFloat64InF32) {
  const auto row = normals(10000, 1);
  const std::vector<double> wide(row.begin(), row.end());
  const auto narrow = values_of<float>(run_one("math.softmax", {f32({10000}, row)}));
  const auto exact = values_of<double>(run_one("math.softmax", {f64({10000}, wide)}));
  double total = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    // exp 2 ulp, sum of 10,000 positive terms in lanes about 12 roundings, two more products.
    EXPECT_NEAR(narrow[i], exact[i], exact[i] * 2e-6 + 1e-12);
    total += exact[i];
  }
  EXPECT_NEAR(total, 1.0, 1e-12);
}

// As the rule says.
// Each of the four rows has one reason; the last shows that a single -infinity is just a share of
// 0.
TEST(Softmax, RowsWithInfinityOrNanGiveNan) {
  const Tensor x = f32({4, 2}, {-kInf, -kInf, 1, kInf, 1, kNan, -kInf, 5});
  const auto y = values_of<float>(run_one("math.softmax", {x}));
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_TRUE(std::isnan(y[4]) && std::isnan(y[5]));
  EXPECT_EQ(y[6], 0.0f);
  EXPECT_EQ(y[7], 1.0f);
}

// Where m + log(s) would be NaN.
TEST(LogSumExp, AnInfiniteMaximumIsTheResult) {
  const Tensor x = f32({3, 2}, {-kInf, -kInf, 1, kInf, kNan, 0});
  const auto y = values_of<float>(run_one("math.logsumexp", {x}));
  EXPECT_EQ(y[0], -kInf);
  EXPECT_EQ(y[1], kInf);
  EXPECT_TRUE(std::isnan(y[2]));
}

// Nothing rounds between.
// Two equal scores are 0.5 each, 0x3f00 in bf16.
TEST(Softmax, NarrowFloatsRoundOnceAtTheStore) {
  const Tensor x = tensor_of<uint16_t>(DType::kBF16, {2}, {0, 0});
  const Tensor y = run_one("math.softmax", {x});
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_EQ(values_of<uint16_t>(y), (std::vector<uint16_t>{0x3f00, 0x3f00}));
}

// No elements have no maximum.
// K = 0 has rows but no maxima; no rows at all need none.
TEST(Softmax, EmptyRowsStayEmptyButHaveNoLogSumExp) {
  const Tensor empty = f32({2, 0}, {});
  EXPECT_EQ(run_one("math.softmax", {empty}).shape(), (Shape{2, 0}));
  EXPECT_EQ(run_one("activation.log_softmax", {f32({0, 3}, {})}).shape(), (Shape{0, 3}));
  EXPECT_FALSE(run_op("math.logsumexp", {empty}));
  EXPECT_EQ(run_one("math.logsumexp", {f32({0, 3}, {})}).shape(), (Shape{0}));
}

// One mistake at a time.
// A scalar has no last axis.
TEST(Softmax, RefusesIntegersAndScalars) {
  for (const char* id : {"math.softmax", "activation.log_softmax", "math.logsumexp"}) {
    EXPECT_FALSE(run_op(id, {i32({2}, {1, 2})})) << id;
    EXPECT_FALSE(run_op(id, {f32({}, {1})})) << id;
  }
}

}  // namespace
}  // namespace quern::test
