// Products of float matrices against expected bits.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/bit_equal.h"
#include "support/golden.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

const std::string kDots = QUERN_SUITES_DIR "/strict_golden/dots.npz";

// The first n elements of a plain tensor as a matrix [rows, columns].
Tensor prefix(const Tensor& x, const Shape& shape) {
  auto bytes = x.read();
  if (!bytes) return Tensor();
  const auto size = shape.num_elements() * dtype_info(x.dtype()).block_bytes;
  auto cut =
      Tensor::from_bytes(x.dtype(), shape, std::span(*bytes).first(static_cast<size_t>(size)));
  return cut ? std::move(*cut) : Tensor();
}

// The products of all prefixes through both operations.
template <class T>
void expect_dots(const Golden& golden, const Tensor& a, const Tensor& b, const std::string& key) {
  const auto expected = golden.values<T>(key);
  const auto lengths = golden.values<int64_t>("lengths");
  ASSERT_EQ(lengths.size(), expected.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t n = lengths[i];
    const auto linear =
        values_of<T>(run_one("projection.linear", {prefix(a, {1, n}), prefix(b, {1, n})}));
    ASSERT_EQ(linear.size(), 1u);
    EXPECT_TRUE(same_bits(linear[0], expected[i])) << key << " of " << n;
    if (a.dtype() != b.dtype() ||
        sizeof(T) != static_cast<size_t>(dtype_info(a.dtype()).block_bytes)) {
      continue;  // math.matmul would round to the narrow type
    }
    const auto c = values_of<T>(run_one("math.matmul", {prefix(a, {1, n}), prefix(b, {n, 1})}));
    ASSERT_EQ(c.size(), 1u);
    EXPECT_TRUE(same_bits(c[0], expected[i])) << key << " of " << n;
  }
}

// One row times one column, every length.
// Lengths 0, 1, 255, 256, 257 and 1000 lie around the blocks of 256: one running sum, or blocks of
// another size, has other bits. Narrow inputs show that terms are formed in f32.
TEST(Matmul, DotProductsHaveTheExpectedBits) {
  QUERN_OPEN_GOLDEN(golden, kDots);
  expect_dots<float>(golden, golden.tensor("f32_a"), golden.tensor("f32_b"), "f32_dot");
  expect_dots<double>(golden, golden.tensor("f64_a"), golden.tensor("f64_b"), "f64_dot");
  expect_dots<float>(golden, golden.tensor("f16_a"), golden.tensor("f16_b"), "f16_dot");
  expect_dots<float>(golden, golden.tensor("f16_a"), golden.tensor("mixed_b"), "mixed_dot");
  const auto bf16 = [&](std::string_view name) {
    return golden.tensor(name, DType::kBF16, {1000});
  };
  expect_dots<float>(golden, bf16("bf16_a"), bf16("bf16_b"), "bf16_dot");
}

// Tiles must not show.
// The same weights by rows (projection.linear) and, transposed, by columns (math.matmul).
TEST(Matmul, MatricesHaveTheExpectedBits) {
  QUERN_OPEN_GOLDEN(golden, kDots);
  const auto expected = golden.values<float>("gemm");
  const Tensor a = golden.tensor("gemm_a"), w = golden.tensor("gemm_w");
  EXPECT_TRUE(all_same_bits(values_of<float>(run_one("projection.linear", {a, w})), expected));
  const Tensor columns =
      run_one("shape.transpose", {w}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
  EXPECT_TRUE(all_same_bits(values_of<float>(run_one("math.matmul", {a, columns})), expected));
}

// No zero is skipped: 0 * infinity is NaN.
// The cases: -0 * 1 starts from +0; infinity * 0; overflow to infinity - infinity; a sum of
// denormals; a product that underflows.
TEST(Matmul, SpecialValuesHaveTheExpectedBits) {
  QUERN_OPEN_GOLDEN(golden, kDots);
  for (int i = 0; i < 5; ++i) {
    const std::string name = "special" + std::to_string(i);
    const auto rows = golden.values<float>(name);
    const auto n = static_cast<int64_t>(rows.size() / 2);
    const Tensor a = f32({1, n}, {rows.begin(), rows.begin() + n});
    const Tensor b = f32({n, 1}, {rows.begin() + n, rows.end()});
    EXPECT_TRUE(all_same_bits(values_of<float>(run_one("math.matmul", {a, b})),
                              golden.values<float>(name + "_dot")))
        << name;
  }
}

// At the store.
TEST(Matmul, NarrowResultsRoundOnce) {
  // 1 + 2^-11 is halfway between f16 neighbours; the sum is exact in f32, so one rounding: to even.
  const Tensor a = tensor_of<uint16_t>(DType::kF16, {1, 2}, {0x3c00, 0x1000});  // 1, 2^-11
  const Tensor b = tensor_of<uint16_t>(DType::kF16, {2, 1}, {0x3c00, 0x3c00});
  EXPECT_EQ(values_of<uint16_t>(run_one("Matmul", {a, b})), std::vector<uint16_t>{0x3c00});
}

// K = 0.
// The sign tells that the sum began with +0. M = 0 gives no rows but keeps the other extent.
TEST(Matmul, EmptySumsArePositiveZero) {
  const auto c = values_of<float>(run_one("math.matmul", {f32({2, 0}, {}), f32({0, 3}, {})}));
  ASSERT_EQ(c.size(), 6u);
  for (const float v : c) EXPECT_TRUE(v == 0.0f && !std::signbit(v));
  EXPECT_EQ(run_one("math.matmul", {f32({0, 2}, {}), f32({2, 3}, {1, 2, 3, 4, 5, 6})}).shape(),
            (Shape{0, 3}));
}

// One mistake at a time.
// In order: inner extents 3 and 2, f64 beside f32, a vector, a missing port.
TEST(Matmul, RefusesWrongShapesAndTypes) {
  const Tensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(run_op("math.matmul", {a, a}));
  EXPECT_FALSE(run_op("math.matmul", {a, f64({3, 1}, {1, 2, 3})}));
  EXPECT_FALSE(run_op("math.matmul", {a, f32({3}, {1, 2, 3})}));
  EXPECT_FALSE(run_op("math.matmul", {a}));
}

}  // namespace
}  // namespace quern::test
