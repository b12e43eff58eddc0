// projection.linear against the expected bits of every format, and its rules.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/bit_equal.h"
#include "support/golden.h"
#include "support/op_runner.h"
#include "tensor/block_format.h"

namespace quern::test {
namespace {

const std::string kGolden = QUERN_SUITES_DIR "/strict_golden/";

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

// The columns [0, count) of a matrix.
// Golden activations have 1,024 columns; some cases use the first 512.
Tensor first_columns(const Tensor& x, int64_t count) {
  const auto values = values_of<float>(x);
  std::vector<float> cut;
  for (int64_t r = 0; r < x.shape()[0]; ++r) {
    const auto row = values.begin() + r * x.shape()[1];
    cut.insert(cut.end(), row, row + count);
  }
  return f32({x.shape()[0], count}, cut);
}

enum class Activations { kF32, kInt8, kInt16 };

// x weight^T with the given kind of activations.
std::vector<float> multiply(const Tensor& x, const Tensor& weight, Activations activations) {
  if (activations == Activations::kF32) {
    return values_of<float>(run_one("projection.linear", {x, weight}));
  }
  const int64_t block = find_block_format(weight.dtype())->activation_block;
  const int64_t bits = activations == Activations::kInt8 ? 8 : 16;
  auto quantized = run_op("quant.dynamic", {x}, {{"block", block}, {"bits", bits}});
  if (!quantized) {
    ADD_FAILURE() << quantized.error().message;
    return {};
  }
  return values_of<float>(
      run_one("projection.linear", {(*quantized)[0], weight, {}, (*quantized)[1]}));
}

// Kinds that the file does not have are skipped for plain weights only: a quantised format must
// have all three.
void expect_products(const Golden& golden, const std::string& prefix, const Tensor& x,
                     const Tensor& weight) {
  const std::map<std::string, Activations> kinds = {
      {"f32", Activations::kF32}, {"int8", Activations::kInt8}, {"int16", Activations::kInt16}};
  for (const auto& [name, kind] : kinds) {
    const std::string key = prefix + name;
    if (!golden.has(key) && !is_quantized(weight.dtype())) continue;
    EXPECT_TRUE(all_same_bits(multiply(x, weight, kind), golden.values<float>(key))) << key;
  }
}

class LinearGolden : public testing::TestWithParam<std::string> {};

// Every format and activation width against an independent program.
TEST_P(LinearGolden, ProductsHaveTheExpectedBits) {
  QUERN_OPEN_GOLDEN(activations, kGolden + "activations.npz");
  QUERN_OPEN_GOLDEN(golden, kGolden + "w_" + GetParam() + ".npz");
  const DType dtype = *find_dtype(GetParam());
  const auto bytes = read_file(QUERN_SUITES_DIR "/quant_golden/" + GetParam() + ".quant.bin");
  const auto weight = Tensor::from_bytes(dtype, {4, 1024}, bytes);
  ASSERT_TRUE(weight.has_value()) << weight.error().message;
  const Tensor x = activations.tensor("x");
  // "ys" has a second set of activations; "fuzz" weights are random bytes;
  // "heavy" ones reach past 2^24, where the two planes of 16 bits round.
  expect_products(golden, "y_", x, *weight);
  expect_products(golden, "ys_", activations.tensor("xs"), *weight);
  if (golden.has("fuzz_bytes")) {
    expect_products(golden, "fuzz_y_", first_columns(x, 512),
                    golden.tensor("fuzz_bytes", dtype, {2, 512}));
  }
  if (golden.has("heavy_bytes")) {
    expect_products(golden, "heavy_y_", golden.tensor("heavy_x"),
                    golden.tensor("heavy_bytes", dtype, {2, 512}));
  }
}

INSTANTIATE_TEST_SUITE_P(AllFormats, LinearGolden,
                         testing::Values("bf16", "f16", "iq1_m", "iq1_s", "iq2_s", "iq2_xs",
                                         "iq2_xxs", "iq3_s", "iq3_xxs", "iq4_nl", "iq4_xs", "mxfp4",
                                         "nvfp4", "q1_0", "q2_0", "q2_K", "q3_K", "q4_0", "q4_1",
                                         "q4_K", "q5_0", "q5_1", "q5_K", "q6_K", "q8_0", "tq1_0",
                                         "tq2_0"),
                         [](const auto& test) { return test.param; });

// Both signs, no symmetry, and products that round.
std::vector<float> ramp(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 7919 % 2003) - 1001) * 0.0173f;
  }
  return values;
}

