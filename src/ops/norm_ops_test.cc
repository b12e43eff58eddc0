// Norms against expected bits; group, instance and batch norm through layer norm.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "support/bit_equal.h"
#include "support/golden.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

// "f32_64_rms_w_e5": dtype, length, operation, vectors given, eps.
struct NormCase {
  std::string prefix;
  std::string rest;
  bool is_rms() const { return rest.starts_with("rms"); }
  bool has(std::string_view part) const {
    return ("_" + rest + "_").find("_" + std::string(part) + "_") != std::string::npos;
  }
  double eps() const { return has("e6") ? 1e-6 : 1e-5; }
};

// The gemma variant adds 1 to the weight in T beforehand, as a loader does for files without it.
template <class T>
void expect_case(const Golden& golden, const std::string& name, const NormCase& c) {
  const Tensor x = golden.tensor(c.prefix + "x");
  Tensor weight = c.has("w") || c.has("wb") ? golden.tensor(c.prefix + "w") : Tensor();
  if (c.has("gemma")) {
    std::vector<T> values = golden.values<T>(c.prefix + "w");
    for (T& v : values) v = v + T(1);
    weight = tensor_of<T>(x.dtype(), x.shape(), values);
  }
  std::vector<Tensor> inputs = {x, weight};
  if (c.has("wb")) inputs.push_back(golden.tensor(c.prefix + "b"));
  const Tensor y =
      run_one(c.is_rms() ? "math.rmsnorm" : "math.layernorm", inputs, {{"eps", c.eps()}});
  EXPECT_TRUE(all_same_bits(values_of<T>(y), golden.values<T>(name))) << name;
}

// Bits of an independent program.
// Four lengths in f32 (1, 7, 64, 576) with 8 variants, 5,000 with 4, and the four in f64: 5,000 is
// beyond a chunk of 4,096. The count catches a name that no longer parses.
TEST(Norms, HaveTheExpectedBits) {
  QUERN_OPEN_GOLDEN(golden, QUERN_SUITES_DIR "/strict_golden/norms.npz");
  int num_cases = 0;
  for (const auto& [name, array] : golden.arrays()) {
    const size_t split = name.find('_', 4);
    if (!name.starts_with("f") || split == std::string::npos) continue;
    const NormCase c{name.substr(0, split + 1), name.substr(split + 1)};
    if (!c.rest.starts_with("rms") && !c.rest.starts_with("layer")) continue;
    ++num_cases;
    if (name.starts_with("f32")) {
      expect_case<float>(golden, name, c);
    } else {
      expect_case<double>(golden, name, c);
    }
  }
  EXPECT_EQ(num_cases, 4 * 8 + 4 + 4 * 8);
}

// Where the variance is 0.
// Zeros keep their signs through rms; five elements of 2.5 with eps = 0 are 0 * infinity, NaN.
TEST(Norms, ZerosAndConstantRowsHaveTheExpectedBits) {
  QUERN_OPEN_GOLDEN(golden, QUERN_SUITES_DIR "/strict_golden/norms.npz");
  const Tensor zero = golden.tensor("zero_x");
  const Attributes eps = {{"eps", 1e-5}};
  EXPECT_TRUE(all_same_bits(values_of<float>(run_one("math.rmsnorm", {zero}, eps)),
                            golden.values<float>("zero_rms")));
  EXPECT_TRUE(all_same_bits(values_of<float>(run_one("math.layernorm", {zero}, eps)),
                            golden.values<float>("zero_layer")));
  EXPECT_TRUE(all_same_bits(
      values_of<float>(run_one("math.layernorm", {golden.tensor("eps0_x")}, {{"eps", 0.0}})),
      golden.values<float>("eps0_layer")));
}

// 37 i mod 101 leaves no pattern that mixed-up rows or channels would keep.
std::vector<float> ramp(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(static_cast<int>((i * 37) % 101) - 50) * 0.173f;
  }
  return values;
}

// Rows do not see each other.
// 40 elements fill the 32 lanes once and then a quarter: a lane that is not cleared would show.
TEST(RmsNorm, EveryRowIsNormalisedAlone) {
  const auto values = ramp(3 * 40);
  const Tensor weight = f32({40}, ramp(40));
  const auto together = values_of<float>(run_one("math.rmsnorm", {f32({3, 40}, values), weight}));
  for (size_t r = 0; r < 3; ++r) {
    const std::vector<float> row(values.begin() + static_cast<long>(r * 40),
                                 values.begin() + static_cast<long>(r * 40 + 40));
    const auto alone = values_of<float>(run_one("math.rmsnorm", {f32({40}, row), weight}));
    EXPECT_TRUE(all_same_bits(std::span(together).subspan(r * 40, 40), std::span(alone)));
  }
}

// At the store.
TEST(RmsNorm, NarrowFloatsRoundOnce) {
  // bf16 of 3 and 4; the norm is computed in f32 and only the result rounds.
  // mean(x^2) = (9 + 16) / 2 = 12.5, so 3 / sqrt(12.5) = 0.8485 and 4 / sqrt(12.5) = 1.1314.
  const Tensor x = tensor_of<uint16_t>(DType::kBF16, {2}, {0x4040, 0x4080});
  const Tensor y = run_one("math.rmsnorm", {x}, {{"eps", 0.0}});
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_EQ(values_of<uint16_t>(y), (std::vector<uint16_t>{0x3f59, 0x3f91}));  // 0.8485, 1.1314
}

