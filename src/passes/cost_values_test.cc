// Costs of one node of each kind, counted by hand.
#include <gtest/gtest.h>

#include "passes/node_cost.h"
#include "support/pass_text.h"

namespace quern::test {
namespace {

// The cost of the node `z`, with T = 3.
NodeCost cost_of_z(std::string_view inputs, std::string_view body) {
  const auto graph = short_graph(inputs, std::string(body) + "\noutput z = %z");
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message) << body;
  if (!graph) return {};
  CostContext context;
  context.symbols.set('T', 3);
  const auto costs = annotate_cost(*graph, context);
  EXPECT_TRUE(costs) << (costs ? "" : costs.error().message);
  NodeCost cost;
  for (size_t i = 0; costs && i < costs->size(); ++i) {
    if (graph->nodes()[i].name == "z") cost = (*costs)[i];
  }
  return cost;
}

struct Row {
  std::string_view inputs;
  std::string_view body;
  double flops, int_ops, weight_bytes, read_bytes, write_bytes;
};

void expect_costs(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    const NodeCost cost = cost_of_z(row.inputs, row.body);
    EXPECT_EQ(cost.flops, row.flops) << row.body;
    EXPECT_EQ(cost.int_ops, row.int_ops) << row.body;
    EXPECT_EQ(cost.weight_bytes, row.weight_bytes) << row.body;
    EXPECT_EQ(cost.read_bytes, row.read_bytes) << row.body;
    EXPECT_EQ(cost.write_bytes, row.write_bytes) << row.body;
  }
}

// Additions and products count once, divisions and roots 4, functions 20.
TEST(CostValues, ElementwiseOperations) {
  expect_costs({
      {"a f32[T, 8]; b f32[T, 8]", "%z = math.add(%a, %b)", 24, 0, 0, 192, 96},
      {"a f32[T, 8]; b f32[8]", "%z = math.add(%a, %b)", 24, 0, 0, 96 + 32, 96},
      {"a f32[T, 8]; b f32[T, 8]", "%z = elementwise.div(%a, %b)", 96, 0, 0, 192, 96},
      {"a f64[T, 8]", "%z = elementwise.sqrt(%a)", 96, 0, 0, 192, 192},
      {"a f16[T, 8]", "%z = math.exp(%a)", 480, 0, 0, 48, 48},
      {"a f32[T, 8]", "%z = activation.relu(%a)", 24, 0, 0, 96, 96},
      {"a f32[T, 8]", "%z = activation.gelu(%a)", 480, 0, 0, 96, 96},
      // An alias costs what it stands for.
      {"a f32[T, 8]; b f32[T, 8]", "%z = Add(%a, %b)", 24, 0, 0, 192, 96},
      {"a i64[T, 8]; b i64[T, 8]", "%z = math.mul(%a, %b)", 24, 0, 0, 384, 192},
  });
}

// Of each element: rmsnorm 4, layernorm and its kin 7, softmax an exponential and 4.
TEST(CostValues, RowsAndTheirNorms) {
  expect_costs({
      {"x f32[T, 8]; w f32[8]", "%z = math.rmsnorm(%x, %w)", 96, 0, 0, 96 + 32, 96},
      {"x f32[T, 8]", "%z = math.layernorm(%x)", 168, 0, 0, 96, 96},
      {"x f32[T, 8, 2]", "%z = math.groupnorm(%x) {groups = 4}", 336, 0, 0, 192, 192},
      {"x f32[T, 8]", "%z = math.softmax(%x)", 24 * 24, 0, 0, 96, 96},
      {"x f32[T, 8]", "%z = activation.log_softmax(%x)", 24 * 24, 0, 0, 96, 96},
      // One result for each row.
      {"x f32[T, 8]", "%z = math.logsumexp(%x)", 3 * 22, 0, 0, 96, 12},
      {"x f32[T, 2, 8]; p i32[T]", "%z = positional.rope_at(%x, %p)", 48 * 3, 0, 0, 192 + 12, 192},
  });
}

