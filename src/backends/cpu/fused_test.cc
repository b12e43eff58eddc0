// Fused nodes against their reference kernels: sizes around pieces and tiles, dtypes, vectors that
// repeat, gates, blocks of attention, quantised rows; at every instruction set.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::MemoryWeights;
using test::random_tensor;

constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};

Tensor random_of(DType dtype, const Shape& shape, uint32_t seed, int special_every = 7) {
  std::mt19937 random(seed);
  return random_tensor(dtype, shape, random, special_every);
}

// A piece is 512 elements of f32, 256 of f64.
// One program with four instructions in which each result is read at another distance.
TEST(FusedElementwise, PiecesOfEverySize) {
  for (const DType dtype : kFloats) {
    for (const int64_t size : {0, 1, 3, 17, 255, 256, 257, 511, 512, 513, 1025, 2055}) {
      SCOPED_TRACE(fmt::format("{}[{}]", dtype_name(dtype), size));
      const Tensor x = random_of(dtype, Shape{size}, 1), y = random_of(dtype, Shape{size}, 2);
      expect_reference_bits("fused.elementwise", {x, y},
                            {{"program",
                              "math.mul(x0, x1); activation.swish(v0); "
                              "elementwise.sub(v1, x0); elementwise.max(v2, v1)"}},
                            {1});
    }
  }
}

// Rows shorter than a piece go several at a time; longer ones are cut.
// Columns on both sides of a piece (512) and below a vector; 75 rows of one element are many rows
// in one piece.
TEST(FusedElementwise, VectorsRepeatForEachRow) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    for (const int64_t columns : {1, 2, 7, 64, 255, 512, 513, 700, 1030}) {
      for (const int64_t rows : {0, 1, 2, 75}) {
        SCOPED_TRACE(fmt::format("{}[{}, {}]", dtype_name(dtype), rows, columns));
        expect_reference_bits(
            "fused.elementwise",
            {random_of(dtype, Shape{rows, columns}, 3), random_of(dtype, Shape{columns}, 4)},
            {{"program",
              "math.add(x0, x1); activation.gelu(v0); "
              "math.add(v1, x1)"}},
            {1});
      }
    }
  }
}

TEST(FusedElementwise, LongTensorsSpreadOverThreads) {
  expect_reference_bits(
      "fused.elementwise",
      {random_of(DType::kF32, Shape{413, 1009}, 5), random_of(DType::kF32, Shape{1009}, 6)},
      {{"program", "math.add(x0, x1); math.exp(v0); math.mul(v1, x0)"}});
}

// More than the caches hold: results go past them, in pieces that do not begin at a cache line.
// Rows of 2^20 + 3 floats do not begin at a cache line from the second on.
TEST(FusedElementwise, LargeTensorsGoPastTheCaches) {
  expect_reference_bits("fused.elementwise",
                        {random_of(DType::kF32, Shape{5, (1 << 20) + 3}, 21),
                         random_of(DType::kF32, Shape{5, (1 << 20) + 3}, 22)},
                        {{"program", "math.mul(x0, x1); math.add(v0, x0); activation.relu(v1)"}},
                        {1, 2});
  expect_reference_bits("math.mul", {random_of(DType::kF32, Shape{5, 1 << 20}, 23),
                                     random_of(DType::kF32, Shape{5, 1 << 20}, 24)});
}

TEST(FusedElementwise, ErrorFunctionAndSign) {
  for (const DType dtype : kFloats) {
    expect_reference_bits("fused.elementwise", {random_of(dtype, Shape{777}, 25, 3)},
                          {{"program", "math.erf(x0); math.sign(x0); math.mul(v0, v1)"}}, {1});
  }
}

// Slots of results are used again after their last reader, and not before.
// 25 instructions with pairs that read results far apart: a slot that is freed too early gives a
// wrong sum.
TEST(FusedElementwise, LongProgramsKeepTheirResultsApart) {
  std::string program = "math.exp(x0)";
  for (int i = 0; i < 12; ++i) {
    program += fmt::format("; math.add(v{}, v{}); elementwise.sub(v{}, x0)", 2 * i, i, 2 * i + 1);
  }
  expect_reference_bits("fused.elementwise", {random_of(DType::kF32, Shape{600}, 7)},
                        {{"program", program}}, {1});
}

// v0 and v1 have no reader: legal in a text form.
TEST(FusedElementwise, UnreadResultsAreHarmless) {
  expect_reference_bits("fused.elementwise", {random_of(DType::kF32, Shape{9}, 8)},
                        {{"program", "math.exp(x0); math.sin(x0); math.cos(x0)"}}, {1});
}

