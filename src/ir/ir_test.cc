#include <gtest/gtest.h>

#include "ir/tensor_type.h"
#include "quern/graph.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {
namespace {

Result<std::vector<TensorType>> declared_type(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(TensorType type, parse_tensor_type(context.attributes.text("type")));
  return std::vector<TensorType>{std::move(type)};
}

Result<std::vector<TensorType>> first_input_type(const InferContext& context) {
  return std::vector<TensorType>{*context.inputs[0]};
}

Result<std::vector<TensorType>> two_outputs(const InferContext& context) {
  return std::vector<TensorType>{*context.inputs[0], *context.inputs[0]};
}

Result<std::vector<TensorType>> no_output(const InferContext&) {
  return std::vector<TensorType>{};
}

OpRegistry test_registry() {
  OpRegistry registry;
  registry.add({.id = "Input",
                .inputs = {},
                .outputs = {{"x"}},
                .attributes = {{"type", AttributeKind::kText, {}, "", {}}},
                .infer = declared_type});
  registry.add({.id = "test.scale",
                .inputs = {{"x"}},
                .outputs = {{"y"}},
                .attributes = {{"factor", AttributeKind::kNumber, 1.0, "", {}},
                               {"mode", AttributeKind::kText, std::string("a"), "", {"a", "b"}}},
                .infer = first_input_type});
  registry.add({.id = "test.split",
                .inputs = {{"x"}},
                .outputs = {{"low"}, {"high"}},
                .infer = two_outputs});
  registry.add({.id = "test.store",
                .inputs = {{"x"}},
                .outputs = {},
                .attributes = {{"state", AttributeKind::kText, std::string("kv"), "", {}}},
                .effect = Effect::kStateWrite,
                .infer = no_output});
  return registry;
}

constexpr std::string_view kText = R"(graph {
  state @kv : kv {heads = 3, key_type = "f32", scale = 0.1}
  %x = Input() {type = "f32[T, 64]"} : f32[T, 64]
  %y = test.scale(%x) {factor = 0.30000000000000004} : f32[T, 64]
  %s = test.split(%y) : f32[T, 64], f32[T, 64]
  %w = test.store(%s:high)
  output out = %s:low
}
)";

TEST(Ir, TextRoundTrips) {
  const OpRegistry registry = test_registry();
  const auto graph = parse_graph(kText, registry);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(print_graph(*graph), kText);
  EXPECT_EQ(graph->inputs().size(), 1U);
  EXPECT_NE(graph->find_value("s:low"), kNoValue);
}

TEST(Ir, HashIgnoresInnerNamesAndSeesMeaning) {
  const OpRegistry registry = test_registry();
  const auto hash = [&](std::string text) {
    const auto graph = parse_graph(text, registry);
    EXPECT_TRUE(graph) << graph.error().message;
    return semantic_hash(*graph);
  };
  const std::string text(kText);
  std::string renamed = text;
  for (size_t at; (at = renamed.find("%y")) != std::string::npos;) renamed.replace(at, 2, "%z");
  EXPECT_EQ(hash(text), hash(renamed));
  std::string changed = text;
  changed.replace(changed.find("0.30000000000000004"), 19, "0.3");
  EXPECT_NE(hash(text), hash(changed));
}

TEST(Ir, AttributesMayBeNaN) {
  const OpRegistry registry = test_registry();
  const std::string text =
      "graph {\n  %x = Input() {type = \"f32[2]\"} : f32[2]\n"
      "  %y = test.scale(%x) {factor = nan} : f32[2]\n}\n";
  const auto graph = parse_graph(text, registry);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(print_graph(*graph), text);
}

void expect_error(std::string_view text, std::string_view part) {
  const OpRegistry registry = test_registry();
  const auto graph = parse_graph(text, registry);
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().message.find(part), std::string::npos) << graph.error().message;
}

TEST(Ir, ErrorsNameLineAndObject) {
  expect_error("graph {\n  %y = test.scale(%x)\n}\n", "Line 2, column 21: '%x' is not defined");
  expect_error("graph {\n  %x = Input()\n}\n", "needs the attribute 'type'");
  expect_error("graph {\n  %x = Input() {type = \"f32[T]\"} : f32[S]\n}\n", "f32[S] is stated");
  expect_error(
      "graph {\n  %x = Input() {type = \"f32[2]\"}\n  %x = Input() {type = \"f32[2]\"}\n}\n",
      "used twice");
  expect_error(
      "graph {\n  %x = Input() {type = \"f32[2]\"}\n  %y = test.scale(%x) {mode = \"c\"}\n}",
      "the choices are a, b");
  expect_error("graph {\n  %x = Input() {type = \"f32[2]\"}\n  %y = test.scale(%x) {color = 1}\n}",
               "no attribute 'color'");
  expect_error("graph {\n  %x = Input() {type = \"f32[2]\"}\n  %w = test.store(%x)\n}",
               "State 'kv' is not declared");
  expect_error("graph {\n  %x = what.now()\n}\n", "no operation 'what.now'");
  expect_error("graph {\n", "ends at line 1");
}

TEST(Ir, TypesParseAndPrint) {
  for (const auto* text :
       {"f32[]", "f32[T, 64]", "i16[3*T, 2]", "q4_K[10, 256]", "f32[T]@private"}) {
    const auto type = parse_tensor_type(text);
    ASSERT_TRUE(type) << text;
    EXPECT_EQ(type->to_string(), text);
  }
  for (const auto* text : {"f32", "f33[2]", "f32[-1]", "f32[2", "f32[t]", "f32[2]x", "f32[2,]",
                           "f32[1,1,1,1,1,1,1,1,1]"}) {
    EXPECT_FALSE(parse_tensor_type(text)) << text;
  }
}

}  // namespace
}  // namespace quern