// Reshapes do not even move.
TEST(CostValues, CopiesMoveAndComputeNothing) {
  expect_costs({
      {"x f32[T, 8]", "%z = shape.reshape(%x) {shape = [-1]}", 0, 0, 0, 0, 0},
      {"x f32[T, 8]", "%z = shape.transpose(%x) {dim0 = 0, dim1 = 1}", 0, 0, 0, 96, 96},
      {"x f32[T, 8]", "%z = shape.slice(%x) {dim = 1, end = 2}", 0, 0, 0, 96, 24},
      {"x f32[1, 8]; y f32[T, 8]", "%z = shape.broadcast(%x, %y)", 0, 0, 0, 32 + 96, 96},
      {"x f32[T, 8]", "%z = graph.copy(%x) {from = \"a\", to = \"b\"}", 0, 0, 0, 96, 96},
      {"x f32[T, 8]; r i32[2]", "%z = shape.gather_rows(%x, %r)", 0, 0, 0, 64 + 8, 64},
  });
}

// A reduction looks at every element that goes in.
TEST(CostValues, ReductionsCountTheirInputs) {
  expect_costs({
      {"x f32[T, 8]", "%z = reduction.sum(%x)", 24, 0, 0, 96, 4},
      {"x f32[T, 8]", "%z = reduction.argmax(%x)", 24, 0, 0, 96, 12},
      {"x f32[1, 2, 4, 4]",
       "%z = pooling.max_pool2d(%x) {kernel_h = 2, kernel_w = 2, stride_h = 2, stride_w = 2}", 32,
       0, 0, 128, 32},
  });
}

// Matrices, attention, convolutions.
TEST(CostValues, ProductsOfTwoTensors) {
  expect_costs({
      {"a f32[T, 8]; b f32[8, 5]", "%z = math.matmul(%a, %b)", 2 * 3 * 5 * 8, 0, 0, 96 + 160, 60},
      {"a f32[T, 8]; b f32[8, 5]", "%z = Matmul(%a, %b)", 2 * 3 * 5 * 8, 0, 0, 96 + 160, 60},
      {"q f32[2, 4, T, 8]; k f32[2, 4, 5, 8]; v f32[2, 4, 5, 6]", "%z = attention.sdpa(%q, %k, %v)",
       // 2 * 4 * 3 * 5 scores: products with 8 keys and 6 values each, and an exponential.
       120 * (2 * 14 + 20), 0, 0, 4 * (192 + 320 + 240), 4 * 144},
      // Rows of two heads side by side: 3 * 5 pairs of rows, products 16 wide of keys and of
      // values, and an exponential for each head.
      {"q f32[T, 16]; k f32[5, 16]; v f32[5, 16]",
       "%z = attention.multi_head_attention(%q, %k, %v) {head_dim = 8, num_heads = 2}",
       15 * (2 * 32 + 2 * 20), 0, 0, 4 * (48 + 80 + 80), 4 * 48},
      // A window hides keys.
      {"q f32[T, 16]; k f32[5, 16]; v f32[5, 16]",
       "%z = attention.multi_head_attention(%q, %k, %v) {head_dim = 8, num_heads = 2, window_size "
       "= "
       "2}",
       6 * (2 * 32 + 2 * 20), 0, 0, 4 * (48 + 80 + 80), 4 * 48},
      {"q f32[2, 4, T, 8]; k f32[2, 2, 5, 8]; v f32[2, 2, 5, 6]",
       "%z = attention.sliding_window(%q, %k, %v) {window = 3}", 72 * (2 * 14 + 20), 0, 0,
       4 * (192 + 160 + 120), 4 * 144},
      // Cached rows are keys, too.
      {"q f32[1, 2, T, 8]; k f32[1, 1, 5, 8]; c f32[1, 1, 7, 8]",
       "%z = attention.gqa(%q, %k, %k, _, %c, %c) {start_position = 4}", 54 * (2 * 16 + 20), 0, 0,
       4 * (48 + 40 + 56), 4 * 48},
      {"q f32[T, 8]; k f32[8, 5]; v f32[5, 6]",
       "%z = fused.attention(%q, %k, %v) {program = \"math.scale(x0) {factor = 0.5}\"}",
       15 * (2 * 14 + 24) + 15, 0, 0, 4 * (24 + 40 + 30), 72},
      {"x f32[1, 4, 6]; w f32[8, 2, 3]",
       "%z = convolution.conv1d(%x, %w) {groups = 2, kernel_size = 3}", 2 * 6 * 8 * 4, 0, 0,
       4 * (24 + 48), 4 * 32},
  });
}

