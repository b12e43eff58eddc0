// Quantised activations and linear layers in graphs: packed and plain forms, weights of all kinds.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/op_compare.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::load_graph;
using test::MemoryWeights;
using test::random_tensor;
using test::same_result_bits;

constexpr int64_t kColumns = 256;

TensorType rows_type(DType dtype = DType::kF32) {
  return {dtype, {Dim::symbolic('T'), Dim::constant(kColumns)}};
}
TensorType weight_type(DType dtype, int64_t rows) {
  return {dtype, {Dim::constant(rows), Dim::constant(kColumns)}};
}

Graph finish(GraphBuilder& builder) {
  auto graph = builder.finish();
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

// Runs a graph of the input x [T, kColumns] on both backends, at several T, levels and threads.
// T = 13 and 70 cross tiles; 1 is decoding; 0 runs nothing.
void expect_same_results(const Graph& graph, const MemoryWeights& weights,
                         const std::vector<std::string>& readable = {}, DType dtype = DType::kF32) {
  test::LoadOptions options;
  options.compile.readable = readable;
  options.backend = "reference";
  auto reference = load_graph(graph, options, &weights);
  ASSERT_TRUE(reference.has_value()) << reference.error().message;
  options.backend = "cpu";
  for (const std::string& isa : test::cpu_isas()) {
    for (const int threads : {1, 3}) {
      options.device.isa = isa;
      options.device.num_threads = threads;
      auto cpu = load_graph(graph, options, &weights);
      ASSERT_TRUE(cpu.has_value()) << cpu.error().message;
      std::mt19937 random(8);
      for (const int64_t tokens : {1, 0, 3, 13, 70}) {
        const Tensor x = random_tensor(dtype, Shape{tokens, kColumns}, random);
        const auto expected = reference->run({{"x", x}});
        const auto actual = cpu->run({{"x", x}});
        ASSERT_TRUE(expected) << expected.error().message;
        ASSERT_TRUE(actual) << actual.error().message;
        EXPECT_TRUE(same_result_bits(*actual, *expected)) << isa << threads << " T " << tokens;
      }
    }
  }
}

std::vector<DType> block_dtypes() {
  std::vector<DType> dtypes;
  for (const DTypeInfo& info : all_dtypes()) {
    if (find_block_format(info.dtype) != nullptr && can_encode(info.dtype)) {
      dtypes.push_back(info.dtype);
    }
  }
  return dtypes;
}

// 19 rows: a panel and 3. Once with a bias, once with a scale, as both act on the finished sum.
TEST(Linear, MultipliesQuantisedActivationsWithEveryFormat) {
  std::mt19937 random(5);
  for (const DType dtype : block_dtypes()) {
    for (const int64_t bits : {8, 16}) {
      SCOPED_TRACE(fmt::format("{} with {} bits", dtype_name(dtype), bits));
      GraphBuilder b(builtin_ops());
      const int64_t block = find_block_format(dtype)->activation_block;
      const ValueId q =
          b.add("quant.dynamic", {b.input("x", rows_type())}, {{"block", block}, {"bits", bits}});
      const ValueId d = b.last_outputs()[1];
      const ValueId w = b.weight("w", weight_type(dtype, 19));
      const ValueId bias = b.weight("bias", {DType::kF32, {Dim::constant(19)}});
      b.output("y", b.add("projection.linear", {q, w, bias, d}));
      b.output("z", b.add("projection.linear", {q, w, kNoValue, d}, {{"weight_scale", 0.3}}));
      MemoryWeights weights;
      weights.add("w", random_tensor(dtype, Shape{19, kColumns}, random));
      weights.add("bias", random_tensor(DType::kF32, Shape{19}, random));
      expect_same_results(finish(b), weights);
    }
  }
}

// Float activations with block weights decode the weight inside the product.
TEST(Linear, MultipliesFloatsWithEveryFormat) {
  std::mt19937 random(6);
  std::vector<DType> dtypes = block_dtypes();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3}) {
    dtypes.push_back(dtype);
  }
  for (const DType dtype : dtypes) {
    SCOPED_TRACE(dtype_name(dtype));
    GraphBuilder b(builtin_ops());
    const ValueId w = b.weight("w", weight_type(dtype, 35));
    b.output("y", b.add("projection.linear", {b.input("x", rows_type()), w}));
    MemoryWeights weights;
    weights.add("w", random_tensor(dtype, Shape{35, kColumns}, random));
    expect_same_results(finish(b), weights);
  }
}

