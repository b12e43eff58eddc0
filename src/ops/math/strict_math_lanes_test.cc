// Every strict function gives the same bits for a scalar and for vectors of every width, in code
// compiled for every instruction set that this machine has.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ops/math/lane_evaluators.h"

namespace quern {
namespace {

constexpr int kCount = 1 << 15;  // a multiple of 16

// Special values, values of ordinary size, and random bit patterns.
template <class T>
std::vector<T> inputs(uint64_t seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0), -T(0), T(1), -T(1), T(0.5), T(2), T(-2), T(3), T(-3), T(1e-3)};
  // 800 and 1.6e6 are where sin and cos change to the far reduction in f32 and f64.
  for (const T v : {Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(), Limits::min(),
                    Limits::max(), std::nextafter(Limits::min(), T(0)), T(800), T(1600000)}) {
    values.insert(values.end(), {v, -v});
  }
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<T> ordinary(-20, 20);
  while (values.size() < kCount) {
    values.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
    values.push_back(ordinary(random));
  }
  values.resize(kCount);
  return values;
}

// Equal value and sign, or two NaNs. Five failures of a function are enough to see a pattern.
template <class T>
void expect_same_bits(const std::vector<T>& expected, const std::vector<T>& actual,
                      const std::vector<T>& x, const std::string& what) {
  int shown = 0;
  for (size_t i = 0; i < expected.size() && shown < 5; ++i) {
    const bool both_nan = std::isnan(expected[i]) && std::isnan(actual[i]);
    const bool same =
        expected[i] == actual[i] && std::signbit(expected[i]) == std::signbit(actual[i]);
    if (both_nan || same) continue;
    ++shown;
    ADD_FAILURE() << what << "(" << std::hexfloat << x[i] << ") is " << actual[i] << ", not "
                  << expected[i];
  }
}

// `reference[0]` is the scalar loop; null widths are not compiled in the tested build.
template <class T, class Evaluate>
void compare_unary(const Evaluate* reference, const Evaluate* tested, const std::string& what) {
  const auto x = inputs<T>(1);
  std::vector<T> expected(kCount), actual(kCount);
  reference[0](x.data(), expected.data(), kCount);
  for (int w = 0; w < kNumLaneWidths; ++w) {
    if (tested[w] == nullptr) continue;
    tested[w](x.data(), actual.data(), kCount);
    expect_same_bits(expected, actual, x, what + " width " + std::to_string(w));
  }
}
template <class T, class Evaluate>
void compare_binary(const Evaluate* reference, const Evaluate* tested, const std::string& what) {
  const auto x = inputs<T>(1);
  auto y = inputs<T>(2);
  // 28 covers the 26 special values of y: they meet the ordinary and random x behind them.
  for (int i = 0; i < 28 * 28; ++i) y[i + 28] = y[i % 28];  // specials against others
  std::vector<T> expected(kCount), actual(kCount);
  reference[0](x.data(), y.data(), expected.data(), kCount);
  for (int w = 0; w < kNumLaneWidths; ++w) {
    if (tested[w] == nullptr) continue;
    tested[w](x.data(), y.data(), actual.data(), kCount);
    expect_same_bits(expected, actual, x, what + " width " + std::to_string(w));
  }
}

// Rows are in the order of the lists in every build, so index i is one function.
void compare_all(const LaneEvaluators& tested) {
  const LaneEvaluators reference = lane_evaluators_portable();
  ASSERT_EQ(reference.num_unary, tested.num_unary);
  for (int i = 0; i < reference.num_unary; ++i) {
    const std::string name = reference.unary[i].name;
    compare_unary<float>(reference.unary[i].f32, tested.unary[i].f32, name + " f32");
    compare_unary<double>(reference.unary[i].f64, tested.unary[i].f64, name + " f64");
  }
  for (int i = 0; i < reference.num_binary; ++i) {
    const std::string name = reference.binary[i].name;
    compare_binary<float>(reference.binary[i].f32, tested.binary[i].f32, name + " f32");
    compare_binary<double>(reference.binary[i].f64, tested.binary[i].f64, name + " f64");
  }
}

// Vector code is the same formula.
TEST(StrictMathLanes, AllWidthsGiveTheScalarBits) {
  compare_all(lane_evaluators_portable());
}

#ifdef QUERN_LANES_X86
// 8 lanes with the hardware steps of simd_hardware-inl.h: minimum, maximum, and FMA where products
// are exact. The compiler itself may not contract, or bits would differ here.
TEST(StrictMathLanes, Avx2GivesTheScalarBits) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "This machine has no AVX2.";
  compare_all(lane_evaluators_avx2());
}
// 16 lanes, where scaling by 2^n and rounding to whole numbers are instructions too.
TEST(StrictMathLanes, Avx512GivesTheScalarBits) {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq")) {
    GTEST_SKIP() << "This machine has no AVX-512 F and DQ.";
  }
  compare_all(lane_evaluators_avx512());
}
#endif

}  // namespace
}  // namespace quern
