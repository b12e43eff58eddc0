// Costs against sums by hand.
#include "passes/node_cost.h"

#include <gtest/gtest.h>

#include "quern/op.h"

namespace quern {
namespace {

// Cost of the node `name` of a graph.
NodeCost cost_of(std::string_view text, std::string_view name, int64_t tokens = 2,
                 int64_t cached_rows = 0) {
  const auto graph = parse_graph(text, builtin_ops());
  EXPECT_TRUE(graph.has_value()) << (graph ? "" : graph.error().message);
  if (!graph) return {};
  CostContext context{.symbols = {}, .cached_rows = cached_rows};
  context.symbols.set('T', tokens);
  const auto costs = annotate_cost(*graph, context);
  EXPECT_TRUE(costs.has_value());
  for (size_t i = 0; i < graph->nodes().size(); ++i) {
    if (graph->nodes()[i].name == name) return (*costs)[i];
  }
  ADD_FAILURE() << "no node " << name;
  return {};
}

constexpr std::string_view kLinear = R"(graph {
  %x = Input() {type = "f32[T, 64]"}
  %w = graph.weight() {type = "q8_0[10, 64]", weight = "w"}
  %v = graph.weight() {type = "f32[10, 64]", weight = "v"}
  %q = quant.dynamic(%x) {bits = 16}
  %y = projection.linear(%q:q, %w, _, %q:d)
  %f = projection.linear(%x, %v)
  %a = math.add(%y, %f)
  output a = %a
}
)";

// A product and a sum.
TEST(NodeCost, AFloatProductIsTwoOperationsForEachPair) {
  const NodeCost cost = cost_of(kLinear, "f");
  EXPECT_EQ(cost.flops, 2 * 2 * 10 * 64);
  EXPECT_EQ(cost.int_ops, 0);
  EXPECT_EQ(cost.weight_bytes, 10 * 64 * 4);
  EXPECT_EQ(cost.read_bytes, 2 * 64 * 4);
  EXPECT_EQ(cost.write_bytes, 2 * 10 * 4);
}

// Two byte planes.
TEST(NodeCost, AnInt16ProductIsTwoInt8Products) {
  const NodeCost cost = cost_of(kLinear, "y");
  EXPECT_EQ(cost.int_ops, 2 * 2 * 2 * 10 * 64);
  EXPECT_EQ(cost.weight_bytes, 10 * 2 * 34);  // two blocks of 34 bytes a row
  EXPECT_EQ(cost.read_bytes, 2 * 64 * 2 + 2 * 2 * 4);
}

// Traffic of an elementwise node.
TEST(NodeCost, ASumReadsTwoAndWritesOne) {
  const NodeCost cost = cost_of(kLinear, "a");
  EXPECT_EQ(cost.flops, 20);
  EXPECT_EQ(cost.bytes(), 3 * 20 * 4);
  EXPECT_DOUBLE_EQ(cost.intensity(), 20.0 / 240);
}

// They are bound, not computed.
TEST(NodeCost, InputsAndWeightsCostNothing) {
  EXPECT_EQ(cost_of(kLinear, "w").bytes(), 0);
  EXPECT_EQ(cost_of(kLinear, "x").bytes(), 0);
  EXPECT_EQ(cost_of(kLinear, "x").intensity(), 0);
}

// An empty batch.
TEST(NodeCost, NoTokensMoveOnlyTheWeights) {
  const NodeCost cost = cost_of(kLinear, "f", 0);
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.read_bytes + cost.write_bytes, 0);
}

// Not as a whole.
TEST(NodeCost, ATableIsReadRowByRow) {
  const NodeCost cost = cost_of(R"(graph {
  %ids = Input() {type = "i32[T]"}
  %t = graph.weight() {type = "f32[1000, 16]", weight = "t"}
  %e = embedding.token(%ids, %t)
  output e = %e
}
)",
                                "e");
  EXPECT_EQ(cost.weight_bytes, 2 * 16 * 4);
}

// The second time it is in the cache.
TEST(NodeCost, AnOperandThatIsReadTwiceCountsOnce) {
  const NodeCost cost = cost_of(R"(graph {
  %x = Input() {type = "f32[T, 16]"}
  %s = math.mul(%x, %x)
  output s = %s
}
)",
                                "s");
  EXPECT_EQ(cost.read_bytes, 2 * 16 * 4);
}

// But not what would lie between them.
TEST(NodeCost, FusedNodesCostTheirParts) {
  const NodeCost cost = cost_of(R"GRAPH(graph {
  %x = Input() {type = "f32[T, 64]"}
  %v = graph.weight() {type = "f32[10, 64]", weight = "v"}
  %r = Input() {type = "f32[T, 10]"}
  %y = fused.linear(%x, %v, _, _, %r) {program = "activation.relu(x0); math.add(v0, x1)"}
  output y = %y
}
)GRAPH",
                                "y");
  EXPECT_EQ(cost.flops, 2 * 2 * 10 * 64 + 2 * 20);
  EXPECT_EQ(cost.read_bytes, 2 * 64 * 4 + 2 * 10 * 4);
}

// Rows of before and of this run.
TEST(NodeCost, CachedAttentionReadsTheCache) {
  const std::string_view text = R"(graph {
  state @kv : kv {heads = 2, keeps_unrotated = false, key_dim = 4, key_type = "f16", layers = 1, value_dim = 4, value_type = "f32"}
  %q = Input() {type = "f32[T, 4, 4]"}
  %p = Input() {type = "i32[T]"}
  %s = Input() {type = "i32[T]"}
  %a = attention.cached(%q, %p, %s) {layer = 0}
  output a = %a
}
)";
  const NodeCost one = cost_of(text, "a", 1, 99);
  // 100 rows of two heads: 4 keys of 2 bytes and 4 values of 4.
  EXPECT_EQ(one.read_bytes, 100 * 2 * (8 + 16) + 4 * 4 * 4 + 4 + 4);
  EXPECT_GT(cost_of(text, "a", 1, 199).flops, 1.9 * one.flops);
}

// Costs need sizes.
TEST(NodeCost, AnUnboundSymbolIsAnError) {
  const auto graph = parse_graph(kLinear, builtin_ops());
  EXPECT_FALSE(annotate_cost(*graph, {}).has_value());
}

}  // namespace
}  // namespace quern
