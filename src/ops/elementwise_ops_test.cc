// Elementwise arithmetic: narrow floats, integers, zeros, bias, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/bit_equal.h"
#include "support/op_runner.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();

// Two vectors of f32 of equal length.
std::vector<float> run_f32(std::string_view id, std::vector<float> a, std::vector<float> b) {
  const auto n = static_cast<int64_t>(a.size());
  return values_of<float>(run_one(id, {f32(Shape{n}, a), f32(Shape{n}, b)}));
}

// IEEE for every pair of special operands.
TEST(Elementwise, SpecialValuesOfF32) {
  // inf - inf; -0 + -0 keeps the sign, -0 + 0 does not; denormals add exactly; NaN.
  EXPECT_TRUE(all_same_bits(run_f32("math.add", {kInf, -0.0f, -0.0f, kDenormal, kNaN},
                                    {-kInf, -0.0f, 0.0f, kDenormal, 1}),
                            {kNaN, -0.0f, 0.0f, 2 * kDenormal, kNaN}));
  // 1 / 0 and -1 / 0 have signed infinities, 0 / 0 and inf / inf are NaN, and half a denormal is a
  // tie that goes to 0.
  EXPECT_TRUE(
      all_same_bits(run_f32("elementwise.div", {1, -1, 0, kInf, kDenormal}, {0, 0, 0, kInf, 2}),
                    {kInf, -kInf, kNaN, kNaN, 0.0f}));
  // std::max would return its first operand for the zeros and lose NaN in one of the places.
  EXPECT_TRUE(all_same_bits(run_f32("elementwise.max", {-0.0f, kNaN, 1, -kInf}, {0.0f, 1, 2, kNaN}),
                            {0.0f, kNaN, 2, kNaN}));
  EXPECT_TRUE(all_same_bits(run_f32("elementwise.min", {-0.0f, kNaN, 1, kInf}, {0.0f, 1, 2, 3}),
                            {-0.0f, kNaN, 1, 3}));
  // Half of the smallest denormal rounds to even: 0. -1 * 0 is -0.
  EXPECT_TRUE(
      all_same_bits(run_f32("math.mul", {kDenormal, -1, kInf}, {0.5f, 0, 0}), {0.0f, -0.0f, kNaN}));
}

// 0 - x instead of -x would lose one.
TEST(Elementwise, UnaryOperationsKeepSignsOfZero) {
  const auto unary = [](const char* id) {
    // Zeros of both signs, an infinity, NaN, a square and its negative.
    return values_of<float>(run_one(id, {f32(Shape{6}, {0.0f, -0.0f, -kInf, kNaN, 4, -4})}));
  };
  EXPECT_TRUE(all_same_bits(unary("elementwise.abs"), {0.0f, 0.0f, kInf, kNaN, 4, 4}));
  EXPECT_TRUE(all_same_bits(unary("elementwise.neg"), {-0.0f, 0.0f, kInf, kNaN, -4, 4}));
  EXPECT_TRUE(all_same_bits(unary("math.sign"), {0.0f, 0.0f, -1, kNaN, 1, -1}));
  EXPECT_TRUE(all_same_bits(unary("elementwise.sqrt"), {0.0f, -0.0f, kNaN, kNaN, 2, kNaN}));
}

// f16: 1 + 2^-11 is a tie that goes to even after one rounding of the exact f32 sum.
TEST(Elementwise, NarrowFloatsRoundOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const auto bits = [&](float x) { return dtype == DType::kF16 ? to_f16(x) : to_bf16(x); };
    // Half a unit at 1: 11 bits of f16 and 8 of bf16.
    const float half_ulp = dtype == DType::kF16 ? 0x1p-11f : 0x1p-8f;
    const Tensor a = tensor_of<uint16_t>(dtype, Shape{2}, {bits(1), bits(1 + 2 * half_ulp)});
    const Tensor b = tensor_of<uint16_t>(dtype, Shape{2}, {bits(half_ulp), bits(half_ulp)});
    // 1 + half is a tie whose even neighbour is 1; the next number plus half is a tie whose even
    // neighbour lies above. A kernel that truncates, or rounds away from 0, fails for one of them.
    EXPECT_EQ(values_of<uint16_t>(run_one("math.add", {a, b})),
              (std::vector<uint16_t>{bits(1), bits(1 + 4 * half_ulp)}))
        << dtype_name(dtype);
  }
}

// Results are stored as casts are.
TEST(Elementwise, F8SaturatesOrOverflowsByItsDefault) {
  const Tensor a = tensor_of<uint8_t>(DType::kF8E4M3, Shape{1}, {to_f8e4m3(448.0f)});
  // 896 is past 448: e4m3 saturates. 114,688 is past 57,344: e5m2 has an infinity for it.
  EXPECT_EQ(values_of<uint8_t>(run_one("math.add", {a, a})).at(0), to_f8e4m3(448.0f));
  const Tensor b = tensor_of<uint8_t>(DType::kF8E5M2, Shape{1}, {to_f8e5m2(57344.0f)});
  EXPECT_EQ(f8e5m2_to_f32(values_of<uint8_t>(run_one("math.add", {b, b})).at(0)), kInf);
}

