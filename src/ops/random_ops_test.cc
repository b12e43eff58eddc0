// Random operations: golden bits, statistics, seeds, edges.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/math/strict_math.h"
#include "ops/philox.h"
#include "support/bit_equal.h"
#include "support/npz_reader.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

std::vector<float> ones(size_t n) {
  return std::vector<float>(n, 1.0f);
}

Attributes dropout(double p, int64_t seed) {
  return {{"p", p}, {"seed", seed}};
}

// The runner uses stream 0 and node 0; the golden bits are checked through RandomWords.
// Stream 3 and node 7 are set by calling the kernel itself. p = 0.3 rounds to f32 before u < p.
TEST(Dropout, GoldenValuesOfTheFormula) {
  const auto suite = read_npz(std::string(QUERN_SUITES_DIR) + "/strict_golden/random.npz");
  if (!suite) GTEST_SKIP() << suite.error().message;
  const auto x = suite->at("dropout_x").as<float>();
  std::vector<float> y(x.size());
  const OpDef* op = builtin_ops().find("math.dropout");
  ASSERT_NE(op, nullptr);
  const Attributes attributes = {
      {"p", 0.3}, {"seed", int64_t{42}}, {"node_id", int64_t{-1}}, {"training", true}};
  // Views are of bytes that may be written; a kernel leaves its inputs alone.
  const auto bytes = [](const std::vector<float>& v) {
    return reinterpret_cast<std::byte*>(const_cast<float*>(v.data()));
  };
  const TensorView in{DType::kF32, Shape{64}, bytes(x)}, out{DType::kF32, Shape{64}, bytes(y)};
  ASSERT_TRUE(op->reference({.inputs = {&in, 1},
                             .outputs = {&out, 1},
                             .attributes = attributes,
                             .stream = 3,
                             .node_id = 7}));
  EXPECT_TRUE(all_same_bits(y, suite->at("dropout_y").as<float>()));
}

// The expectation stays.
// Survivors have one value. 0.034 = 5 sqrt(0.75 * 0.25 / 4096).
TEST(Dropout, KeepsItsShareAndScales) {
  const Tensor y = run_one("math.dropout", {f32(Shape{4096}, ones(4096))}, dropout(0.25, 7));
  int kept = 0;
  for (const float v : values_of<float>(y)) {
    EXPECT_TRUE(v == 0 || v == 1 / 0.75f);
    kept += v != 0;
  }
  EXPECT_NEAR(kept / 4096.0, 0.75, 0.034);  // five standard deviations
}

