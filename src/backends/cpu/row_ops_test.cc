// Operations on rows: norms, softmax and relatives, argmax.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::random_tensor;

constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kF8E4M3};

// Around the widths of vectors, the 32 lanes and the chunks of 4,096, and primes.
constexpr int64_t kExtents[] = {1,   2,   3,   7,    8,    9,    15,   16,   17,   31,
                                32,  33,  63,  64,   65,   101,  127,  128,  255,  256,
                                257, 576, 997, 2048, 4095, 4096, 4097, 4128, 8192, 8225};

// x [3, n] with and without special values, for all dtypes.
template <class F>
void for_each_input(F&& f) {
  std::mt19937 random(11);
  for (const DType dtype : kFloats) {
    for (const int64_t n : kExtents) {
      // Narrow types are slow in the reference; 4,097 stays, as it crosses a chunk.
      if (dtype != DType::kF32 && n > 600 && n != 4097) continue;
      for (const int special_every : {0, 40}) {
        SCOPED_TRACE(fmt::format("{}[3, {}]", dtype_name(dtype), n));
        f(random_tensor(dtype, Shape{3, n}, random, special_every), random);
      }
    }
  }
}

// Enough rows for several chunks of the thread pool.
// 311 and 997 are primes.
Tensor many_rows(DType dtype) {
  std::mt19937 random(17);
  return random_tensor(dtype, Shape{311, 997}, random, 2000);
}

TEST(RowOps, GiveTheSameBitsWhenRowsSpreadOverThreads) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    const Tensor x = many_rows(dtype);
    for (const char* id : {"math.rmsnorm", "math.layernorm", "math.softmax",
                           "activation.log_softmax", "reduction.argmax"}) {
      expect_reference_bits(id, {x});
    }
  }
}

// Rows without elements, and no rows.
void expect_empty_rows(std::string_view id) {
  std::mt19937 random(1);
  expect_reference_bits(id, {random_tensor(DType::kF32, Shape{3, 0}, random)});
  expect_reference_bits(id, {random_tensor(DType::kF32, Shape{0, 7}, random)});
}

// Weights of the input's type, then none, then of another type.
TEST(RmsNorm, HasTheBitsOfTheReference) {
  for_each_input([](const Tensor& x, std::mt19937& random) {
    const Tensor weight = random_tensor(x.dtype(), Shape{x.shape()[1]}, random);
    expect_reference_bits("math.rmsnorm", {x, weight}, {{"eps", 1e-5}}, {1});
  });
  std::mt19937 random(2);
  const Tensor x = random_tensor(DType::kF32, Shape{2, 3, 65}, random);
  expect_reference_bits("math.rmsnorm", {x});
  expect_reference_bits("math.rmsnorm", {x, random_tensor(DType::kBF16, Shape{65}, random)});
  expect_empty_rows("math.rmsnorm");
}

TEST(LayerNorm, HasTheBitsOfTheReference) {
  for_each_input([](const Tensor& x, std::mt19937& random) {
    const Shape columns{x.shape()[1]};
    const Tensor weight = random_tensor(x.dtype(), columns, random);
    expect_reference_bits("math.layernorm", {x, weight, random_tensor(x.dtype(), columns, random)},
                          {}, {1});
  });
  std::mt19937 random(2);
  const Tensor x = random_tensor(DType::kF32, Shape{2, 3, 65}, random);
  const Tensor bias = random_tensor(DType::kF16, Shape{65}, random);
  expect_reference_bits("math.layernorm", {x});
  expect_reference_bits("math.layernorm", {x, Tensor(), bias});
  expect_reference_bits("math.layernorm", {x, bias});
  expect_empty_rows("math.layernorm");
}

TEST(Softmax, HasTheBitsOfTheReference) {
  for_each_input([](const Tensor& x, std::mt19937&) {
    expect_reference_bits("math.softmax", {x}, {}, {1});
    expect_reference_bits("activation.log_softmax", {x}, {}, {1});
  });
  expect_empty_rows("math.softmax");
  expect_empty_rows("activation.log_softmax");
}

// 64 values are two rows of 32: a whole vector of -infinity at every level.
TEST(Softmax, ARowOfMinusInfinityGivesNaN) {
  const float minus = -std::numeric_limits<float>::infinity();
  const std::vector<float> values(64, minus);
  const auto x = Tensor::from<float>(DType::kF32, Shape{2, 32}, values);
  expect_reference_bits("math.softmax", {*x});
  expect_reference_bits("activation.log_softmax", {*x});
}

// log-softmax of one element is (x - x) - log(1): +0 or -0 by the order of its steps.
TEST(LogSoftmax, OfOneZeroKeepsTheSignOfTheReference) {
  for (const float zero : {0.0F, -0.0F}) {
    const std::vector<float> values = {zero};
    const auto x = Tensor::from<float>(DType::kF32, Shape{1, 1}, values);
    expect_reference_bits("activation.log_softmax", {*x});
  }
}

TEST(Argmax, HasTheBitsOfTheReference) {
  for_each_input([](const Tensor& x, std::mt19937&) {
    expect_reference_bits("reduction.argmax", {x}, {}, {1});
  });
  std::mt19937 random(2);
  expect_reference_bits("reduction.argmax", {random_tensor(DType::kF32, Shape{0, 7}, random)});
}

// Equal largest elements in different vectors, zeros of both signs, NaN after the largest.
// 77 and 211 lie in different vectors and lanes; NaN counts as largest, and the first one wins. +0
// at 290 must not beat -0 at 0: they are equal.
TEST(Argmax, TakesTheLowestOfEqualsAndTheFirstNaN) {
  std::vector<float> values(300, -1.0F);
  const auto argmax_of = [&] {
    const auto x = Tensor::from<float>(DType::kF32, Shape{300}, values);
    expect_reference_bits("reduction.argmax", {*x});
  };
  argmax_of();
  values[211] = 5.0F;
  values[77] = 5.0F;
  argmax_of();
  values[250] = std::numeric_limits<float>::quiet_NaN();
  values[260] = std::numeric_limits<float>::quiet_NaN();
  argmax_of();
  values.assign(300, -0.0F);
  values[290] = 0.0F;
  argmax_of();
  values.assign(300, -std::numeric_limits<float>::infinity());
  argmax_of();
}

}  // namespace
}  // namespace quern
