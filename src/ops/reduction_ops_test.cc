// Reductions: axes, orders, integers, narrow floats, special values, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/tensor_type.h"
#include "ops/lanes.h"
#include "support/bit_equal.h"
#include "support/npz_reader.h"
#include "support/op_runner.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

using Integers = std::vector<int64_t>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Both signs and many digits, so that sums round; 7919 is a prime and scatters neighbours.
std::vector<float> wavy(size_t n) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = float(int(i * 7919 % 257) - 128) * 0.37f;
  return x;
}

// Bits of an independent program, every length.
// 12 lengths from 0 to 10,000 lie around 32 lanes and chunks of 4,096, with short last chunks.
TEST(Reduction, WholeTensorsFollowTheGoldenBits) {
  const auto archive = read_npz(std::string(QUERN_SUITES_DIR) + "/strict_golden/lanes.npz");
  if (!archive) GTEST_SKIP() << archive.error().message;
  const auto x = archive->at("f32b_x").as<float>();
  const auto lengths = archive->at("lengths").as<int64_t>();
  const auto expect = [&](const char* id, const char* name, size_t row, const Tensor& input) {
    const auto y = values_of<float>(run_one(id, {input}));
    EXPECT_TRUE(all_same_bits(y, {archive->at(name).as<float>()[row]})) << id << " row " << row;
  };
  for (size_t row = 0; row < lengths.size(); ++row) {
    const auto n = lengths[row];
    const Tensor input = f32(Shape{n}, {x.begin(), x.begin() + n});
    expect("reduction.sum", "f32b_sum", row, input);
    expect("reduction.mean", "f32b_mean", row, input);
    if (n == 0) continue;
    expect("reduction.reduce_max", "f32b_max", row, input);
    expect("reduction.reduce_min", "f32b_min", row, input);
  }
}

// Axes 0 and 2 are not neighbours: the reduced elements count in row-major order.
// A row of 41 does not end at lane 31: counting lanes anew in each row gives other bits.
TEST(Reduction, SeveralAxesCountInRowMajorOrder) {
  const std::vector<float> x = wavy(5 * 3 * 41);
  const Tensor y = run_one("reduction.sum", {f32(Shape{5, 3, 41}, x)},
                           {{"axes", Integers{-1, 0}}, {"keep_dims", true}});
  EXPECT_EQ(y.shape(), (Shape{1, 3, 1}));
  std::vector<float> expected;
  for (int64_t j = 0; j < 3; ++j) {
    expected.push_back(lanes_sum<float>(
        5 * 41, [&](int64_t i) { return x[size_t(i / 41 * 123 + j * 41 + i % 41)]; }));
  }
  EXPECT_TRUE(all_same_bits(values_of<float>(y), expected));
}

// Elements of one result that do not lie together.
// The result's elements are those at even and at odd places: 1 3 5 7 and 8 6 4 2.
TEST(Reduction, LeadingAxes) {
  const Tensor y = run_one("reduction.reduce_max", {f32(Shape{2, 2, 2}, {1, 8, 3, 6, 5, 4, 7, 2})},
                           {{"axes", Integers{0, 1}}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{7, 8}));
}

// At the store.
TEST(Reduction, NarrowFloatsRoundOnce) {
  // 2048 + 1 is a tie in f16; the sum in f32 is 2048 + 3, which rounds to 2052.
  // 2051 is a tie of 2050 and 2052; rounded after each addition the sum would stay 2048.
  std::vector<uint16_t> x;
  for (const float v : {2048.0f, 1.0f, 1.0f, 1.0f}) x.push_back(to_f16(v));
  const Tensor y = run_one("reduction.sum", {tensor_of(DType::kF16, Shape{4}, x)});
  EXPECT_EQ(f16_to_f32(values_of<uint16_t>(y).at(0)), 2052.0f);
}