// Another seed, node or stream, another mask.
// 7 + 2^32 differs in the high half of the key alone, -7 in both halves.
TEST(Dropout, SeedsDecide) {
  const auto run = [](int64_t seed) {
    return values_of<float>(
        run_one("math.dropout", {f32(Shape{256}, ones(256))}, dropout(0.5, seed)));
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
  EXPECT_NE(run(7), run(7 + (int64_t{1} << 32)));
  EXPECT_NE(run(7), run(-7));
}

// 0 keeps all, 1 drops all, NaN included.
// p = 0 scales by 1; NaN fails both comparisons of the rule.
TEST(Dropout, EdgesOfP) {
  const Tensor x = f32(Shape{3}, {1, -2, 3});
  EXPECT_EQ(values_of<float>(run_one("math.dropout", {x}, dropout(0, 1))),
            (std::vector<float>{1, -2, 3}));
  EXPECT_TRUE(all_same_bits(values_of<float>(run_one("math.dropout", {x}, dropout(1, 1))),
                            {0.0f, 0.0f, 0.0f}));
  EXPECT_FALSE(run_op("math.dropout", {x}, dropout(1.5, 1)));
  EXPECT_FALSE(run_op("math.dropout", {x}, dropout(-0.1, 1)));
  EXPECT_FALSE(run_op("math.dropout", {x}, dropout(std::nan(""), 1)));
  EXPECT_EQ(run_one("math.dropout", {f32(Shape{0}, {})}).shape(), (Shape{0}));
}

// Element i takes word i.
// 15 elements end inside a block of four words. In f64 an element takes two words and the bounds -1
// and 1 are exact, so the sum is the kernel's own.
TEST(Uniform, ElementsOfTheGenerator) {
  const std::vector<int64_t> shape = {3, 5};
  const Attributes attributes = {{"shape", shape}, {"seed", int64_t{42}}};
  const RandomWords random{.seed = 42};
  const auto y = values_of<float>(run_one("random.uniform", {}, attributes));
  ASSERT_EQ(y.size(), 15u);
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(y[i], random.uniform_f32(i));

  Attributes wide = attributes;
  wide.set("dtype", std::string("f64"));
  wide.set("low", -1.0);
  const auto z = values_of<double>(run_one("random.uniform", {}, wide));
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(z[i], -1.0 + random.uniform_f64(i) * 2.0);
}

// Cosine and sine of one angle.
// Elements 2 and 3 are the second pair: words 2 and 3, cosine first.
TEST(Normal, PairsShareTheirWords) {
  const std::vector<int64_t> shape = {4};
  const auto y =
      values_of<float>(run_one("random.normal", {}, {{"shape", shape}, {"seed", int64_t{5}}}));
  const RandomWords random{.seed = 5};
  const float u1 = float((random.word(2) >> 8) + 1) * 0x1p-24f;
  const float u2 = float(random.word(3) >> 8) * 0x1p-24f;
  const float r = std::sqrt(-2 * strict_log(u1)), t = 6.2831853f * u2;
  EXPECT_TRUE(same_bits(y.at(2), r * strict_cos(t)));
  EXPECT_TRUE(same_bits(y.at(3), r * strict_sin(t)));
}

// As asked, within the error of a sample.
// 0.1 = 5 * 2 / sqrt(10000), 0.071 = 5 * 2 / sqrt(2 * 10000).
TEST(Normal, MeanAndDeviation) {
  const std::vector<int64_t> shape = {10000};
  const auto y = values_of<float>(
      run_one("random.normal", {}, {{"shape", shape}, {"mean", 3.0}, {"std", 2.0}}));
  double sum = 0, squares = 0;
  for (const float v : y) sum += v;
  const double mean = sum / 10000;
  for (const float v : y) squares += (v - mean) * (v - mean);
  EXPECT_NEAR(mean, 3, 0.1);  // five standard errors
  EXPECT_NEAR(std::sqrt(squares / 10000), 2, 0.071);
}

// From 0 on; a limit of 0 leaves no value to give.
TEST(RandomIntegers, StayBelowTheLimit) {
  const std::vector<int64_t> shape = {1000};
  const auto y = values_of<int32_t>(
      run_one("random.integers", {}, {{"shape", shape}, {"limit", int64_t{10}}}));
  for (const int32_t v : y) EXPECT_TRUE(v >= 0 && v < 10);
  EXPECT_FALSE(run_op("random.integers", {}, {{"limit", int64_t{0}}}));
}

// The tensor's own values do not matter.
// -1 is no extent and i32 no float dtype.
TEST(RandomOps, TakeTheShapeOfLike) {
  EXPECT_EQ(run_one("random.uniform", {i32(Shape{2, 3}, std::vector<int32_t>(6))}).shape(),
            (Shape{2, 3}));
  const std::vector<int64_t> bad = {-1};
  EXPECT_FALSE(run_op("random.uniform", {}, {{"shape", bad}}));
  EXPECT_FALSE(run_op("random.uniform", {}, {{"dtype", std::string("i32")}}));
}

// Evaluation is deterministic.
// (0.25 + 0.75) / 2 is exact; -0 is not below 0. In training, element 0 takes word 0 of seed,
// stream and node 0.
TEST(Rrelu, MeanSlopeUnlessTraining) {
  const Tensor x = f32(Shape{3}, {-1, -0.0f, 2});
  const Attributes bounds = {{"lower", 0.25}, {"upper", 0.75}};
  EXPECT_TRUE(
      all_same_bits(values_of<float>(run_one("activation.rrelu", {x}, bounds)), {-0.5f, -0.0f, 2}));
  Attributes training = bounds;
  training.set("training", true);
  const float u = RandomWords{}.uniform_f32(0);
  EXPECT_EQ(values_of<float>(run_one("activation.rrelu", {x}, training)).at(0),
            -(0.25f + u * 0.5f));
  EXPECT_FALSE(run_op("activation.rrelu", {x}, {{"lower", 1.0}, {"upper", 0.0}}));
}

}  // namespace
}  // namespace quern::test
