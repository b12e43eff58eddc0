#include <gtest/gtest.h>

#include <limits>

#include "support/op_runner.h"

namespace quern::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Bytes = std::vector<uint8_t>;

// Two vectors of f64 of equal length.
Bytes compare(std::string_view id, const std::vector<double>& a, const std::vector<double>& b) {
  const Shape shape{static_cast<int64_t>(a.size())};
  return values_of<uint8_t>(run_one(id, {f64(shape, a), f64(shape, b)}));
}

// NaN compares as false, zeros of both signs as equal.
TEST(ComparisonOps, FloatsWithNaNAndZeros) {
  // Pairs: below, above, zeros of both signs, NaN twice, NaN and a number, equal numbers.
  const std::vector<double> a{1, 2, -0.0, kNaN, kNaN, 3}, b{2, 1, 0.0, kNaN, 1, 3};
  EXPECT_EQ(compare("compare.equal", a, b), (Bytes{0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(compare("compare.less", a, b), (Bytes{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(compare("compare.less_or_equal", a, b), (Bytes{1, 0, 1, 0, 0, 1}));
}

// A comparison as floats would merge large integers.
TEST(ComparisonOps, IntegersOfEverySign) {
  // As signed numbers 2^64 - 1 would be -1 and below 1.
  const auto u64 = [](std::vector<uint64_t> v) { return tensor_of(DType::kU64, Shape{2}, v); };
  EXPECT_EQ(
      values_of<uint8_t>(run_one("compare.less", {u64({1, UINT64_MAX}), u64({UINT64_MAX, 1})})),
      (Bytes{1, 0}));
  const auto i64 = [](std::vector<int64_t> v) { return tensor_of(DType::kI64, Shape{2}, v); };
  // Equal as doubles, not as integers.
  EXPECT_EQ(values_of<uint8_t>(
                run_one("compare.equal", {i64({INT64_MAX, -1}), i64({INT64_MAX - 1, -1})})),
            (Bytes{0, 1}));
}

// Nothing broadcasts by itself.
TEST(ComparisonOps, ShapesAndTypesMustBeEqual) {
  // A second extent, then a second dtype.
  EXPECT_FALSE(run_op("compare.equal", {f64(Shape{1}, {1}), f64(Shape{2}, {1, 2})}));
  EXPECT_FALSE(run_op("compare.equal", {f64(Shape{1}, {1}), f32(Shape{1}, {1})}));
  // An empty comparison has the dtype of a mask too.
  EXPECT_EQ(run_one("compare.less", {f64(Shape{0}, {}), f64(Shape{0}, {})}).dtype(), DType::kU8);
}

// Any byte but 0 is true.
TEST(Where, TakesBytesAsTheyAre) {
  // Any byte counts: a kernel that compares with 1, or looks at the top bit, fails for one of the
  // two.
  const Tensor mask = tensor_of<uint8_t>(DType::kU8, Shape{3}, {1, 0, 255});
  EXPECT_EQ(values_of<double>(run_one("compare.where",
                                      {mask, f64(Shape{3}, {1, 2, 3}), f64(Shape{3}, {4, 5, 6})})),
            (std::vector<double>{1, 5, 3}));
  EXPECT_EQ(values_of<int32_t>(run_one("compare.where",
                                       {mask, i32(Shape{3}, {1, 2, 3}), i32(Shape{3}, {4, 5, 6})})),
            (std::vector<int32_t>{1, 5, 3}));
  // Choices of two dtypes; then a mask that is a float.
  EXPECT_FALSE(run_op("compare.where", {mask, f64(Shape{3}, {1, 2, 3}), f32(Shape{3}, {4, 5, 6})}));
  EXPECT_FALSE(run_op("compare.where", {f64(Shape{3}, {1, 1, 1}), f64(Shape{3}, {1, 2, 3}),
                                        f64(Shape{3}, {4, 5, 6})}));
}

// And the cases that the processor traps on have results.
TEST(IntegerOps, QuotientsRoundTowardsZero) {
  // All four pairs of signs, a divisor of 0, and the quotient that does not fit.
  EXPECT_EQ(values_of<int32_t>(
                run_one("elementwise.quotient", {i32(Shape{6}, {7, -7, 7, -7, 5, INT32_MIN}),
                                                 i32(Shape{6}, {2, 2, -2, -2, 0, -1})})),
            (std::vector<int32_t>{3, -3, -3, 3, 0, INT32_MIN}));
  EXPECT_FALSE(run_op("elementwise.quotient", {f32(Shape{1}, {1}), f32(Shape{1}, {1})}));
}

// Of the dividend as in C, of the divisor as in Python.
TEST(IntegerOps, RemaindersTakeTheSignAskedFor) {
  const Tensor a = i32(Shape{6}, {7, -7, 7, -7, 5, INT32_MIN}),
               b = i32(Shape{6}, {3, 3, -3, -3, 0, -1});
  // Dividend: the sign of 7 or -7. Divisor: 7 mod -3 is -2, since -3 * -3 = 9 and 7 - 9 = -2.
  EXPECT_EQ(values_of<int32_t>(run_one("elementwise.remainder", {a, b})),
            (std::vector<int32_t>{1, -1, 1, -1, 0, 0}));
  EXPECT_EQ(values_of<int32_t>(run_one("elementwise.remainder", {a, b}, {{"sign", "divisor"}})),
            (std::vector<int32_t>{1, 2, -2, -1, 0, 0}));
  const auto f = values_of<double>(
      run_one("elementwise.remainder", {f64(Shape{3}, {5.5, -5.5, 1}), f64(Shape{3}, {2, 2, 0})}));
  EXPECT_EQ(f[0], 1.5);
  EXPECT_EQ(f[1], -1.5);
  // A float by 0 is NaN, the only number that differs from itself.
  EXPECT_NE(f[2], f[2]);
}

// Shifts by the width and more are defined.
TEST(IntegerOps, Bits) {
  // 0x80 and 0xff show whether the sign comes in (it must not, in u8) and whether bits are lost at
  // the top.
  const auto u8 = [](std::vector<uint8_t> v) { return tensor_of(DType::kU8, Shape{4}, v); };
  const Tensor a = u8({0xf0, 0xff, 1, 0x80}), b = u8({0x3c, 8, 7, 1});
  EXPECT_EQ(values_of<uint8_t>(run_one("bits.and", {a, b})), (Bytes{0x30, 8, 1, 0}));
  EXPECT_EQ(values_of<uint8_t>(run_one("bits.or", {a, b})), (Bytes{0xfc, 0xff, 7, 0x81}));
  EXPECT_EQ(values_of<uint8_t>(run_one("bits.xor", {a, b})), (Bytes{0xcc, 0xf7, 6, 0x81}));
  // A shift by 8 and one by 200 in a type of 8 bits.
  EXPECT_EQ(values_of<uint8_t>(run_one("bits.shift_left", {a, u8({1, 8, 7, 200})})),
            (Bytes{0xe0, 0, 0x80, 0}));
  EXPECT_EQ(values_of<uint8_t>(run_one("bits.shift_right", {a, u8({4, 8, 1, 7})})),
            (Bytes{0x0f, 0, 0, 1}));
  // -8 / 2 = -4; 99 is past the width and leaves the sign, -1; 5 >> 31 is 0.
  const Tensor negative = i32(Shape{3}, {-8, -8, 5}), count = i32(Shape{3}, {1, 99, 31});
  EXPECT_EQ(values_of<int32_t>(run_one("bits.shift_right", {negative, count})),
            (std::vector<int32_t>{-4, -1, 0}));
  EXPECT_FALSE(run_op("bits.and", {f32(Shape{1}, {1}), f32(Shape{1}, {1})}));
}

}  // namespace
}  // namespace quern::test