// Signed overflow would be undefined.
TEST(Elementwise, IntegersWrap) {
  // The ends of i8 with operands that leave it on both sides.
  const Tensor a = tensor_of<int8_t>(DType::kI8, Shape{3}, {127, -128, -128});
  const Tensor b = tensor_of<int8_t>(DType::kI8, Shape{3}, {1, 1, -1});
  const auto run = [&](const char* id) { return values_of<int8_t>(run_one(id, {a, b})); };
  EXPECT_EQ(run("math.add"), (std::vector<int8_t>{-128, -127, 127}));
  EXPECT_EQ(run("elementwise.sub"), (std::vector<int8_t>{126, 127, -127}));
  // 127 * 1, -128 * 1, -128 * -1 = 128 = -128 mod 256.
  EXPECT_EQ(run("math.mul"), (std::vector<int8_t>{127, -128, -128}));
  EXPECT_EQ(run("elementwise.max"), (std::vector<int8_t>{127, 1, -1}));
  EXPECT_EQ(values_of<int8_t>(run_one("elementwise.neg", {a})),
            (std::vector<int8_t>{-127, -128, -128}));
  EXPECT_EQ(values_of<int8_t>(run_one("elementwise.abs", {a})),
            (std::vector<int8_t>{127, -128, -128}));
  // Integers have elementwise.quotient.
  EXPECT_FALSE(run_op("elementwise.div", {a, b}));
}

// The one repetition that addition does itself.
TEST(Add, TakesABiasOfTheLastAxis) {
  const Tensor x = f32(Shape{2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values_of<float>(run_one("Add", {x, f32(Shape{2}, {10, 20})})),
            (std::vector<float>{11, 22, 13, 24}));
  // Too long for the last axis; the message asks for equal types, which is the other way out.
  const auto bad = run_op("Add", {x, f32(Shape{3}, {1, 2, 3})});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "Add: Port 'b' has type f32[3]; it needs the type of 'a', f32[2, 2].");
  // Multiplication has no such form, and a bias must not be wider.
  EXPECT_FALSE(run_op("Mul", {x, f32(Shape{2}, {1, 2})}));
  EXPECT_FALSE(run_op("Add", {x, f64(Shape{2}, {1, 2})}));
}

// No fused multiply-add.
TEST(Axpy, RoundsTheProductThenTheSum) {
  // alpha rounds to f32 first; the product and the sum round each.
  // x is 1 + 2^-12 so that alpha * x has more bits than f32: a fused operation would keep them.
  const float x = 1.0f + 0x1p-12f, y = 1.0f, alpha = 1.0f / 3.0f;
  const Tensor z =
      run_one("elementwise.axpy", {f32(Shape{1}, {x}), f32(Shape{1}, {y})}, {{"alpha", 1.0 / 3.0}});
  // volatile keeps a compiler from fusing the product of the expectation itself.
  volatile float product = alpha * x;
  EXPECT_TRUE(all_same_bits(values_of<float>(z), {y + product}));
}

// The factor is f64 in the graph.
TEST(Scale, RoundsItsFactorToTheComputeType) {
  const Tensor y = run_one("math.scale", {f32(Shape{2}, {9, -0.0f})}, {{"factor", 0.1}});
  // The factor is rounded before the product, so the expectation has 0.1f; in f64 the product would
  // be 0.9 and round to f32(0.9). The zero keeps its sign.
  ASSERT_NE(9 * 0.1f, 0.9f);
  EXPECT_TRUE(all_same_bits(values_of<float>(y), {9 * 0.1f, -0.0f}));
  const Tensor s = run_one("math.inv_sqrt_dim_scale", {f32(Shape{1, 3}, {1, 2, 3})});
  const float scale = static_cast<float>(1.0 / std::sqrt(3.0));
  EXPECT_TRUE(all_same_bits(values_of<float>(s), {scale, 2 * scale, 3 * scale}));
}

// No elements, no row.
TEST(Elementwise, EmptyTensorsStayEmpty) {
  const Tensor none = f32(Shape{0, 3}, {});
  EXPECT_EQ(run_one("math.add", {none, none}).shape(), (Shape{0, 3}));
  // No rows, but a bias: the loop over rows must not divide by its length.
  EXPECT_EQ(run_one("math.add", {none, f32(Shape{3}, {1, 2, 3})}).shape(), (Shape{0, 3}));
  EXPECT_EQ(run_one("elementwise.abs", {none}).shape(), (Shape{0, 3}));
  // An empty left side gives no rows, of two columns.
  EXPECT_EQ(run_one("math.outer", {f32(Shape{0}, {}), f32(Shape{2}, {1, 2})}).shape(),
            (Shape{0, 2}));
}

}  // namespace
}  // namespace quern::test
