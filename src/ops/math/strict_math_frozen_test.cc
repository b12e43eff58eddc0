// The bits of every strict function over a fixed set of inputs, as hashes. A failure here means
// that saved results change: raise kStrictMathVersion, then freeze the new hashes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/hash.h"
#include "ops/math/lane_evaluators.h"
#include "ops/math/strict_math.h"

namespace quern {
namespace {

// Hashes of the results of one function over fixed_inputs.
struct Frozen {
  uint64_t f32;
  uint64_t f64;
};
const std::map<std::string, Frozen>& frozen() {
  static const std::map<std::string, Frozen> table = {
#include "ops/math/frozen_hashes.inc"
  };
  return table;
}

// Even places: any bit pattern. Odd places: between -64 and 64, evenly in the logarithm.
template <class T>
std::vector<T> fixed_inputs(uint64_t seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr Bits kOne = std::bit_cast<Bits>(T(1));
  std::mt19937_64 random(seed);
  std::vector<T> inputs(1 << 15);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint64_t r = random();
    Bits bits = static_cast<Bits>(r >> 8);
    if (i % 2 == 1) {
      const Bits mantissa = bits & ((Bits{1} << kMantissa) - 1);
      // 20 binades from 2^-14 up, so values reach just below 2^6; mantissa and sign are random.
      const Bits exponent = static_cast<Bits>(r % 20) << kMantissa;
      bits = kOne - (Bits{14} << kMantissa) + exponent + mantissa;
      if ((r >> 63) != 0) bits |= Bits{1} << (sizeof(T) * 8 - 1);
    }
    inputs[i] = std::bit_cast<T>(bits);
  }
  return inputs;
}

// All NaNs hash alike: their payload is no part of the promise.
template <class T>
uint64_t hash_of(const std::vector<T>& values) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  Hasher hasher;
  for (const T v : values) {
    hasher.number(std::isnan(v) ? ~uint64_t{0} : uint64_t{std::bit_cast<Bits>(v)});
  }
  return hasher.digest();
}

// x from seed 1, y from seed 2. Another seed, count or order changes every hash.
template <class T, class Evaluate>
uint64_t unary_hash(Evaluate evaluate) {
  const auto x = fixed_inputs<T>(1);
  std::vector<T> y(x.size());
  evaluate(x.data(), y.data(), static_cast<long>(x.size()));
  return hash_of(y);
}
template <class T, class Evaluate>
uint64_t binary_hash(Evaluate evaluate) {
  const auto x = fixed_inputs<T>(1), y = fixed_inputs<T>(2);
  std::vector<T> z(x.size());
  evaluate(x.data(), y.data(), z.data(), static_cast<long>(x.size()));
  return hash_of(z);
}

// On failure it prints the row that the table needs once the version is raised.
void expect_frozen(const std::string& name, uint64_t f32, uint64_t f64) {
  const auto row = frozen().find(name);
  const bool same = row != frozen().end() && row->second.f32 == f32 && row->second.f64 == f64;
  EXPECT_TRUE(same) << "now: {\"" << name << "\", {0x" << std::hex << f32 << ", 0x" << f64 << "}},";
}

// New bits need a new version.
TEST(StrictMathFrozen, VersionIsTheOneOfTheHashes) {
  EXPECT_EQ(kStrictMathVersion, 1);
}

// Bits are promised across releases.
// The portable scalar loops stand for all: strict_math_lanes_test shows that other widths and
// instruction sets have the same bits.
TEST(StrictMathFrozen, BitsAreTheFrozenOnes) {
  const LaneEvaluators lanes = lane_evaluators_portable();
  for (int i = 0; i < lanes.num_unary; ++i) {
    const auto& row = lanes.unary[i];
    expect_frozen(row.name, unary_hash<float>(row.f32[0]), unary_hash<double>(row.f64[0]));
  }
  for (int i = 0; i < lanes.num_binary; ++i) {
    const auto& row = lanes.binary[i];
    expect_frozen(row.name, binary_hash<float>(row.f32[0]), binary_hash<double>(row.f64[0]));
  }
}

}  // namespace
}  // namespace quern