// Products, sums and relu that one kernel may take together, or must not: results read twice or
// from farther away, both operands one result, a program that goes on.
TEST(FusedElementwise, NeighboursJoinOnlyWhereNobodyElseReads) {
  constexpr std::string_view kPrograms[] = {
      "math.mul(x0, x1); math.add(v0, x2)",
      "math.mul(x0, x1); math.add(x2, v0); activation.relu(v1)",
      "math.add(x0, x1); activation.relu(v0)",
      "math.mul(x0, x1); math.add(v0, v0)",
      "math.mul(x0, x1); math.add(v0, x2); math.mul(v1, v0)",
      "math.mul(x0, x1); math.mul(x1, x2); math.add(v0, v1); activation.relu(v2)",
      "math.mul(x0, x1); math.add(v0, x2); activation.relu(v1); math.mul(v2, v1)",
      "math.exp(x0); math.mul(v0, x1); math.add(x2, v1); math.mul(v2, v0); math.add(v3, v2)",
      "activation.relu(x0); math.mul(v0, x1); activation.relu(v1); math.add(v2, v0)",
  };
  for (const DType dtype : kFloats) {
    for (const int64_t size : {0, 1, 31, 33, 600, 1027}) {
      const Tensor x = random_of(dtype, Shape{size}, 31), y = random_of(dtype, Shape{size}, 32);
      const Tensor z = random_of(dtype, Shape{size}, 33);
      for (const std::string_view program : kPrograms) {
        SCOPED_TRACE(fmt::format("{}[{}] {}", dtype_name(dtype), size, program));
        std::vector<Tensor> inputs = {x, y};
        if (program.find("x2") != program.npos) inputs.push_back(z);
        expect_reference_bits("fused.elementwise", inputs, {{"program", std::string(program)}},
                              {1});
      }
    }
  }
}

// m on both sides of tile heights, n of panel widths; 19 terms are less than one fold. The program
// reads a vector and a whole matrix.
TEST(FusedMatmul, TilesOfEverySize) {
  for (const DType dtype : kFloats) {
    for (const int64_t m : {0, 1, 2, 13, 70}) {
      for (const int64_t n : {0, 1, 17, 33, 600}) {
        SCOPED_TRACE(fmt::format("{} {} x {}", dtype_name(dtype), m, n));
        expect_reference_bits(
            "fused.matmul",
            {random_of(dtype, Shape{m, 19}, 9, 0), random_of(dtype, Shape{19, n}, 10, 0),
             random_of(dtype, Shape{n}, 11), random_of(dtype, Shape{m, n}, 12)},
            {{"program", "math.add(x0, x1); activation.relu(v0); math.add(v1, x2)"}}, {1, 3});
      }
    }
  }
}

// A sum of no terms is +0.0, and exp of it is 1.
TEST(FusedMatmul, NoInnerExtentGivesZeros) {
  expect_reference_bits(
      "fused.matmul",
      {random_of(DType::kF32, Shape{3, 0}, 1), random_of(DType::kF32, Shape{0, 5}, 2)},
      {{"program", "math.exp(x0)"}}, {1});
}

// Blocks of 64 queries: none, one, one less, exactly one, one more, two and a rest. No keys leave
// rows of a softmax over nothing.
TEST(FusedAttention, BlocksOfQueries) {
  for (const DType dtype : kFloats) {
    for (const int64_t queries : {0, 1, 63, 64, 65, 130}) {
      for (const int64_t keys : {0, 1, 70}) {
        SCOPED_TRACE(fmt::format("{} {} queries, {} keys", dtype_name(dtype), queries, keys));
        expect_reference_bits(
            "fused.attention",
            {random_of(dtype, Shape{queries, 20}, 1, 0), random_of(dtype, Shape{20, keys}, 2, 0),
             random_of(dtype, Shape{keys, 9}, 3, 0), random_of(dtype, Shape{queries, keys}, 4, 30)},
            {{"program", "math.scale(x0) {factor = 0.223}; math.add(v0, x1)"}}, {1, 3});
      }
    }
  }
}

TEST(FusedAttention, AnEmptyProgramAndAMaskOfOneRow) {
  const Tensor q = random_of(DType::kF32, Shape{66, 8}, 1, 0);
  const Tensor kt = random_of(DType::kF32, Shape{8, 40}, 2, 0);
  const Tensor v = random_of(DType::kF32, Shape{40, 5}, 3, 0);
  expect_reference_bits("fused.attention", {q, kt, v}, {{"program", ""}});
  expect_reference_bits("fused.attention", {q, kt, v, random_of(DType::kF32, Shape{40}, 4, 9)},
                        {{"program", "math.add(x0, x1)"}});
}

// Runs a graph of the input x [T, 64] on both backends, at several T, levels and threads.
// T includes 0 between others, as plans are kept by size.
void expect_same_results(GraphBuilder& builder, const MemoryWeights& weights,
                         DType dtype = DType::kF32) {
  const auto graph = builder.finish();
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  test::LoadOptions options{.backend = "reference"};
  auto reference = test::load_graph(*graph, options, &weights);
  ASSERT_TRUE(reference.has_value()) << reference.error().message;
  options.backend = "cpu";
  for (const std::string& isa : test::cpu_isas()) {
    for (const int threads : {1, 3}) {
      options.device = {.num_threads = threads, .isa = isa};
      auto cpu = test::load_graph(*graph, options, &weights);
      ASSERT_TRUE(cpu.has_value()) << cpu.error().message;
      for (const int64_t tokens : {1, 0, 2, 13, 70}) {
        const Tensor x = random_of(dtype, Shape{tokens, 64}, 5, 0);
        const Tensor r = random_of(dtype, Shape{tokens, 50}, 6, 0);
        const auto expected = reference->run({{"x", x}, {"r", r}});
        const auto actual = cpu->run({{"x", x}, {"r", r}});
        ASSERT_TRUE(expected) << expected.error().message;
        ASSERT_TRUE(actual) << actual.error().message;
        EXPECT_TRUE(test::same_result_bits(*actual, *expected))
            << isa << ", " << threads << " threads, T " << tokens;
      }
    }
  }
}

// [T, columns], T being symbolic.
TensorType rows_of(int64_t columns, DType dtype = DType::kF32) {
  return {dtype, {Dim::symbolic('T'), Dim::constant(columns)}};
}

ValueId add_weight(GraphBuilder& b, MemoryWeights& weights, const std::string& name, DType dtype,
                   const Shape& shape) {
  // A seed for each name, so that weights differ from each other.
  weights.add(name, random_of(dtype, shape, static_cast<uint32_t>(name.size() + name[0]), 0));
  TensorType type{dtype, {}};
  for (const int64_t extent : shape.dims()) type.dims.push_back(Dim::constant(extent));
  return b.weight(name, type);
}

// 50 rows are panels and a rest. weight_scale is not 1, or dropping it would not show.
TEST(FusedLinear, WeightsOfAllKindsWithBiasAndResidual) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_1}) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    MemoryWeights weights;
    GraphBuilder b(builtin_ops());
    const ValueId x = b.input("x", rows_of(64)), r = b.input("r", rows_of(50));
    const ValueId w = add_weight(b, weights, "w", dtype, Shape{50, 64});
    const ValueId bias = add_weight(b, weights, "bias", DType::kF32, Shape{50});
    const Attributes attributes{{"program", "activation.gelu_tanh(x0); math.add(x1, v0)"},
                                {"weight_scale", 0.5}};
    b.output("float", b.add("fused.linear", {x, w, bias, kNoValue, r}, attributes));
    if (is_quantized(dtype)) {
      for (const int64_t bits : {8, 16}) {
        b.add("quant.dynamic", {x}, {{"bits", bits}});
        const ValueId q = b.last_outputs()[0], d = b.last_outputs()[1];
        b.output(fmt::format("{}", bits), b.add("fused.linear", {q, w, bias, d, r}, attributes));
        // In plain form too: something else reads the integers.
        b.output(fmt::format("q{}", bits), q);
      }
    }
    expect_same_results(b, weights);
  }
}

// 75 rows: gate and up end inside a panel. Only up has a scale and, in floats, a bias; with int16
// only gate has one: mixing the two up shows.
TEST(GatedLinear, TwoProductsOfOneInput) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_0}) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    MemoryWeights weights;
    GraphBuilder b(builtin_ops());
    const ValueId x = b.input("x", rows_of(64));
    b.output("r", b.input("r", rows_of(50)));
    const ValueId gate = add_weight(b, weights, "gate", dtype, Shape{75, 64});
    const ValueId up = add_weight(b, weights, "up", dtype, Shape{75, 64});
    const ValueId bias = add_weight(b, weights, "bias", DType::kF32, Shape{75});
    const Attributes attributes{{"program", "activation.swiglu_tensors(x0, x1)"},
                                {"up_weight_scale", 0.25}};
    b.output("float", b.add("fused.gated_linear", {x, gate, up, kNoValue, bias}, attributes));
    if (is_quantized(dtype)) {
      b.add("quant.dynamic", {x}, {{"bits", int64_t{16}}});
      const ValueId q = b.last_outputs()[0], d = b.last_outputs()[1];
      b.output("int16", b.add("fused.gated_linear", {q, gate, up, bias, kNoValue, d}, attributes));
    }
    expect_same_results(b, weights);
  }
}

