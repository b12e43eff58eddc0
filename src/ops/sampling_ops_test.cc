// Sampling: frequencies, padding, temperatures, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_runner.h"

namespace quern::test {
namespace {

// Weights 1, e, e^2 and e^3: token 3 is the likeliest.
const Tensor& logits() {
  static const Tensor tensor = f32(Shape{4}, {0, 1, 2, 3});
  return tensor;
}

// Token, kept ids and kept shares; empty tensors after a failure.
std::vector<Tensor> top_k(const Tensor& x, int64_t k, double temperature, int64_t seed) {
  auto outputs = run_op("sampling.top_k_sample", {x},
                        {{"top_k", k}, {"temperature", temperature}, {"seed", seed}});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? std::move(*outputs) : std::vector<Tensor>(3);
}

// Frequencies of many draws.
// Two are kept: 3 with 1 / (1 + e^-1) = 0.731, and 2. Tokens 0 and 1 must never come. 0.05 is 5
// sqrt(0.73 * 0.27 / 2000).
TEST(TopKSample, DrawsWithTheKeptProbabilities) {
  int counts[4] = {};
  double probability = 0;
  for (int64_t seed = 0; seed < 2000; ++seed) {
    const auto outputs = top_k(logits(), 2, 1.0, seed);
    ++counts[values_of<int32_t>(outputs[0]).at(0)];
    probability = values_of<float>(outputs[2]).at(0);
  }
  EXPECT_NEAR(probability, 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(counts[0] + counts[1], 0);
  EXPECT_NEAR(counts[3] / 2000.0, probability, 0.05);  // five standard deviations
}

// Kept ids have a fixed number.
// One candidate with all of the share; two of the three places are padding.
TEST(TopKSample, TemperatureZeroIsGreedyAndPadsWithMinusOne) {
  const auto outputs = top_k(logits(), 3, 0.0, 1);
  EXPECT_EQ(values_of<int32_t>(outputs[0]), (std::vector<int32_t>{3}));
  EXPECT_EQ(values_of<int32_t>(outputs[1]), (std::vector<int32_t>{3, -1, -1}));
  EXPECT_EQ(values_of<float>(outputs[2]), (std::vector<float>{1, 0, 0}));
}

// A stable order.
// The cut goes through three equal logits: ids 0 and 2 stay, 3 falls away.
TEST(TopKSample, EqualLogitsKeepTheLowestIds) {
  const auto outputs = top_k(f32(Shape{4}, {1, 2, 1, 1}), 3, 1.0, 1);
  EXPECT_EQ(values_of<int32_t>(outputs[1]), (std::vector<int32_t>{1, 0, 2}));
}

// The sum reaches p with it, not before it.
// Four shares of 1/4: the second reaches 0.5 exactly, so a third would be one too many.
TEST(TopPSample, KeepsTheTokenThatCrosses) {
  const auto outputs = run_op("sampling.top_p_sample", {f32(Shape{4}, {0, 0, 0, 0})},
                              {{"top_p", 0.5}, {"seed", int64_t{3}}});
  ASSERT_TRUE(outputs);
  EXPECT_EQ(values_of<int32_t>((*outputs)[1]), (std::vector<int32_t>{0, 1, -1, -1}));
  EXPECT_EQ(values_of<float>((*outputs)[2]), (std::vector<float>{0.5, 0.5, 0, 0}));
}

// NaN would draw anything.
// In order: NaN, +infinity, only -infinity, no logits, top_k = 0, a negative temperature, p = 0, p
// above 1, and logits of rank 2.
TEST(Sampling, RefusesBadLogitsAndAttributes) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto refused = [](std::vector<float> x, Attributes attributes) {
    const auto n = static_cast<int64_t>(x.size());
    return !run_op("sampling.top_k_sample", {f32(Shape{n}, x)}, std::move(attributes));
  };
  EXPECT_TRUE(refused({1, std::nanf("")}, {{"top_k", int64_t{1}}}));
  EXPECT_TRUE(refused({1, inf}, {{"top_k", int64_t{1}}}));
  EXPECT_TRUE(refused({-inf, -inf}, {{"top_k", int64_t{1}}}));
  EXPECT_TRUE(refused({}, {{"top_k", int64_t{1}}}));
  EXPECT_TRUE(refused({1, 2}, {{"top_k", int64_t{0}}}));
  EXPECT_TRUE(refused({1, 2}, {{"top_k", int64_t{1}}, {"temperature", -1.0}}));
  EXPECT_FALSE(run_op("sampling.top_p_sample", {logits()}, {{"top_p", 0.0}}));
  EXPECT_FALSE(run_op("sampling.top_p_sample", {logits()}, {{"top_p", 1.5}}));
  EXPECT_FALSE(run_op("sampling.greedy_sample", {f32(Shape{1, 2}, {1, 2})}));
}

// 1e-50 is above 0 in f64 and 0 in f32; 1e-40 divides to infinity: both gave NaN for shares.
TEST(TopKSample, TemperaturesThatOverflowAreRefused) {
  for (const double temperature : {1e-50, 1e-40}) {
    const auto refused =
        run_op("sampling.top_k_sample", {f32(Shape{2}, {1, 2})},
               {{"top_k", int64_t{2}}, {"temperature", temperature}, {"seed", int64_t{1}}});
    ASSERT_FALSE(refused) << temperature;
    EXPECT_NE(refused.error().message.find("too small for the largest logit 2"), std::string::npos)
        << refused.error().message;
  }
}

}  // namespace
}  // namespace quern::test
