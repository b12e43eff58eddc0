// Elementwise operations and rotary embeddings: sizes, dtypes, special values, threads.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::random_tensor;

constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kF8E4M3};
// Around vector widths, and past the piece that narrow floats are converted in.
constexpr int64_t kSizes[] = {0,  1,  3,  4,  5,  7,    8,    9,    15,
                              16, 17, 31, 33, 64, 1023, 1024, 1025, 2055};

// Random tensors of one dtype and shape, with special values.
std::vector<Tensor> operands(int count, DType dtype, const Shape& shape) {
  std::mt19937 random(static_cast<uint32_t>(shape.num_elements()) + 1);
  std::vector<Tensor> made;
  for (int i = 0; i < count; ++i) made.push_back(random_tensor(dtype, shape, random, 7));
  return made;
}

// Every kernel has a part for whole vectors and one for the rest: the sizes stand on both sides of
// 4, 8, 16, 32 lanes and of the piece of 1,024.
void check_sizes(std::string_view id, int operands_count, const Attributes& attributes = {}) {
  for (const DType dtype : kFloats) {
    for (const int64_t size : kSizes) {
      SCOPED_TRACE(fmt::format("{}[{}]", dtype_name(dtype), size));
      // Too small for the thread pool.
      expect_reference_bits(id, operands(operands_count, dtype, Shape{size}), attributes, {1});
    }
  }
}

TEST(Unary, HasTheBitsOfTheReferenceAtEverySize) {
  check_sizes("activation.swish", 1);
  check_sizes("activation.gelu", 1);
  check_sizes("activation.gelu", 1, {{"approximate", "tanh"}});
  check_sizes("activation.snake_parametric", 1, {{"alpha", 1.5}, {"beta", 0.5}});
  check_sizes("activation.hard_tanh_range", 1, {{"min", -0.5}, {"max", 0.25}});
  check_sizes("math.scale", 1, {{"factor", 0.1}});
  check_sizes("elementwise.neg", 1);
  check_sizes("elementwise.sqrt", 1);
}

// Neither 413 = 7 * 59 nor 1,009 divides into vectors: chunks of threads end anywhere.
TEST(Unary, LongTensorsSpreadOverThreads) {
  for (const char* id : {"activation.swish", "activation.relu", "math.exp"}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
      expect_reference_bits(id, operands(1, dtype, Shape{413, 1009}));
    }
  }
}

TEST(Binary, HasTheBitsOfTheReferenceAtEverySize) {
  for (const char* id : {"math.add", "math.mul", "elementwise.sub", "elementwise.div",
                         "elementwise.max", "elementwise.min", "activation.swiglu_tensors"}) {
    check_sizes(id, 2);
  }
  check_sizes("elementwise.axpy", 2, {{"alpha", 0.3}});
}

// Empty rows, no rows, one row, a vector shorter than a lane group.
TEST(Binary, ABiasRepeatsForEachRow) {
  std::mt19937 random(9);
  for (const DType dtype : kFloats) {
    for (const Shape& shape :
         {Shape{3, 5}, Shape{2, 3, 33}, Shape{0, 7}, Shape{4, 0}, Shape{301, 1500}, Shape{1, 9}}) {
      SCOPED_TRACE(shape.to_string());
      expect_reference_bits("math.add", {random_tensor(dtype, shape, random, 9),
                                         random_tensor(dtype, Shape{shape.last()}, random)});
    }
  }
}

TEST(Binary, LongTensorsSpreadOverThreads) {
  for (const char* id : {"math.add", "activation.geglu_tensors"}) {
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      expect_reference_bits(id, operands(2, dtype, Shape{413, 1009}));
    }
  }
}

// The last axis holds two halves: 10 gives rows of 5.
TEST(PackedGate, HasTheBitsOfTheReferenceAtEverySize) {
  for (const char* id : {"activation.swiglu", "activation.geglu_tanh", "activation.linglu"}) {
    for (const DType dtype : kFloats) {
      for (const Shape& shape : {Shape{3, 10}, Shape{2, 2, 66}, Shape{2, 0}, Shape{0, 8},
                                 Shape{5, 2100}, Shape{200, 3000}}) {
        SCOPED_TRACE(fmt::format("{}{}", dtype_name(dtype), shape.to_string()));
        expect_reference_bits(id, operands(1, dtype, shape));
      }
    }
  }
}

// More than the caches hold: dear functions write past them themselves, the others piece by piece.
// With three threads the ranges begin at places that are no line of memory; some elements are
// special. 48 MiB in all are more than three quarters of a last level of 63 MiB.
TEST(Unary, LargeTensorsGoPastTheCaches) {
  std::mt19937 random(31);
  const Tensor x = random_tensor(DType::kF32, Shape{(6 << 20) + 5}, random, 1001);
  for (const char* id : {"math.exp", "activation.sigmoid", "activation.swish", "activation.tanh",
                         "math.erf", "math.log", "activation.relu"}) {
    SCOPED_TRACE(id);
    expect_reference_bits(id, {x}, {}, {3});
  }
}

// Positions i32[tokens], not in order: 37 and 1000 have no common factor, so that the first 1,000
// differ.
Tensor positions(int64_t tokens) {
  std::vector<int32_t> values;
  for (int64_t t = 0; t < tokens; ++t) values.push_back(static_cast<int32_t>(t * 37 % 1000));
  return *Tensor::from<int32_t>(DType::kI32, Shape{tokens}, values);
}

TEST(RopeAt, HasTheBitsOfTheReference) {
  std::mt19937 random(21);
  for (const char* style : {"interleaved", "half"}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
      for (const auto& [tokens, heads, dim] : std::vector<std::array<int64_t, 3>>{{0, 2, 8},
                                                                                  {1, 9, 64},
                                                                                  {5, 3, 2},
                                                                                  {7, 1, 6},
                                                                                  {3, 2, 34},
                                                                                  {3, 2, 130},
                                                                                  {90, 12, 128}}) {
        SCOPED_TRACE(
            fmt::format("{} {}[{}, {}, {}]", style, dtype_name(dtype), tokens, heads, dim));
        const Tensor x = random_tensor(dtype, Shape{tokens, heads, dim}, random, 50);
        expect_reference_bits("positional.rope_at", {x, positions(tokens)}, {{"style", style}});
        if (dim < 6) continue;
        expect_reference_bits("positional.rope_at", {x, positions(tokens)},
                              {{"style", style}, {"n_rot", dim / 4 * 2}, {"base", 5e5}});
      }
    }
  }
}

TEST(RopeAt, ServesScalingsAndFactors) {
  std::mt19937 random(22);
  const Tensor x = random_tensor(DType::kF32, Shape{9, 2, 16}, random);
  expect_reference_bits("positional.rope_at", {x, positions(9)},
                        {{"scaling", "linear"}, {"factor", 4.0}});
  expect_reference_bits("positional.rope_at", {x, positions(9)},
                        {{"scaling", "yarn"},
                         {"factor", 4.0},
                         {"original_context", int64_t{128}},
                         {"attn_factor", 1.1}});
  const std::vector<float> factors = {1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5};
  expect_reference_bits("positional.rope_at",
                        {x, positions(9), *Tensor::from<float>(DType::kF32, Shape{8}, factors)});
}

}  // namespace
}  // namespace quern
