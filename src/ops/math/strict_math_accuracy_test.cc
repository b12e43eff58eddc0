// Every strict function stays within 2 ulp (f32) and 4 ulp (f64) of the true value: f32 over a
// stride through all bit patterns (strict_math_exhaustive_test takes them all), f64 over a sample.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>

#include "ops/math/f32_sweep.h"
#include "ops/math/strict_math.h"
#include "ops/math/ulp_error.h"

namespace quern {
namespace {

// The promise of strict_math.h, in ulps.
constexpr double kLimitF32 = 2;
constexpr double kLimitF64 = 4;

class StrictMathAccuracy : public testing::TestWithParam<const char*> {};

// A sample of all f32 patterns, judged by the oracle's double.
TEST_P(StrictMathAccuracy, F32OverAStride) {
  const MathOracle* oracle = find_math_oracle(GetParam());
  if (oracle == nullptr) GTEST_SKIP() << GetParam() << " is a composition of rounded steps.";
  // A prime stride: about 2,046 inputs in each binade, with ever different low bits.
  const auto result = sweep_f32(fastest_f32_evaluator(GetParam()), *oracle, 4099);
  EXPECT_GE(result.num_inputs, (uint64_t{1} << 32) / 4099);
  EXPECT_LE(result.worst_ulp, kLimitF32) << "at " << std::hexfloat << result.worst_input;
}

// The largest error of a sample, and an input that has it.
struct F64Worst {
  double ulp = 0;
  double input = 0;
};
// `strict` maps one double; `oracle` judges in long double. The seed is fixed, so a failure
// repeats.
template <class Strict>
F64Worst worst_over_sample(Strict strict, const MathOracle& oracle) {
  std::mt19937_64 random(11);
  F64Worst worst;
  for (int i = 0; i < 200000; ++i) {
    const uint64_t r = random();
    const double unit = static_cast<double>(r >> 11) * 0x1p-53;
    // Any bit pattern; uniform in [-1, 1], [-10, 10], [-750, 750]; log-uniform near 0.
    const double choices[] = {std::bit_cast<double>(r), 2 * unit - 1, 20 * unit - 10,
                              1500 * unit - 750, std::exp2(-60 * unit)};
    const double x = choices[i % 5];
    const double ulp = ulp_error(strict(x), oracle.f80(x));
    if (ulp > worst.ulp) worst = {ulp, x};
  }
  return worst;
}

// Patterns of all binades, judged in long double where that is wider.
TEST_P(StrictMathAccuracy, F64OverASample) {
  if (std::numeric_limits<long double>::digits < 64) {
    GTEST_SKIP() << "long double is no wider than double here.";
  }
  const MathOracle* oracle = find_math_oracle(GetParam());
  if (oracle == nullptr) GTEST_SKIP() << GetParam() << " is a composition of rounded steps.";
  const LaneEvaluators lanes = lane_evaluators_portable();
  for (int i = 0; i < lanes.num_unary; ++i) {
    if (lanes.unary[i].name != std::string_view(GetParam())) continue;
    const auto one = [&](double x) {
      double y = 0;
      lanes.unary[i].f64[0](&x, &y, 1);
      return y;
    };
    const auto worst = worst_over_sample(one, *oracle);
    EXPECT_LE(worst.ulp, kLimitF64) << "at " << std::hexfloat << worst.input;
    RecordProperty("worst_ulp", std::to_string(worst.ulp));
  }
}

constexpr const char* kNames[] = {
#define QUERN_UNARY(name) #name,
#include "ops/math/unary_functions.inc"
#undef QUERN_UNARY
};
INSTANTIATE_TEST_SUITE_P(All, StrictMathAccuracy, testing::ValuesIn(kNames),
                         [](const auto& info) { return std::string(info.param); });

// `most` is a little above the logarithm of the largest T.
// Arguments of every kind for a function of two: any bits, ordinary ones, results near the limits.
template <class T, class Strict, class Exact>
double worst_of_pairs(Strict strict, Exact exact, T most) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::mt19937_64 random(12);
  double worst = 0;
  for (int i = 0; i < 400000; ++i) {
    const uint64_t r = random(), s = random();
    const T u = static_cast<T>(static_cast<double>(r >> 11) * 0x1p-53);
    const T v = static_cast<T>(static_cast<double>(s >> 11) * 0x1p-53 - 0.5);
    T x = std::bit_cast<T>(static_cast<Bits>(r)), y = std::bit_cast<T>(static_cast<Bits>(s));
    // x in [0, 4) with y in [-50, 50); then x far from 1 and x near 1, both with y log(x) evenly in
    // [-most, most), so that results overflow and become denormal too. Every fourth pair is raw
    // bits.
    if (i % 4 == 1) x = u * 4, y = v * 100;
    if (i % 4 == 2) x = std::exp((u - T(0.5)) * most), y = v * most * 2 / std::log(x);
    if (i % 4 == 3) x = 1 + (u - T(0.5)) * T(1e-3), y = v * most * 2 / std::log(x);
    worst = std::max(worst, ulp_error(strict(x, y), exact(x, y)));
  }
  return worst;
}

// pow and atan2 over pairs.
// double is the oracle: 29 more bits than f32, so its own last-bit errors do not count.
TEST(StrictMathAccuracy, PairsOfF32) {
  const auto power = [](float x, float y) { return strict_pow(x, y); };
  const auto angle = [](float y, float x) { return strict_atan2(y, x); };
  const auto exact_power = [](double x, double y) { return std::pow(x, y); };
  const auto exact_angle = [](double y, double x) { return std::atan2(y, x); };
  EXPECT_LE(worst_of_pairs<float>(power, exact_power, 90), kLimitF32);
  EXPECT_LE(worst_of_pairs<float>(angle, exact_angle, 90), kLimitF32);
}
// The same in f64.
TEST(StrictMathAccuracy, PairsOfF64) {
  if (std::numeric_limits<long double>::digits < 64) {
    GTEST_SKIP() << "long double is no wider than double here.";
  }
  const auto power = [](double x, double y) { return strict_pow(x, y); };
  const auto angle = [](double y, double x) { return strict_atan2(y, x); };
  const auto exact_power = [](long double x, long double y) { return std::pow(x, y); };
  const auto exact_angle = [](long double y, long double x) { return std::atan2(y, x); };
  EXPECT_LE(worst_of_pairs<double>(power, exact_power, 720), kLimitF64);
  EXPECT_LE(worst_of_pairs<double>(angle, exact_angle, 720), kLimitF64);
}

// Each step rounds as written.
// Equality, not a bound: these functions are defined by their steps, and a fused or reordered step
// in any of them would show. 0.0371 is no dyadic step, so mantissas are full.
TEST(StrictMathAccuracy, CompositionsFollowTheirSteps) {
  for (float x = -12; x < 12; x += 0.0371f) {
    const float e = strict_erf(x * 0.70710678118654752440f);
    EXPECT_EQ(strict_gelu(x), (x * 0.5f) * (1 + e));
    const float u = x + ((x * x) * x) * 0.044715f;
    EXPECT_EQ(strict_gelu_tanh(x), (x * 0.5f) * (1 + strict_tanh(u * 0.7978845608028654f)));
  }
}

}  // namespace
}  // namespace quern