// Activations narrower and wider than f32; the bias has a type of its own.
TEST(Linear, ServesOtherFloatActivations) {
  std::mt19937 random(6);
  const std::vector<std::pair<DType, DType>> pairs = {{DType::kF16, DType::kF16},
                                                      {DType::kBF16, DType::kQ8_0},
                                                      {DType::kF64, DType::kF64},
                                                      {DType::kF64, DType::kBF16}};
  for (const auto& [x, w] : pairs) {
    SCOPED_TRACE(fmt::format("{} times {}", dtype_name(x), dtype_name(w)));
    GraphBuilder b(builtin_ops());
    const DType bias_dtype = x == DType::kF64 ? DType::kF64 : DType::kF16;
    b.output("y", b.add("projection.linear",
                        {b.input("x", rows_type(x)), b.weight("w", weight_type(w, 7)),
                         b.weight("bias", {bias_dtype, {Dim::constant(7)}})}));
    MemoryWeights weights;
    weights.add("w", random_tensor(w, Shape{7, kColumns}, random));
    weights.add("bias", random_tensor(bias_dtype, Shape{7}, random));
    expect_same_results(finish(b), weights, {}, x);
  }
}

// The integers are read by a product and by the caller: both forms are made.
// Each combination of readers: product alone, caller reads q, d, both; math.add also reads d.
TEST(QuantDynamic, GivesPlainIntegersBesideThePackedForm) {
  std::mt19937 random(7);
  MemoryWeights weights;
  weights.add("w", random_tensor(DType::kQ4_0, Shape{5, kColumns}, random));
  for (const auto& readable : std::vector<std::vector<std::string>>{
           {}, {"quant:q"}, {"quant:d"}, {"quant:q", "quant:d"}}) {
    GraphBuilder b(builtin_ops());
    const ValueId q = b.add("quant.dynamic", {b.input("x", rows_type())}, {}, "quant");
    const ValueId d = b.last_outputs()[1];
    b.output("y", b.add("projection.linear",
                        {q, b.weight("w", weight_type(DType::kQ4_0, 5)), kNoValue, d}));
    b.output("shifted", b.add("math.add", {d, d}));
    expect_same_results(finish(b), weights, readable);
  }
}

// Scales and integers of different nodes, and of the caller: the product packs what it gets.
// q and d come from two nodes, so that no packed form belongs to both.
TEST(Linear, PacksPlainIntegersThatNobodyPacked) {
  std::mt19937 random(7);
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", rows_type());
  const ValueId q = b.add("quant.dynamic", {x}, {{"bits", int64_t{16}}});
  const ValueId scaled = b.add("math.scale", {x}, {{"factor", 3.0}});
  b.add("quant.dynamic", {scaled}, {{"bits", int64_t{16}}});
  const ValueId other_d = b.last_outputs()[1];
  b.output("y", b.add("projection.linear",
                      {q, b.weight("w", weight_type(DType::kQ5_1, 9)), kNoValue, other_d}));
  MemoryWeights weights;
  weights.add("w", random_tensor(DType::kQ5_1, Shape{9, kColumns}, random));
  expect_same_results(finish(b), weights);
}

