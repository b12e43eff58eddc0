#include "passes/extract_nodes.h"

#include <gtest/gtest.h>

#include "quern/op.h"

namespace quern {
namespace {

constexpr std::string_view kGraph = R"(graph {
  state @kv : kv {heads = 1, key_dim = 4, key_type = "f32", layers = 1, value_dim = 4, value_type = "f32"}
  %x = Input() {type = "f32[T, 4]"} : f32[T, 4]
  %w = graph.weight() {type = "f32[4, 4]", weight = "w"} : f32[4, 4]
  %c = graph.constant() {type = "f32[4]", values = f[1.0, 2.0, 3.0, 4.0]} : f32[4]
  %a = math.exp(%x) : f32[T, 4]
  %b = math.matmul(%a, %w) : f32[T, 4]
  %d = math.add(%b, %c) : f32[T, 4]
  %e = math.add(%d, %a) : f32[T, 4]
  output y = %e
}
)";

NodeId find_node(const Graph& graph, std::string_view name) {
  return graph.value(graph.find_value(name)).producer;
}

std::string extract(std::initializer_list<std::string_view> names) {
  const auto graph = parse_graph(kGraph, builtin_ops());
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  std::vector<NodeId> nodes;
  for (const std::string_view name : names) nodes.push_back(find_node(*graph, name));
  const auto part = extract_nodes(*graph, nodes);
  return part ? print_graph(*part) : part.error().message;
}

// With its name and type.
TEST(ExtractNodes, WhatOthersMakeBecomesAnInput) {
  EXPECT_EQ(extract({"e"}), R"(graph {
  %d = Input() {type = "f32[T, 4]"} : f32[T, 4]
  %a = Input() {type = "f32[T, 4]"} : f32[T, 4]
  %e = math.add(%d, %a) : f32[T, 4]
  output e = %e
}
)");
}

// The piece must run on its own.
TEST(ExtractNodes, WeightsAndConstantsComeAlong) {
  EXPECT_EQ(extract({"b", "d"}), R"(graph {
  %a = Input() {type = "f32[T, 4]"} : f32[T, 4]
  %w = graph.weight() {type = "f32[4, 4]", weight = "w"} : f32[4, 4]
  %c = graph.constant() {type = "f32[4]", values = f[1.0, 2.0, 3.0, 4.0]} : f32[4]
  %b = math.matmul(%a, %w) : f32[T, 4]
  %d = math.add(%b, %c) : f32[T, 4]
  output b = %b
  output d = %d
}
)");
}

// Ids come from users.
TEST(ExtractNodes, UnknownNodesAreRefused) {
  const auto graph = parse_graph(kGraph, builtin_ops());
  ASSERT_TRUE(graph);
  EXPECT_EQ(extract_nodes(*graph, {99}).error().message, "Node 99 is not one of the graph's 7.");
  EXPECT_EQ(print_graph(*extract_nodes(*graph, {})), "graph {\n}\n");
}

}  // namespace
}  // namespace quern
