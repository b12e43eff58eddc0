// embedding.token: rows of every weight type, ids, rules.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "support/bit_equal.h"
#include "support/op_runner.h"
#include "tensor/block_format.h"

namespace quern::test {
namespace {

// For every dtype that widens, blocks included.
TEST(EmbeddingToken, RowsAreTheWeightsF32) {
  // Random bytes as a table of each type that can be read.
  // 512 elements are whole blocks of every format; the rows asked for are the last and the first,
  // so that a wrong row size shows in one of them.
  for (const DTypeInfo& info : all_dtypes()) {
    if (!can_dequantize(info.dtype) || info.dtype == DType::kF64) continue;
    const int64_t rows = 3, d = 512;
    const int64_t row_bytes = d / info.block_size * info.block_bytes;
    std::vector<std::byte> bytes(static_cast<size_t>(rows * row_bytes));
    uint32_t state = 1;
    // A linear congruential generator (Numerical Recipes' constants) for bytes that are equal on
    // all machines; its upper bits are the good ones.
    for (std::byte& b : bytes)
      b = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
    const auto weight = Tensor::from_bytes(info.dtype, {rows, d}, bytes);
    ASSERT_TRUE(weight) << weight.error().message;
    const Tensor out = run_one("embedding.token", {i32({2}, {2, 0}), *weight});
    // NaN among the random floats is fine: the bits are compared, NaN with NaN.
    EXPECT_EQ(out.dtype(), DType::kF32);
    std::vector<float> expected(static_cast<size_t>(2 * d));
    dequantize_row(info.dtype, bytes.data() + 2 * row_bytes, expected.data(), d);
    dequantize_row(info.dtype, bytes.data(), expected.data() + d, d);
    EXPECT_TRUE(all_same_bits(values_of<float>(out), expected)) << info.name;
  }
}

// The only dtype that is not f32 afterwards.
TEST(EmbeddingToken, F64RowsStayF64) {
  // 1/3 is no f32, and -0 must keep its sign.
  const double third = 1.0 / 3.0;
  const Tensor out = run_one("embedding.token", {i32({1}, {1}), f64({2, 2}, {1, 2, third, -0.0})});
  EXPECT_TRUE(all_same_bits(values_of<double>(out), {third, -0.0}));
}

// Ids of any shape, empty ones too.
TEST(EmbeddingToken, AxesOfTheIdsComeFirst) {
  // [2, 2] ids give [2, 2, 1]; an id may repeat.
  const Tensor ids = tensor_of<int64_t>(DType::kI64, {2, 2}, {0, 1, 1, 0});
  const Tensor out = run_one("embedding.token", {ids, f32({2, 1}, {5, 6})});
  EXPECT_EQ(out.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(values_of<float>(out), (std::vector<float>{5, 6, 6, 5}));
  EXPECT_EQ(run_one("embedding.token", {i32({0}, {}), f32({2, 1}, {5, 6})}).shape(), (Shape{0, 1}));
}

// Never a read past the table.
TEST(EmbeddingToken, IdsOutsideTheTableAreErrorsThatNameThem) {
  const Tensor weight = f32({2, 1}, {5, 6});
  const auto past = run_op("embedding.token", {i32({3}, {0, 1, 2}), weight});
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(past.error().message, "The id 2 at position 2 is outside the table of 2 rows.");
  EXPECT_FALSE(run_op("embedding.token", {i32({1}, {-1}), weight}));
  // An id past 32 bits must not be cut to a valid one (2^40 has zeros below).
  EXPECT_FALSE(run_op("embedding.token",
                      {tensor_of<int64_t>(DType::kI64, {1}, {int64_t{1} << 40}), weight}));
}

// The attributes of a manifest are checked, not trusted.
TEST(EmbeddingToken, DeclaredExtentsMustFitTheWeight) {
  const Tensor ids = i32({1}, {0}), weight = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  // Right attributes first, then each of them wrong, then ids of floats and a table of rank 1.
  EXPECT_TRUE(run_op("embedding.token", {ids, weight},
                     {{"vocab_size", int64_t{2}}, {"d_model", int64_t{3}}}));
  EXPECT_FALSE(run_op("embedding.token", {ids, weight}, {{"vocab_size", int64_t{3}}}));
  EXPECT_FALSE(run_op("embedding.token", {ids, weight}, {{"d_model", int64_t{2}}}));
  EXPECT_FALSE(run_op("embedding.token", {f32({1}, {0}), weight}));
  EXPECT_FALSE(run_op("embedding.token", {ids, f32({3}, {1, 2, 3})}));
}

}  // namespace
}  // namespace quern::test