// Not over the batch.
// With infinity the mean of squares is infinite and inv is 0: infinity * 0 is NaN, 1 * 0 is 0.
TEST(RmsNorm, NanAndInfinitySpreadOverTheirRowOnly) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = f32({2, 2}, {1, inf, 1, 1});
  const auto y = values_of<float>(run_one("math.rmsnorm", {x}));
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_NEAR(y[2], 1.0f, 1e-6f);
}

// The definition's limit.
// 6 channels of 5 elements in one group are a row of 30 of layer norm.
TEST(GroupNorm, OneGroupIsLayerNormOfTheSample) {
  const auto values = ramp(2 * 6 * 5);
  const Tensor grouped =
      run_one("math.groupnorm", {f32({2, 6, 5}, values)}, {{"groups", int64_t{1}}});
  const Tensor rows = run_one("math.layernorm", {f32({2, 30}, values)});
  EXPECT_TRUE(all_same_bits(values_of<float>(grouped), values_of<float>(rows)));
}

// Not to groups.
// Two channels in a group have different weights, so a weight taken by group would repeat.
TEST(GroupNorm, WeightsBelongToChannels) {
  const auto values = ramp(2 * 4 * 3);
  const Tensor x = f32({2, 4, 3}, values);
  const Attributes groups = {{"groups", int64_t{2}}};
  const auto plain = values_of<float>(run_one("math.groupnorm", {x}, groups));
  const std::vector<float> weight = {1, 2, 3, 4}, bias = {0, 10, 20, 30};
  const auto scaled =
      values_of<float>(run_one("math.groupnorm", {x, f32({4}, weight), f32({4}, bias)}, groups));
  for (size_t i = 0; i < plain.size(); ++i) {
    const size_t channel = i / 3 % 4;
    EXPECT_EQ(scaled[i], plain[i] * weight[channel] + bias[channel]) << i;
  }
}

// The other limit.
TEST(InstanceNorm, IsGroupNormWithOneChannelInEachGroup) {
  const Tensor x = f32({2, 4, 3}, ramp(24));
  EXPECT_TRUE(
      all_same_bits(values_of<float>(run_one("normalization.instance_norm", {x})),
                    values_of<float>(run_one("math.groupnorm", {x}, {{"groups", int64_t{4}}}))));
}

// And not those of the batch.
// Means 1 and 3, variances 4 and 16 with exact roots 2 and 4: every result is a short fraction.
TEST(BatchNorm, UsesTheStoredStatistics) {
  const Tensor x = f32({1, 2, 2}, {1, 2, 3, 4});
  const Tensor mean = f32({2}, {1, 3}), var = f32({2}, {4, 16});
  const auto y =
      values_of<float>(run_one("normalization.batch_norm_eval", {x, mean, var}, {{"eps", 0.0}}));
  EXPECT_EQ(y, (std::vector<float>{0.0f, 0.5f, 0.0f, 0.25f}));
}

// One mistake at a time.
// In order: a short weight, a wider one, integers, groups that do not divide 3 channels, no groups,
// too few axes, a missing variance.
TEST(Norms, RefuseWrongTypes) {
  const Tensor x = f32({2, 3}, ramp(6));
  const auto short_weight = run_op("math.rmsnorm", {x, f32({2}, {1, 1})});
  ASSERT_FALSE(short_weight);
  EXPECT_NE(short_weight.error().message.find("Port 'weight' has type f32[2]"), std::string::npos)
      << short_weight.error().message;
  EXPECT_FALSE(run_op("math.rmsnorm", {x, f64({3}, {1, 1, 1})}));
  EXPECT_FALSE(run_op("math.rmsnorm", {i32({3}, {1, 1, 1})}));
  EXPECT_FALSE(run_op("math.groupnorm", {x}, {{"groups", int64_t{2}}}));
  EXPECT_FALSE(run_op("math.groupnorm", {x}, {{"groups", int64_t{0}}}));
  EXPECT_FALSE(run_op("math.groupnorm", {f32({3}, ramp(3))}, {{"groups", int64_t{1}}}));
  EXPECT_FALSE(run_op("normalization.batch_norm_eval", {x, f32({3}, ramp(3))}));
}

// Each extent may be 0.
TEST(Norms, AcceptTensorsWithoutElements) {
  EXPECT_EQ(run_one("math.rmsnorm", {f32({0, 4}, {})}).shape().to_string(), "[0, 4]");
  EXPECT_EQ(run_one("math.layernorm", {f32({2, 0}, {})}).shape().to_string(), "[2, 0]");
  EXPECT_EQ(run_one("normalization.instance_norm", {f32({2, 3, 0}, {})}).shape().to_string(),
            "[2, 3, 0]");
}

}  // namespace
}  // namespace quern::test
