// Rotary embeddings against an independent oracle, and their rules.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "ops/rope_frequencies.h"
#include "support/bit_equal.h"
#include "support/golden.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

// Values of an oracle in 80-bit floats, from the formulas in the folder's README.
const std::string kData = QUERN_TEST_DATA_DIR "/ops/rope.npz";

struct RopeCase {
  std::string name;
  Attributes attributes;
  bool has_factors = false;
};

AttributeValue text(const char* value) {
  return std::string(value);
}

// One case for each way to make frequencies. yarn leaves the ramp at its defaults, yarn_weak
// changes every number of it; partial rotates 10 of 16 elements.
std::vector<RopeCase> rope_cases() {
  return {
      {"interleaved", {}},
      {"half", {{"style", text("half")}, {"base", 1e6}}},
      {"partial", {{"style", text("half")}, {"base", 500000.0}, {"n_rot", int64_t{10}}}},
      {"linear", {{"style", text("half")}, {"scaling", text("linear")}, {"factor", 8.0}}},
      {"factors", {{"base", 500000.0}}, true},
      {"yarn",
       {{"style", text("half")},
        {"base", 150000.0},
        {"scaling", text("yarn")},
        {"factor", 32.0},
        {"original_context", int64_t{4096}},
        {"attn_factor", rope_magnitude(32.0)}}},
      {"yarn_weak",
       {{"scaling", text("yarn")},
        {"factor", 4.0},
        {"original_context", int64_t{512}},
        {"extrapolation_factor", 0.5},
        {"beta_fast", 8.0},
        {"beta_slow", 2.0},
        {"attn_factor", 1.25}}},
  };
}

class RopeAt : public testing::TestWithParam<RopeCase> {};

// Scalings, styles and factors against float64.
TEST_P(RopeAt, AgreesWithTheOracle) {
  QUERN_OPEN_GOLDEN(golden, kData);
  const RopeCase& c = GetParam();
  const Tensor factors = c.has_factors ? golden.tensor("factors") : Tensor();
  const Tensor x = golden.tensor("x"), positions = golden.tensor("positions");
  const auto expected = golden.values<double>("y_" + c.name);

  const auto y =
      values_of<double>(run_one("positional.rope_at", {x, positions, factors}, c.attributes));
  ASSERT_EQ(y.size(), expected.size());
  for (size_t i = 0; i < y.size(); ++i) {
    // The error of an angle grows with the position: 131,071 * a few ulp of the frequency.
    EXPECT_NEAR(y[i], expected[i], 2e-10) << i;
  }

  const auto wide = golden.values<double>("x");
  const Tensor narrow = f32(x.shape(), {wide.begin(), wide.end()});
  const auto y32 =
      values_of<float>(run_one("positional.rope_at", {narrow, positions, factors}, c.attributes));
  ASSERT_EQ(y32.size(), expected.size());
  for (size_t i = 0; i < y32.size(); ++i) EXPECT_NEAR(y32[i], expected[i], 2e-6) << i;
}

INSTANTIATE_TEST_SUITE_P(Cases, RopeAt, testing::ValuesIn(rope_cases()),
                         [](const auto& test) { return test.param.name; });

// Linear and YaRN.
// 2e-15 is nine ulp: the power and the steps of the ramp.
TEST(RopeFrequencies, AgreeWithTheOracle) {
  QUERN_OPEN_GOLDEN(golden, kData);
  for (const RopeCase& c : rope_cases()) {
    const OpDef* op = builtin_ops().find("positional.rope_at");
    Attributes attributes;
    // Defaults first, then what the case changes, as a node would have them.
    for (const AttributeDef& def : op->attributes) attributes.set(def.name, *def.default_value);
    for (const auto& [name, value] : c.attributes) attributes.set(name, value);
    std::vector<double> factors;
    if (c.has_factors) {
      const auto narrow = golden.values<float>("factors");
      factors.assign(narrow.begin(), narrow.end());
    }
    const auto frequencies = rope_frequencies(rope_spec(attributes, 16), factors);
    const auto expected = golden.values<double>("freq_" + c.name);
    ASSERT_EQ(frequencies.size(), expected.size()) << c.name;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(frequencies[i] / expected[i], 1.0, 2e-15) << c.name << " " << i;
    }
  }
}

// YaRN's temperature.
TEST(RopeFrequencies, MagnitudeGrowsWithTheLogarithmOfTheFactor) {
  EXPECT_EQ(rope_magnitude(1.0), 1.0);
  EXPECT_EQ(rope_magnitude(0.5), 1.0);
  EXPECT_NEAR(rope_magnitude(32.0), 1.0 + 0.1 * std::log(32.0), 1e-15);
}

// Multiples of a quarter, none of them 0, so that every rotation shows.
std::vector<float> ramp(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 17) - 8.25f;
  return values;
}

// Times 1, plus 0.
// x0 * 1 - x1 * 0 is x0; a table of angles that began at position 1 would fail.
TEST(RopeAt, PositionZeroKeepsEveryBit) {
  const Tensor x = f32({2, 3, 8}, ramp(48));
  const Tensor y = run_one("positional.rope_at", {x, i32({2}, {0, 0})});
  EXPECT_TRUE(all_same_bits(values_of<float>(y), values_of<float>(x)));
}

// Bit for bit.
// Elements 4 to 7 lie past n_rot; the first four must change at position 5.
TEST(RopeAt, RestOfAPartlyRotatedHeadIsCopied) {
  const Tensor x = f32({1, 1, 8}, ramp(8));
  const auto y =
      values_of<float>(run_one("positional.rope_at", {x, i32({1}, {5})}, {{"n_rot", int64_t{4}}}));
  const auto input = values_of<float>(x);
  for (size_t i = 4; i < 8; ++i) EXPECT_EQ(y[i], input[i]);
  for (size_t i = 0; i < 4; ++i) EXPECT_NE(y[i], input[i]);
}

// Each by its own position.
// Two heads of 8 for each token; positions in no order.
TEST(RopeAt, TokensAreIndependent) {
  const Tensor x = f32({3, 2, 8}, ramp(48));
  const auto together = values_of<float>(run_one("positional.rope_at", {x, i32({3}, {9, 2, 77})}));
  const auto values = values_of<float>(x);
  const std::vector<int32_t> positions = {9, 2, 77};
  for (size_t t = 0; t < 3; ++t) {
    const std::vector<float> row(values.begin() + static_cast<long>(16 * t),
                                 values.begin() + static_cast<long>(16 * t + 16));
    const auto alone = values_of<float>(
        run_one("positional.rope_at", {f32({1, 2, 8}, row), i32({1}, {positions[t]})}));
    EXPECT_TRUE(all_same_bits(std::span(together).subspan(16 * t, 16), std::span(alone)));
  }
}

// Two layouts of one rotation.
TEST(Rope, AgreesWithRopeAt) {
  // [B, H, T, D] = [1, 1, 3, 8] has the same memory as [T, H, D] = [3, 1, 8].
  const Tensor x = f32({1, 1, 3, 8}, ramp(24));
  const Attributes start = {{"start_position", int64_t{100}}, {"style", text("half")}};
  const Tensor a = run_one("positional.rope", {x}, start);
  const Tensor b =
      run_one("positional.rope_at", {f32({3, 1, 8}, ramp(24)), i32({3}, {100, 101, 102})},
              {{"style", text("half")}});
  EXPECT_TRUE(all_same_bits(values_of<float>(a), values_of<float>(b)));
}

// Angles stay wide.
// cos 1 = 0.5403 and sin 1 = 0.8415; bf16 neighbours are 0.0039 apart here.
TEST(Rope, NarrowFloatsRoundOnceAtTheStore) {
  const Tensor x = tensor_of<uint16_t>(DType::kBF16, {1, 1, 2}, {0x3f80, 0x0000});  // (1, 0)
  const Tensor y = run_one("positional.rope_at", {x, i32({1}, {1})});
  EXPECT_EQ(values_of<uint16_t>(y), (std::vector<uint16_t>{0x3f0a, 0x3f57}));  // cos 1, sin 1
}

// One mistake at a time.
// Without attributes the call passes, so that each refusal is due to what is named.
TEST(Rope, RefusesWrongTypesAndAttributes) {
  const Tensor x = f32({2, 1, 6}, ramp(12)), positions = i32({2}, {0, 1});
  const auto refuses = [&](const Attributes& attributes) {
    return !run_op("positional.rope_at", {x, positions}, attributes).has_value();
  };
  EXPECT_FALSE(refuses({}));
  EXPECT_TRUE(refuses({{"n_rot", int64_t{3}}}));
  EXPECT_TRUE(refuses({{"n_rot", int64_t{8}}}));
  EXPECT_TRUE(refuses({{"n_rot", int64_t{-2}}}));
  EXPECT_TRUE(refuses({{"base", 0.0}}));
  EXPECT_TRUE(refuses({{"factor", -1.0}}));
  EXPECT_TRUE(refuses({{"style", text("neox")}}));
  EXPECT_TRUE(refuses({{"scaling", text("yarn")}}));  // no original_context
  EXPECT_FALSE(run_op("positional.rope_at", {x, i32({1}, {0})}));
  EXPECT_FALSE(run_op("positional.rope_at", {x, positions, f32({2}, {1, 1})}));
  EXPECT_FALSE(run_op("positional.rope_at", {f32({2, 1, 5}, ramp(10)), positions}));
  EXPECT_FALSE(run_op("positional.rope", {f32({1, 1, 2, 5}, ramp(10))}));
  EXPECT_FALSE(run_op("positional.rope", {f32({1, 1, 2, 4}, ramp(8))},
                      {{"start_position", std::numeric_limits<int64_t>::max()}}));
  EXPECT_FALSE(run_op("positional.rope", {f32({1, 1, 2, 4}, ramp(8))}, {{"head_dim", int64_t{6}}}));
}

}  // namespace
}  // namespace quern::test
