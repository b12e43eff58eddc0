// Packed products against the expected bits of an independent implementation, at every level.
#include <fstream>
#include <iterator>

#include "backends/cpu/kernels/product_test_support.h"
#include "support/golden.h"

namespace quern::cpu::test {
namespace {

using quern::test::Golden;

const std::string kGolden = QUERN_SUITES_DIR "/strict_golden/";

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

// The columns [0, count) of a matrix.
Tensor first_columns(const Tensor& x, int64_t count) {
  const auto values = quern::test::values_of<float>(x);
  std::vector<float> cut;
  for (int64_t r = 0; r < x.shape()[0]; ++r) {
    const auto row = values.begin() + r * x.shape()[1];
    cut.insert(cut.end(), row, row + count);
  }
  return quern::test::f32({x.shape()[0], count}, cut);
}

// Golden bits come from an implementation that shares no code with the reference.
void expect_products(const Golden& golden, const std::string& prefix, const Tensor& x,
                     const Tensor& weight) {
  const std::pair<const char*, ActivationKind> kinds[] = {{"f32", ActivationKind::kF32},
                                                          {"int8", ActivationKind::kInt8},
                                                          {"int16", ActivationKind::kInt16}};
  for (const auto& [name, kind] : kinds) {
    const std::string key = prefix + name;
    if (!golden.has(key) && !is_quantized(weight.dtype())) continue;
    Product p;
    p.x = x;
    p.weight = weight;
    p.kind = kind;
    expect_product_everywhere(p, golden.values<float>(key), key);
  }
}

class PackedGolden : public testing::TestWithParam<std::string> {};

TEST_P(PackedGolden, ProductsHaveTheExpectedBits) {
  QUERN_OPEN_GOLDEN(activations, kGolden + "activations.npz");
  QUERN_OPEN_GOLDEN(golden, kGolden + "w_" + GetParam() + ".npz");
  const DType dtype = *find_dtype(GetParam());
  const auto bytes = read_file(QUERN_SUITES_DIR "/quant_golden/" + GetParam() + ".quant.bin");
  const auto weight = Tensor::from_bytes(dtype, {4, 1024}, bytes);
  ASSERT_TRUE(weight.has_value()) << weight.error().message;
  const Tensor x = activations.tensor("x");
  expect_products(golden, "y_", x, *weight);
  expect_products(golden, "ys_", activations.tensor("xs"), *weight);
  // Blocks of random bytes, NaN scales among them.
  if (golden.has("fuzz_bytes")) {
    expect_products(golden, "fuzz_y_", first_columns(x, 512),
                    golden.tensor("fuzz_bytes", dtype, {2, 512}));
  }
  // Sums past 2^24, where 256 * f32(I_hi) + f32(I_lo) is not f32 of the exact sum.
  if (golden.has("heavy_bytes")) {
    expect_products(golden, "heavy_y_", golden.tensor("heavy_x"),
                    golden.tensor("heavy_bytes", dtype, {2, 512}));
  }
}

INSTANTIATE_TEST_SUITE_P(AllFormats, PackedGolden,
                         testing::Values("bf16", "f16", "iq1_m", "iq1_s", "iq2_s", "iq2_xs",
                                         "iq2_xxs", "iq3_s", "iq3_xxs", "iq4_nl", "iq4_xs", "mxfp4",
                                         "nvfp4", "q1_0", "q2_0", "q2_K", "q3_K", "q4_0", "q4_1",
                                         "q4_K", "q5_0", "q5_1", "q5_K", "q6_K", "q8_0", "tq1_0",
                                         "tq2_0"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace quern::cpu::test