// One block of 256 over rows of 32 is the block of 32: legal, but it has no packed form.
TEST(Linear, TakesBlocksThatAreLongerThanRows) {
  std::mt19937 random(7);
  const Tensor x = random_tensor(DType::kF32, Shape{3, 32}, random);
  GraphBuilder b(builtin_ops());
  const ValueId q =
      b.add("quant.dynamic", {b.input("x", {DType::kF32, {Dim::constant(3), Dim::constant(32)}})},
            {{"block", int64_t{256}}});
  const ValueId d = b.last_outputs()[1];
  const ValueId w = b.weight("w", {DType::kQ8_0, {Dim::constant(4), Dim::constant(32)}});
  b.output("y", b.add("projection.linear", {q, w, kNoValue, d}));
  const Graph graph = finish(b);
  MemoryWeights weights;
  weights.add("w", random_tensor(DType::kQ8_0, Shape{4, 32}, random));
  test::LoadOptions options;
  auto cpu = load_graph(graph, options, &weights);
  options.backend = "reference";
  auto reference = load_graph(graph, options, &weights);
  ASSERT_TRUE(cpu && reference);
  EXPECT_TRUE(same_result_bits(*cpu->run({{"x", x}}), *reference->run({{"x", x}})));
}

// A weight that is also read in place, and one that two layers share.
TEST(Linear, SharesAWeightWithAnEmbedding) {
  std::mt19937 random(7);
  GraphBuilder b(builtin_ops());
  const ValueId ids = b.input("ids", {DType::kI32, {Dim::symbolic('T')}});
  const ValueId w = b.weight("w", weight_type(DType::kQ8_0, 40));
  const ValueId x = b.add("embedding.token", {ids, w});
  b.output("y", b.add("projection.linear", {x, w}));
  b.output("z", b.add("projection.linear", {b.add("math.rmsnorm", {x}), w}));
  const Graph graph = finish(b);
  MemoryWeights weights;
  weights.add("w", random_tensor(DType::kQ8_0, Shape{40, kColumns}, random));
  test::LoadOptions options;
  auto cpu = load_graph(graph, options, &weights);
  options.backend = "reference";
  auto reference = load_graph(graph, options, &weights);
  ASSERT_TRUE(cpu && reference);
  const std::vector<int32_t> values = {3, 39, 0};
  const auto input = Tensor::from<int32_t>(DType::kI32, Shape{3}, values);
  EXPECT_TRUE(same_result_bits(*cpu->run({{"ids", *input}}), *reference->run({{"ids", *input}})));
  // Packed once: blocks of 34 bytes in panels of whole vectors.
  EXPECT_LT(cpu->executable->weight_bytes(), 3 * 40 * kColumns);
  EXPECT_GT(cpu->executable->weight_bytes(), 0);
}

TEST(Linear, TakesAWeightThatTheGraphComputes) {
  std::mt19937 random(7);
  const Tensor x = random_tensor(DType::kF32, Shape{6, 48}, random);
  expect_reference_bits("projection.linear",
                        {x, random_tensor(DType::kF32, Shape{33, 48}, random)});
  expect_reference_bits("projection.linear", {random_tensor(DType::kF32, Shape{6, 64}, random),
                                              random_tensor(DType::kQ4_1, Shape{33, 64}, random),
                                              random_tensor(DType::kF32, Shape{33}, random)});
}

TEST(Matmul, HasTheBitsOfTheReference) {
  std::mt19937 random(7);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
             {1, 1, 1}, {0, 4, 4}, {4, 0, 4}, {4, 4, 0}, {7, 300, 33}, {65, 257, 70}}) {
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", dtype_name(dtype), m, k, n));
      expect_reference_bits("math.matmul", {random_tensor(dtype, Shape{m, k}, random),
                                            random_tensor(dtype, Shape{k, n}, random)});
    }
  }
}

TEST(QuantDynamic, HasTheBitsOfTheReference) {
  std::mt19937 random(7);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    for (const int64_t columns : {1, 31, 32, 33, 64, 256, 300, 1024}) {
      for (const int64_t block : {32, 256, 7}) {
        for (const int64_t bits : {8, 16}) {
          SCOPED_TRACE(
              fmt::format("{}[5, {}] block {} bits {}", dtype_name(dtype), columns, block, bits));
          expect_reference_bits("quant.dynamic",
                                {random_tensor(dtype, Shape{5, columns}, random, 300)},
                                {{"block", block}, {"bits", bits}});
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern
