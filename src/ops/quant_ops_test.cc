// quant.dynamic against expected bits, and its rules.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "ops/quant_dynamic.h"
#include "support/bit_equal.h"
#include "support/golden.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Quantized {
  Tensor q;
  Tensor d;
};

// A failed run is reported here and gives empty tensors.
Quantized quantize(const Tensor& x, int64_t block, int64_t bits) {
  auto outputs = run_op("quant.dynamic", {x}, {{"block", block}, {"bits", bits}});
  if (outputs) return {(*outputs)[0], (*outputs)[1]};
  ADD_FAILURE() << outputs.error().message;
  return {};
}

// Against an independent program.
// The 22 inputs have ties of both widths, halves and their neighbours, zeros of both signs,
// denormals, amax at the threshold, infinity, NaN, the largest f32, and rows of 45, 300, 1 and 0.
TEST(QuantDynamic, HasTheExpectedBits) {
  QUERN_OPEN_GOLDEN(golden, QUERN_SUITES_DIR "/strict_golden/quant_dynamic.npz");
  int num_inputs = 0;
  for (const auto& [name, array] : golden.arrays()) {
    if (!name.ends_with("_x")) continue;
    ++num_inputs;
    const Tensor x = golden.tensor(name);
    for (const int64_t block : {32, 256}) {
      const std::string key = name.substr(0, name.size() - 1) + "b" + std::to_string(block);
      const Quantized narrow = quantize(x, block, 8);
      EXPECT_TRUE(all_same_bits(values_of<int8_t>(narrow.q), golden.values<int8_t>(key + "_8_q")))
          << key;
      EXPECT_TRUE(all_same_bits(values_of<float>(narrow.d), golden.values<float>(key + "_8_d")))
          << key;
      const Quantized wide = quantize(x, block, 16);
      const auto integers = values_of<int16_t>(wide.q);
      EXPECT_TRUE(all_same_bits(integers, golden.values<int16_t>(key + "_16_q"))) << key;
      EXPECT_TRUE(all_same_bits(values_of<float>(wide.d), golden.values<float>(key + "_16_d")))
          << key;
      std::vector<int8_t> hi, lo;
      for (const int16_t q : integers) hi.push_back(high_plane(q)), lo.push_back(low_plane(q));
      EXPECT_TRUE(all_same_bits(hi, golden.values<int8_t>(key + "_16_hi"))) << key;
      EXPECT_TRUE(all_same_bits(lo, golden.values<int8_t>(key + "_16_lo"))) << key;
    }
  }
  EXPECT_EQ(num_inputs, 22);
}

// 256 * high + low is the integer.
// All 65,279 integers that quantising to 16 bits gives. A shift that rounds negative numbers
// towards 0 fails.
TEST(QuantDynamic, PlanesRebuildEveryInteger) {
  for (int32_t q = -32639; q <= 32639; ++q) {
    ASSERT_EQ(256 * high_plane(q) + low_plane(q), q);
  }
}

// A short last block does not shift the next row.
TEST(QuantDynamic, BlocksCountFromTheStartOfEachRow) {
  // Rows of 40: a whole block of 32 and a short one of 8 with its own scale.
  // Scales: block 0 of row 0 is all ones; its short block has amax 127, so d = 1; row 1 starts with
  // amax 254, so d = 2.
  std::vector<float> x(80, 1.0f);
  x[39] = 127.0f;
  x[40] = 254.0f;
  const Quantized result = quantize(f32({2, 40}, x), 32, 8);
  EXPECT_EQ(result.d.shape().to_string(), "[2, 2]");
  const auto d = values_of<float>(result.d);
  EXPECT_EQ(d[1], 1.0f);
  EXPECT_EQ(d[2], 2.0f);
  const auto q = values_of<int8_t>(result.q);
  EXPECT_EQ(q[0], 127);
  EXPECT_EQ(q[38], 1);
  EXPECT_EQ(q[39], 127);
  EXPECT_EQ(q[41], 0);  // 1 / 2 is a tie and goes to even
}

// Neighbouring blocks stay usable.
// The neighbours of the bad value become 0 as well; in the other block 2 is amax and thus the
// limit.
TEST(QuantDynamic, OneValueThatIsNotFinitePoisonsItsBlockOnly) {
  for (const float bad : {kInf, -kInf, kNan}) {
    std::vector<float> x(64, 2.0f);
    x[5] = bad;
    const Quantized result = quantize(f32({64}, x), 32, 16);
    EXPECT_TRUE(std::isnan(values_of<float>(result.d)[0]));
    EXPECT_EQ(values_of<int16_t>(result.q)[6], 0);
    EXPECT_EQ(values_of<int16_t>(result.q)[33], 32639);
  }
}

// One definition for all dtypes.
// 1 + 2^-40 rounds to 1 in f32; kept in f64 it would change amax and r. 0x3c00 and 0x3800 are 1 and
// 0.5.
TEST(QuantDynamic, NarrowFloatsWidenAndF64RoundsFirst) {
  const double slightly_over = 1.0 + 0x1p-40;
  const Quantized from_f64 = quantize(f64({2}, {slightly_over, 0.5}), 32, 16);
  const Quantized from_f32 = quantize(f32({2}, {1.0f, 0.5f}), 32, 16);
  EXPECT_EQ(values_of<int16_t>(from_f64.q), values_of<int16_t>(from_f32.q));
  EXPECT_EQ(values_of<float>(from_f64.d), values_of<float>(from_f32.d));
  const Tensor half = tensor_of<uint16_t>(DType::kF16, {2}, {0x3c00, 0x3800});
  EXPECT_EQ(values_of<int16_t>(quantize(half, 32, 16).q), values_of<int16_t>(from_f32.q));
}

// One mistake at a time.
// In order: 4 bits, blocks of 0, integers, a scalar, and a K that is a symbol.
TEST(QuantDynamic, RefusesWrongTypesAndAttributes) {
  const Tensor x = f32({4}, {1, 2, 3, 4});
  EXPECT_FALSE(run_op("quant.dynamic", {x}, {{"bits", int64_t{4}}}));
  EXPECT_FALSE(run_op("quant.dynamic", {x}, {{"block", int64_t{0}}}));
  EXPECT_FALSE(run_op("quant.dynamic", {i32({4}, {1, 2, 3, 4})}));
  EXPECT_FALSE(run_op("quant.dynamic", {f32({}, {1})}));
  EXPECT_FALSE(infer_op("quant.dynamic", {{.dims = {Dim::symbolic('T')}}}));
}

// The rows are known at run time.
// 300 elements in blocks of 256 have 2 scales.
TEST(QuantDynamic, TokensMayBeSymbolic) {
  const auto types = infer_op("quant.dynamic", {{.dims = {Dim::symbolic('T'), Dim::constant(300)}}},
                              {{"block", int64_t{256}}, {"bits", int64_t{16}}});
  ASSERT_TRUE(types) << types.error().message;
  EXPECT_EQ((*types)[0].to_string(), "i16[T, 300]");
  EXPECT_EQ((*types)[1].to_string(), "f32[T, 2]");
}

}  // namespace
}  // namespace quern::test
