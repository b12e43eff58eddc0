#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_runner.h"

namespace quern::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One vector of f64.
std::vector<double> run_f64(std::string_view id, const std::vector<double>& x) {
  return values_of<double>(run_one(id, {f64(Shape{static_cast<int64_t>(x.size())}, x)}));
}

// NaN where y is NaN, else within 4e-16 * (1 + |y|): some four units in the last place at 1, and an
// absolute bound near 0.
void expect_near(std::string_view id, const std::vector<double>& x, const std::vector<double>& y) {
  const auto actual = run_f64(id, x);
  ASSERT_EQ(actual.size(), y.size()) << id;
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(y[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << id << " of " << x[i];
    } else {
      EXPECT_NEAR(actual[i], y[i], 4e-16 * (1 + std::abs(y[i]))) << id << " of " << x[i];
    }
  }
}

// NumPy's and SciPy's values.
TEST(FunctionOps, AgreeWithNumPy) {
  // Both ends of [-1, 1], 0, and values in between without a pattern.
  const std::vector<double> x{-1.0, -0.75, -0.1, 0.0, 0.3, 0.9, 1.0};
  expect_near("math.acos", x,
              {3.141592653589793, 2.4188584057763776, 1.6709637479564565, 1.5707963267948966,
               1.2661036727794992, 0.45102681179626236, 0.0});
  expect_near("math.asin", x,
              {-1.5707963267948966, -0.848062078981481, -0.1001674211615598, 0.0,
               0.30469265401539747, 1.1197695149986342, 1.5707963267948966});
  expect_near("math.atan", x,
              {-0.7853981633974483, -0.6435011087932844, -0.09966865249116204, 0.0,
               0.2914567944778671, 0.7328151017865066, 0.7853981633974483});
  expect_near("math.tan", x,
              {-1.5574077246549023, -0.9315964599440725, -0.10033467208545055, 0.0,
               0.3093362496096232, 1.2601582175503392, 1.5574077246549023});
  expect_near("math.sinh", x,
              {-1.1752011936438014, -0.82231673193583, -0.10016675001984403, 0.0,
               0.3045202934471426, 1.0265167257081753, 1.1752011936438014});
  expect_near("math.cosh", x,
              {1.5430806348152437, 1.2946832846768448, 1.0050041680558035, 1.0, 1.0453385141288605,
               1.4330863854487743, 1.5430806348152437});
  expect_near("math.asinh", x,
              {-0.881373587019543, -0.6931471805599453, -0.09983407889920756, 0.0,
               0.29567304756342244, 0.8088669356527824, 0.881373587019543});
  expect_near("math.erf", x,
              {-0.8427007929497148, -0.7111556336535151, -0.1124629160182849, 0.0,
               0.3286267594591274, 0.7969082124228322, 0.8427007929497148});
  // Inside (-1, 1), then from 1 upwards to 1e10, where sqrt(x^2 - 1) is x.
  expect_near(
      "math.atanh", {-0.9, -0.1, 0.0, 0.5, 0.99},
      {-1.4722194895832204, -0.10033534773107558, 0.0, 0.5493061443340549, 2.6466524123622457});
  expect_near("math.acosh", {1.0, 1.5, 2.0, 10.0, 1e10},
              {0.0, 0.9624236501192069, 1.3169578969248168, 2.993222846126381, 23.7189981105004});
}

// C's Annex F, value by value.
TEST(FunctionOps, EdgesAreThoseOfC) {
  // Outside the domains, and NaN itself.
  expect_near("math.acos", {1.5, kNaN}, {kNaN, kNaN});
  expect_near("math.asin", {-1.5}, {kNaN});
  expect_near("math.acosh", {0.5}, {kNaN});
  expect_near("math.tan", {kInfinity}, {kNaN});
  // Poles at +-1, saturation of sinh at -1000, even cosh, erf at its limits.
  EXPECT_EQ(run_f64("math.atanh", {1, -1}), (std::vector<double>{kInfinity, -kInfinity}));
  EXPECT_EQ(run_f64("math.sinh", {kInfinity, -1000}), (std::vector<double>{kInfinity, -kInfinity}));
  EXPECT_EQ(run_f64("math.cosh", {-kInfinity}), std::vector<double>{kInfinity});
  EXPECT_EQ(run_f64("math.erf", {kInfinity, -kInfinity}), (std::vector<double>{1, -1}));
}

// Halves to even, signs of zero kept.
TEST(FunctionOps, RoundingGoesToTheStatedInteger) {
  // Halves on both sides, fractions, an integer beyond 2^53 and infinity.
  const std::vector<double> x{-2.5, -1.5, -0.5, -0.2, 0.5, 1.5, 2.5, 2.6, 1e300, kInfinity};
  EXPECT_EQ(run_f64("math.round", x),
            (std::vector<double>{-2, -2, -0.0, -0.0, 0, 2, 2, 3, 1e300, kInfinity}));
  EXPECT_EQ(run_f64("math.floor", x),
            (std::vector<double>{-3, -2, -1, -1, 0, 1, 2, 2, 1e300, kInfinity}));
  EXPECT_EQ(run_f64("math.ceil", x),
            (std::vector<double>{-2, -1, -0.0, -0.0, 1, 2, 3, 3, 1e300, kInfinity}));
  // The comparison above takes -0 for 0: the sign is tested apart.
  EXPECT_TRUE(std::signbit(run_f64("math.round", {-0.2})[0]));
  EXPECT_TRUE(std::isnan(run_f64("math.round", {kNaN})[0]));
  // 2^23 + 0.5 is not an f32; the largest fraction below it rounds to even.
  // 4194303.5 and 4194304.5 lie around 2^22, where f32 still has halves; both have 4194304 as even
  // neighbour.
  EXPECT_EQ(values_of<float>(run_one("math.round", {f32(Shape{2}, {4194303.5F, 4194304.5F})})),
            (std::vector<float>{4194304.0F, 4194304.0F}));
}

// Squares, roots, and the exceptions at 0 and 1.
TEST(FunctionOps, PowersOfPairs) {
  // Powers of two by whole exponents are exact; a negative base needs a whole exponent (1/3 is
  // none); 0^0 is 1; 10^-2.5.
  const auto y = values_of<double>(
      run_one("math.pow", {f64(Shape{6}, {2.0, 0.5, -2.0, -8.0, 0.0, 10.0}),
                           f64(Shape{6}, {10.0, -3.0, 3.0, 1.0 / 3, 0.0, -2.5})}));
  EXPECT_EQ(y[0], 1024);
  EXPECT_EQ(y[1], 8);
  EXPECT_EQ(y[2], -8);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(y[4], 1);
  EXPECT_NEAR(y[5], 0.0031622776601683794, 1e-17);
  // No broadcasting, no integers.
  EXPECT_FALSE(run_op("math.pow", {f64(Shape{1}, {1}), f64(Shape{2}, {1, 2})}));
  EXPECT_FALSE(run_op("math.pow", {i32(Shape{1}, {1}), i32(Shape{1}, {1})}));
}

// No elements, no row.
TEST(FunctionOps, EmptyTensorsStayEmpty) {
  for (const char* id : {"math.tan", "math.erf", "math.round", "math.acosh"}) {
    EXPECT_EQ(run_one(id, {f32(Shape{0, 3}, {})}).shape(), (Shape{0, 3})) << id;
    EXPECT_FALSE(run_op(id, {i32(Shape{1}, {1})})) << id;
  }
}

}  // namespace
}  // namespace quern::test