// A weight with the encoder of a format.
Tensor encoded(DType dtype, const Shape& shape) {
  const auto values = ramp(static_cast<size_t>(shape.num_elements()));
  const DTypeInfo& info = dtype_info(dtype);
  std::vector<std::byte> bytes(
      static_cast<size_t>(shape.num_elements() / info.block_size * info.block_bytes));
  quantize_row(dtype, values.data(), bytes.data(), shape.num_elements());
  auto weight = Tensor::from_bytes(dtype, shape, bytes);
  return weight ? std::move(*weight) : Tensor();
}

// Batches and tiles change no bit.
TEST(Linear, EveryTokenAndEveryRowIsComputedAlone) {
  // 37 rows: more than are decoded at once, and not a multiple.
  // 512 columns are two fold blocks.
  const auto values = ramp(5 * 512);
  for (const DType dtype : {DType::kF32, DType::kQ8_0, DType::kQ4_K}) {
    const Tensor weight = encoded(dtype, {37, 512});
    for (const Activations kind : {Activations::kF32, Activations::kInt8, Activations::kInt16}) {
      if (kind != Activations::kF32 && !is_quantized(dtype)) continue;
      const auto together = multiply(f32({5, 512}, values), weight, kind);
      ASSERT_EQ(together.size(), 5u * 37u);
      for (size_t t = 0; t < 5; ++t) {
        const std::vector<float> row(values.begin() + static_cast<long>(512 * t),
                                     values.begin() + static_cast<long>(512 * t + 512));
        // A vector [512] instead of [1, 512]: also another rank.
        const auto alone = multiply(f32({512}, row), weight, kind);
        EXPECT_TRUE(all_same_bits(std::span(together).subspan(37 * t, 37), std::span(alone)));
      }
    }
  }
}

// Decoding, then a float product.
TEST(Linear, FloatProductsAreThoseOfTheDequantizedWeight) {
  const Tensor weight = encoded(DType::kQ6_K, {3, 256}), x = f32({2, 256}, ramp(512));
  std::vector<float> wide(3 * 256);
  dequantize_row(DType::kQ6_K, weight.host_view()->data(), wide.data(), 3 * 256);
  EXPECT_TRUE(all_same_bits(multiply(x, weight, Activations::kF32),
                            multiply(x, f32({3, 256}, wide), Activations::kF32)));
}

// Three roundings in this order.
TEST(Linear, ScaleThenBiasEachRoundOnce) {
  // 1 + 2^-23 is the exact sum of the products and has all 24 bits, so that the scale must round.
  const Tensor x = f32({1, 2}, {1, 1}), weight = f32({1, 2}, {1, 0x1p-23f});
  const float scale = 1.1f;
  const Tensor y = run_one("projection.linear", {x, weight, f32({1}, {0.3f})},
                           {{"weight_scale", static_cast<double>(scale)}});
  const float product = 1.0f + 0x1p-23f;
  const float scaled = product * scale;
  EXPECT_EQ(values_of<float>(y), std::vector<float>{scaled + 0.3f});
}

// No detour through f32: the input, the product and the sum each have more bits than f32 holds.
TEST(Linear, F64ComputesInF64) {
  const Tensor x = f64({1, 1}, {1.0 / 3.0});
  const Tensor y = run_one("projection.linear", {x, f32({1, 1}, {5.0f}), f64({1}, {1e-12})});
  EXPECT_EQ(y.dtype(), DType::kF64);
  const double exact = (1.0 / 3.0) * 5.0 + 1e-12;
  EXPECT_EQ(values_of<double>(y), std::vector<double>{exact});
  // What rounding any one of the three to f32 would give.
  EXPECT_NE(static_cast<double>(static_cast<float>(1.0 / 3.0)) * 5.0 + 1e-12, exact);
  EXPECT_NE(static_cast<double>(static_cast<float>((1.0 / 3.0) * 5.0)) + 1e-12, exact);
  EXPECT_NE(static_cast<double>(static_cast<float>(exact)), exact);
}