// A weight that a node makes cannot be packed at load: the product reads it plainly.
TEST(GatedLinear, DoublesAndComputedWeights) {
  MemoryWeights weights;
  GraphBuilder b(builtin_ops());
  const ValueId x = b.input("x", rows_of(64, DType::kF64));
  b.output("r", b.input("r", rows_of(50, DType::kF64)));
  const ValueId w = add_weight(b, weights, "w", DType::kF64, Shape{9, 64});
  const ValueId computed = b.add("math.exp", {w});
  b.output("y", b.add("fused.gated_linear", {x, w, computed}, {{"program", "math.mul(x0, x1)"}}));
  b.output("z", b.add("fused.linear", {x, computed}, {{"program", "math.log(x0)"}}));
  expect_same_results(b, weights, DType::kF64);
}

// Norm weights of other float types, a layer norm without weight, instructions before and behind
// the norm.
TEST(FusedQuantize, NormsAndGatesIntoProducts) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    MemoryWeights weights;
    GraphBuilder b(builtin_ops());
    const ValueId x = b.input("x", rows_of(64, dtype));
    b.output("r", b.input("r", rows_of(50, dtype)));
    const ValueId norm = add_weight(b, weights, "norm", DType::kF32, Shape{64});
    const ValueId bias = add_weight(b, weights, "bias", DType::kF16, Shape{64});
    const ValueId w = add_weight(b, weights, "w", DType::kQ8_0, Shape{20, 64});
    const auto project = [&](const std::string& name, std::vector<ValueId> inputs,
                             const std::string& program, int64_t bits) {
      b.add("fused.quantize", inputs, {{"program", program}, {"bits", bits}});
      const ValueId q = b.last_outputs()[0], d = b.last_outputs()[1];
      b.output(name, b.add("projection.linear", {q, w, kNoValue, d}));
      if (bits == 8) b.output(name + "_d", d);
    };
    project("rms", {x, norm}, "math.rmsnorm(x0, x1)", 16);
    project("plain", {x, norm}, "math.rmsnorm(x0, x1)", 8);
    if (dtype == DType::kF16) project("narrow", {x, bias}, "math.layernorm(x0, _, x1)", 16);
    project("gate", {x}, "activation.sigmoid(x0); math.mul(v0, x0)", 16);
    project("both", {x, norm}, "math.exp(x0); math.layernorm(v0, x1); math.mul(v1, v0)", 8);
    expect_same_results(b, weights, dtype);
  }
}

// Rows that are no whole blocks have no packed form.
TEST(FusedQuantize, RowsWithoutAPackedForm) {
  for (const int64_t columns : {1, 31, 40, 100}) {
    expect_reference_bits("fused.quantize", {random_of(DType::kF32, Shape{5, columns}, 3, 40)},
                          {{"program", "math.rmsnorm(x0)"}, {"bits", int64_t{16}}}, {1, 3});
  }
}

// math.tan has no vector kernel; prelu_v is not elementwise in the sense of programs.
TEST(FusedNodes, ProgramsWithoutKernelsAreRefusedBeforeTheyRun) {
  const BackendRegistry registry = register_backends();
  const Backend* cpu = *registry.find("cpu");
  for (const char* program : {"math.tan(x0)", "activation.prelu_v(x0, x0)"}) {
    GraphBuilder b(builtin_ops());
    const ValueId x = b.input("x", rows_of(64));
    const ValueId w = b.weight("w", {DType::kF32, {Dim::constant(3), Dim::constant(64)}});
    b.output("y", b.add("fused.linear", {x, w}, {{"program", program}}));
    const auto graph = b.finish();
    if (!graph) continue;  // the operation is not elementwise at all
    const auto artifact = cpu->compile(*graph, {});
    ASSERT_FALSE(artifact.has_value());
    EXPECT_EQ(artifact.error().code, ErrorCode::kUnimplemented);
  }
}

TEST(FusionCaps, ListsOperationsOfTheTable) {
  const BackendRegistry registry = register_backends();
  const FusionCaps caps = (*registry.find("cpu"))->fusions();
  EXPECT_TRUE(caps.has("fused.gated_linear"));
  EXPECT_FALSE(caps.has("fused.nothing"));
  for (const std::string_view id : caps.program_ops) {
    const OpDef* op = builtin_ops().find(id);
    ASSERT_NE(op, nullptr) << id;
    EXPECT_TRUE(op->is_elementwise) << id;
  }
  EXPECT_TRUE((*registry.find("reference"))->fusions().fused_ops.empty());
}

}  // namespace
}  // namespace quern