// In 64 bits that wrap.
// Sums pass the range of i8 at once: 384, -130 / 4, and a product of 128 * 128 * 127.
TEST(Reduction, IntegersAreExact) {
  const Tensor x = tensor_of<int8_t>(DType::kI8, Shape{4}, {-128, -128, 127, -1});
  EXPECT_EQ(values_of<int64_t>(run_one("reduction.sum", {x})), (Integers{-130}));
  EXPECT_EQ(values_of<int64_t>(run_one("reduction.l1_norm", {x})), (Integers{384}));
  EXPECT_EQ(values_of<int64_t>(run_one("reduction.prod", {x})), (Integers{-128 * -128 * -127}));
  EXPECT_EQ(values_of<double>(run_one("reduction.mean", {x})), (std::vector<double>{-32.5}));
  EXPECT_EQ(values_of<int8_t>(run_one("reduction.reduce_min", {x})), (std::vector<int8_t>{-128}));
  const int64_t big = std::numeric_limits<int64_t>::max();
  const Tensor wraps = tensor_of<int64_t>(DType::kI64, Shape{2}, {big, 1});
  EXPECT_EQ(values_of<int64_t>(run_one("reduction.sum", {wraps})),
            (Integers{std::numeric_limits<int64_t>::min()}));
}

// Sums of nothing, and maxima that do not exist.
// [2, 0] over everything is one empty sum, over axis 1 two of them, over axis 0 none.
TEST(Reduction, EmptyTensors) {
  const Tensor none = f32(Shape{2, 0}, {});
  EXPECT_TRUE(all_same_bits(values_of<float>(run_one("reduction.sum", {none})), {0.0f}));
  EXPECT_EQ(values_of<float>(run_one("reduction.prod", {none}, {{"axes", Integers{1}}})),
            (std::vector<float>{1, 1}));
  EXPECT_TRUE(std::isnan(values_of<float>(run_one("reduction.mean", {none})).at(0)));
  EXPECT_FALSE(run_op("reduction.reduce_max", {none}));
  EXPECT_FALSE(run_op("reduction.argmin", {none}));
  EXPECT_EQ(run_one("reduction.reduce_max", {none}, {{"axes", Integers{0}}}).shape(), (Shape{0}));
}

// NaN, infinities, zeros of both signs.
TEST(Reduction, SpecialValues) {
  const auto max = [](std::vector<float> x) {
    const auto n = static_cast<int64_t>(x.size());
    return values_of<float>(run_one("reduction.reduce_max", {f32(Shape{n}, x)})).at(0);
  };
  EXPECT_TRUE(std::isnan(max({1, kNaN, 2})));
  EXPECT_EQ(max({-kInf, -1}), -1.0f);
  EXPECT_TRUE(same_bits(max({-0.0f, 0.0f}), 0.0f));
  EXPECT_TRUE(same_bits(max({-0.0f, -0.0f}), -0.0f));
}

// An order that a plain loop does not have.
// In a plain loop 1e16 + 1 is 1e16 and the result is 0.
TEST(Reduction, CancellationFollowsTheLanes) {
  // Lane 0 and lane 2 join before lane 1.
  const Tensor y = run_one("reduction.sum", {f64(Shape{3}, {1e16, 1, -1e16})});
  EXPECT_EQ(values_of<double>(y).at(0), 1.0);
}

// Outside, or named twice.
TEST(Reduction, RefusesBadAxes) {
  const Tensor x = f32(Shape{2, 3}, wavy(6));
  EXPECT_FALSE(run_op("reduction.sum", {x}, {{"axes", Integers{2}}}));
  EXPECT_FALSE(run_op("reduction.sum", {x}, {{"axes", Integers{1, -1}}}));
  const auto types =
      infer_op("reduction.sum", {parse_tensor_type("bf16[T, 8]").value()}, {{"axes", Integers{1}}});
  EXPECT_EQ(types->front().to_string(), "bf16[T]");
}

// The order that ties are broken in.
// Equal ones, equal zeros of both signs, two NaNs: always the first.
TEST(Argmin, FirstNaNElseLowestIndex) {
  const Tensor x = f32(Shape{3, 3}, {2, 1, 1, 0.0f, -0.0f, 1, 5, kNaN, kNaN});
  EXPECT_EQ(values_of<int32_t>(run_one("reduction.argmin", {x})), (std::vector<int32_t>{1, 0, 1}));
}

// Not -0.
TEST(Dot, OfNothingIsPlusZero) {
  const Tensor none = f32(Shape{0}, {});
  EXPECT_TRUE(all_same_bits(values_of<float>(run_one("dot.dot", {none, none})), {0.0f}));
  EXPECT_FALSE(run_op("dot.dot", {f32(Shape{1}, {1}), f32(Shape{2}, {1, 2})}));
}

}  // namespace
}  // namespace quern::test