// The number of tokens is known at run time.
TEST(Linear, TypesMayBeSymbolicInTheTokens) {
  const Dim t = Dim::symbolic('T');
  // The batch is a symbol.
  const TensorType weight{.dtype = DType::kQ4_K, .dims = {Dim::constant(8), Dim::constant(512)}};
  const auto types = infer_op("projection.linear", {{.dims = {t, Dim::constant(512)}}, weight});
  ASSERT_TRUE(types) << types.error().message;
  EXPECT_EQ((*types)[0].to_string(), "f32[T, 8]");
}

// The message of a refusal.
std::string refusal(std::vector<Tensor> inputs, Attributes attributes = {}) {
  const auto outputs = run_op("projection.linear", std::move(inputs), std::move(attributes));
  return outputs ? std::string("accepted") : outputs.error().message;
}

// What was given and what was wanted.
TEST(Linear, RefusalsNamePortTypeAndWish) {
  const Tensor x = f32({1, 32}, ramp(32)), weight = encoded(DType::kQ8_0, {2, 32});
  const Tensor q = tensor_of<int8_t>(DType::kI8, {1, 32}, std::vector<int8_t>(32));
  const Tensor d = f32({1, 1}, {1});
  // Each refusal changes one thing of a valid call: the scale, its shape, its place, the weight's
  // format, a wide activation, a wide weight, the columns, a declared extent; then a bias,
  // integers, a vector weight.
  EXPECT_EQ(refusal({q, weight}),
            "projection.linear: Port 'x' has type i8[1, 32], so port 'scale' must be given.");
  EXPECT_EQ(refusal({q, weight, {}, f32({1, 2}, {1, 1})}),
            "projection.linear: Port 'scale' has type f32[1, 2]; with blocks of 32 it must be "
            "f32[1, 1].");
  EXPECT_EQ(refusal({x, weight, {}, d}),
            "projection.linear: Port 'scale' belongs to i8 or i16 activations; 'x' has type "
            "f32[1, 32].");
  EXPECT_EQ(refusal({q, f32({2, 32}, ramp(64)), {}, d}),
            "projection.linear: Port 'weight' has type f32[2, 32]; activations of type i8[1, 32] "
            "need a block-quantised weight.");
  EXPECT_EQ(refusal({f64({1, 32}, std::vector<double>(32)), weight}),
            "projection.linear: Port 'x' has type f64[1, 32]; a weight of type q8_0[2, 32] takes "
            "f32 and narrower.");
  EXPECT_EQ(refusal({x, f64({1, 32}, std::vector<double>(32))}),
            "projection.linear: Port 'weight' has type f64[1, 32], which is wider than the "
            "f32[1, 32] it works on.");
  EXPECT_EQ(refusal({f32({1, 31}, ramp(31)), weight}),
            "projection.linear: Port 'weight' has type q8_0[2, 32]; the extent of axis 1 must be "
            "31, the last axis of 'x'.");
  EXPECT_EQ(refusal({x, weight}, {{"out_features", int64_t{3}}}),
            "projection.linear: Attribute 'out_features' is 3; it must be 2, the rows of "
            "'weight'.");
  EXPECT_NE(refusal({x, weight, f32({3}, {1, 2, 3})}), "accepted");
  EXPECT_NE(refusal({i32({1, 2}, {1, 2}), i32({1, 2}, {1, 2})}), "accepted");
  EXPECT_NE(refusal({x, f32({32}, ramp(32))}), "accepted");
}

// A block never reaches into the next row.
TEST(Linear, RowsOfAWeightAreWholeBlocks) {
  // 40 columns are a block and a quarter.
  const TensorType weight{.dtype = DType::kQ8_0, .dims = {Dim::constant(2), Dim::constant(40)}};
  const auto types = infer_op("projection.linear", {{.dims = {Dim::constant(40)}}, weight});
  ASSERT_FALSE(types);
  EXPECT_EQ(types.error().message,
            "projection.linear: Port 'weight' has type q8_0[2, 40]; its rows must be whole blocks "
            "of 32.");
}

}  // namespace
}  // namespace quern::test