// Weights are counted apart, in their own format; blocks of 32 cost two operations for their scale.
TEST(CostValues, ProductsWithWeights) {
  constexpr std::string_view kWeight =
      "%w = graph.weight() {type = \"q4_0[5, 32]\", weight = \"w\"}\n";
  const auto with_weight = [&](std::string_view rest) {
    return std::string(kWeight) + std::string(rest);
  };
  const double products = 3 * 5 * 32;
  expect_costs({
      {"x f32[T, 32]", with_weight("%z = projection.linear(%x, %w)"), 2 * products + products / 16,
       0, 5 * 18, 384, 60},
      {"x i8[T, 32]; s f32[T, 1]", with_weight("%z = projection.linear(%x, %w, _, %s)"),
       products / 16, 2 * products, 5 * 18, 96 + 12, 60},
      {"x i16[T, 32]; s f32[T, 1]", with_weight("%z = projection.linear(%x, %w, _, %s)"),
       products / 16, 4 * products, 5 * 18, 192 + 12, 60},
      {"x f32[T, 32]",
       with_weight("%z = fused.linear(%x, %w) {program = \"activation.relu(x0); math.exp(v0)\"}"),
       2 * products + products / 16 + 15 * 21, 0, 5 * 18, 384, 60},
      {"x f32[T, 32]",
       with_weight(
           "%z = fused.gated_linear(%x, %w, %w) {program = \"activation.reglu_tensors(x0, x1)\"}"),
       4 * products + 2 * products / 16 + 15, 0, 5 * 18, 384, 60},
  });
}

// Tables cost the rows that are picked, never more than the table; each id is looked at once.
TEST(CostValues, TablesAreReadInPart) {
  constexpr std::string_view kTable =
      "%w = graph.weight() {type = \"f16[100, 8]\", weight = \"w\"}\n";
  expect_costs({
      {"i i32[T]", std::string(kTable) + "%z = embedding.token(%i, %w)", 3, 0, 3 * 16, 12, 96},
      {"i i32[T, 100]", std::string(kTable) + "%z = embedding.token(%i, %w)", 300, 0, 1600, 1200,
       9600},
  });
}

// Mixtures are cheap in memory traffic.
TEST(CostValues, ExpertsThatNobodyChoseAreNotRead) {
  constexpr std::string_view kWeight =
      "%w = graph.weight() {type = \"f32[8, 5, 4]\", weight = \"w\"}\n";
  expect_costs({
      // Three tokens, one choice each: three of eight experts at most.
      {"x f32[T, 4]; e i32[T, 1]", std::string(kWeight) + "%z = experts.linear(%x, %w, %e)",
       2 * 15 * 4, 0, 640.0 * 3 / 8, 48 + 12, 60},
      // Nine choices: all of them may be in use.
      {"x f32[T, 4]; e i32[T, 3]", std::string(kWeight) + "%z = experts.linear(%x, %w, %e)",
       2 * 45 * 4, 0, 640, 48 + 36, 180},
  });
}

// Totals of a graph.
TEST(NodeCosts, AddUpFieldByField) {
  NodeCost sum{.flops = 1, .int_ops = 2, .weight_bytes = 3, .read_bytes = 4, .write_bytes = 5};
  sum +=
      NodeCost{.flops = 10, .int_ops = 20, .weight_bytes = 30, .read_bytes = 40, .write_bytes = 50};
  EXPECT_EQ(sum.flops, 11);
  EXPECT_EQ(sum.int_ops, 22);
  EXPECT_EQ(sum.weight_bytes, 33);
  EXPECT_EQ(sum.bytes(), 33 + 44 + 55);
  EXPECT_DOUBLE_EQ(sum.intensity(), 33.0 / 132);
}

}  // namespace
}  // namespace quern::test
