// Tests of building graphs: names, scopes, inference, and errors that are kept until finish().
#include "quern/graph_builder.h"

#include <gtest/gtest.h>

#include "ir/tensor_type.h"
#include "support/ir_test_ops.h"

namespace quern {
namespace {

class GraphBuilderTest : public testing::Test {
 protected:
  ValueId input(std::string_view name = "x", std::string_view type = "f32[T, 64]") {
    return builder_.input(name, parse_tensor_type(type).value());
  }
  // The message of the error that finish() gives.
  std::string error() {
    const auto graph = builder_.finish();
    return graph ? "no error" : graph.error().message;
  }

  const OpRegistry registry_ = test::ir_test_registry();
  GraphBuilder builder_{registry_};
};

// The common case.
TEST_F(GraphBuilderTest, BuildsNodesWithTypesAndDefaults) {
  const ValueId x = input();
  const ValueId y = builder_.add("test.scale", {x}, {{"factor", int64_t{2}}}, "y");
  EXPECT_EQ(builder_.type(y)->to_string(), "f32[T, 64]");
  builder_.output("result", y);
  const auto graph = builder_.finish();
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->nodes().size(), 2U);
  const Node& node = graph->nodes()[1];
  EXPECT_EQ(node.name, "y");
  EXPECT_EQ(node.attributes.number("factor"), 2.0);  // an integer may stand for a number
  EXPECT_EQ(node.attributes.text("mode"), "a");
  EXPECT_EQ(graph->value(y).producer, 1);
  EXPECT_EQ(graph->outputs()[0].name, "result");
  // Borrowed, not copied: nodes hold pointers into it.
  EXPECT_EQ(&graph->registry(), &registry_);
  EXPECT_EQ(graph->inputs(), std::vector<NodeId>{0});
}

// node:port.
TEST_F(GraphBuilderTest, ANodeWithSeveralOutputsNamesThemByPort) {
  const ValueId low = builder_.add("test.split", {input()}, {}, "s");
  ASSERT_EQ(builder_.last_outputs().size(), 2U);
  EXPECT_EQ(builder_.last_outputs()[0], low);
  const ValueId high = builder_.last_outputs()[1];
  builder_.output("high", high);
  const auto graph = builder_.finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->find_value("s:low"), low);
  EXPECT_EQ(graph->find_value("s:high"), high);
  // With two outputs the node's name alone would be ambiguous, so no value bears it.
  EXPECT_EQ(graph->find_value("s"), kNoValue);
  EXPECT_EQ(graph->value(high).output, 1);
}

// Effects alone.
TEST_F(GraphBuilderTest, ANodeWithoutOutputsGivesNoValue) {
  builder_.state({"kv", "kv", {}});
  EXPECT_EQ(builder_.add("test.store", {input()}, {}, "w"), kNoValue);
  EXPECT_TRUE(builder_.last_outputs().empty());
  EXPECT_TRUE(builder_.finish());
}

// Layers within models.
TEST_F(GraphBuilderTest, ScopesPrefixNames) {
  const ValueId x = input();
  builder_.push_scope("layers.3.");
  builder_.add("test.scale", {x}, {}, "q");
  builder_.push_scope("inner.");
  builder_.add("test.scale", {x});
  builder_.pop_scope();
  builder_.pop_scope();
  builder_.add("test.scale", {x});
  const auto graph = builder_.finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->nodes()[1].name, "layers.3.q");
  // The number counts generated names of the whole graph, not of a scope: the next one is 1.
  EXPECT_EQ(graph->nodes()[2].name, "layers.3.inner.test.scale.0");
  EXPECT_EQ(graph->nodes()[3].name, "test.scale.1");
}

// Names would be wrong from there on.
TEST_F(GraphBuilderTest, AScopeThatWasNotOpenedIsAnError) {
  builder_.pop_scope();
  EXPECT_EQ(error(), "A scope is closed that was not opened.");
}

// In the middle and at the end.
TEST_F(GraphBuilderTest, OptionalInputsMayBeAbsent) {
  const ValueId x = input();
  builder_.add("test.pick", {x}, {}, "none");
  builder_.add("test.pick", {x, kNoValue, x}, {}, "last");
  builder_.add("test.pick", {x, x, kNoValue}, {}, "first");
  const auto graph = builder_.finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->nodes()[1].inputs, std::vector<ValueId>{x});
  EXPECT_EQ(graph->nodes()[2].inputs, (std::vector<ValueId>{x, kNoValue, x}));
  EXPECT_EQ(graph->nodes()[3].inputs, (std::vector<ValueId>{x, x}));  // trailing ones are cut
}

// Not none.
TEST_F(GraphBuilderTest, VariadicPortsTakeAnyNumberFromOne) {
  const ValueId x = input();
  builder_.add("test.sum", {x}, {}, "one");
  // One value may fill many ports: 100 is past any fixed array that a rule might use.
  builder_.add("test.sum", std::vector<ValueId>(100, x), {}, "many");
  EXPECT_TRUE(builder_.finish());
  builder_.add("test.sum", {}, {}, "zero");
  EXPECT_EQ(error(), "Node 'zero': test.sum needs its input 'x'.");
}

// Later ones follow from it.
TEST_F(GraphBuilderTest, TheFirstErrorStays) {
  const ValueId x = input();
  EXPECT_EQ(builder_.add("test.nothing", {x}), kNoValue);
  EXPECT_TRUE(builder_.has_error());
  EXPECT_EQ(builder_.add("test.scale", {x}), kNoValue);
  EXPECT_EQ(builder_.add("test.other", {kNoValue}), kNoValue);
  EXPECT_TRUE(builder_.last_outputs().empty());
  builder_.output("y", 99);
  builder_.set_error({ErrorCode::kInternal, "later"});
  EXPECT_EQ(error(), "There is no operation 'test.nothing'.");
  EXPECT_EQ(builder_.finish().error().code, ErrorCode::kNotFound);
}

// Models have hundreds of nodes.
TEST_F(GraphBuilderTest, ErrorsNameNodeOperationAndValue) {
  const auto error_of = [this](std::string_view op, std::vector<ValueId> inputs,
                               Attributes attributes) {
    GraphBuilder builder(registry_);
    builder.input("x", parse_tensor_type("f32[2]").value());
    builder.input("z", parse_tensor_type("f32[3]").value());
    builder.add(op, inputs, std::move(attributes), "n");
    const auto graph = builder.finish();
    return graph ? "no error" : graph.error().message;
  };
  EXPECT_EQ(error_of("test.scale", {}, {}), "Node 'n': test.scale needs its input 'x'.");
  EXPECT_EQ(error_of("test.scale", {kNoValue}, {}), "Node 'n': test.scale needs its input 'x'.");
  EXPECT_EQ(error_of("test.scale", {0, 0}, {}),
            "Node 'n': test.scale takes at most 1 inputs; 2 were given.");
  EXPECT_EQ(error_of("test.scale", {0}, {{"color", int64_t{1}}}),
            "Node 'n': test.scale has no attribute 'color' (given: 1).");
  EXPECT_EQ(error_of("test.scale", {0}, {{"factor", std::string("2")}}),
            "Node 'n': Attribute 'factor' of test.scale is \"2\"; it must be a number.");
  EXPECT_EQ(error_of("test.scale", {0}, {{"mode", std::string("c")}}),
            "Node 'n': Attribute 'mode' of test.scale is 'c'; the choices are a, b.");
  EXPECT_EQ(error_of("test.all", {0}, {{"integer", 1.0}}),
            "Node 'n': Attribute 'integer' of test.all is 1.0; it must be an integer.");
  EXPECT_EQ(error_of("test.all", {0}, {{"integers", std::vector<double>{1}}}),
            "Node 'n': Attribute 'integers' of test.all is f[1.0]; it must be a list of integers.");
  EXPECT_EQ(error_of("Input", {}, {}), "Node 'n': Input needs the attribute 'type'.");
  EXPECT_EQ(error_of("test.sum", {0, 1}, {}),
            "Node 'n': test.sum: The inputs are f32[2] and f32[3].");
}

// Ids that no call gave: a caller's mistake, not a crash.
TEST_F(GraphBuilderTest, IdsOutsideTheGraphAreErrors) {
  // 1 is the id that the failing node itself would get; -1 is absent from the list since it is
  // kNoValue and means no input.
  for (const ValueId id : {1, 99, -2, INT32_MAX, INT32_MIN}) {
    GraphBuilder builder(registry_);
    builder.input("x", parse_tensor_type("f32[2]").value());
    builder.add("test.scale", {id}, {}, "n");
    const auto graph = builder.finish();
    ASSERT_FALSE(graph) << id;
    EXPECT_EQ(graph.error().message,
              "Node 'n': Input " + std::to_string(id) + " is not a value of the graph.");
  }
  EXPECT_EQ(builder_.type(-1), nullptr);
  EXPECT_EQ(builder_.type(0), nullptr);
  builder_.output("y", 0);
  EXPECT_EQ(error(), "Output 'y' names no value of the graph.");
}

// Values are found by name.
TEST_F(GraphBuilderTest, NamesAreUnique) {
  input("x");
  input("x");
  EXPECT_EQ(error(), "The name 'x' is used twice.");
}

// Results are, too.
TEST_F(GraphBuilderTest, OutputNamesAreUnique) {
  const ValueId x = input();
  builder_.output("y", x);
  builder_.output("y", x);
  EXPECT_EQ(error(), "The output name 'y' is used twice.");
}

// Order among them does not matter.
TEST_F(GraphBuilderTest, StatesAreDeclaredOnceAndBeforeTheirUseIsFinished) {
  builder_.state({"kv", "kv", {}});
  builder_.state({"kv", "kv", {}});
  EXPECT_EQ(error(), "State 'kv' is declared twice.");
}

// With its name.
TEST_F(GraphBuilderTest, AStateThatNobodyDeclaredIsAnError) {
  builder_.add("test.store", {input()}, {}, "w");
  EXPECT_EQ(error(), "Node 'w': State 'kv' is not declared in the graph.");
}

// For another graph.
TEST_F(GraphBuilderTest, FinishLeavesTheBuilderEmpty) {
  builder_.output("y", input());
  ASSERT_TRUE(builder_.finish());
  EXPECT_EQ(builder_.type(0), nullptr);
  builder_.output("y", input());  // the same names are free again
  const auto second = builder_.finish();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->nodes().size(), 1U);
}

// Nor do scopes, made-up names or the last node's outputs reach into the next graph.
TEST_F(GraphBuilderTest, FinishForgetsScopesAndNames) {
  builder_.push_scope("layer.");
  builder_.add("test.scale", {input()}, {{"factor", 2.0}});
  const auto first = builder_.finish();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->node(1).name, "layer.test.scale.0");
  EXPECT_TRUE(builder_.last_outputs().empty());
  builder_.add("test.scale", {input()}, {{"factor", 2.0}});
  const auto second = builder_.finish();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->node(1).name, "test.scale.0");
  // The scope is closed: closing it again is an error.
  builder_.pop_scope();
  EXPECT_EQ(error(), "A scope is closed that was not opened.");
}

// Nothing to compute is allowed.
TEST_F(GraphBuilderTest, AnEmptyGraphIsAGraph) {
  const auto graph = builder_.finish();
  ASSERT_TRUE(graph);
  EXPECT_TRUE(graph->nodes().empty());
  EXPECT_EQ(graph->find_value("x"), kNoValue);
  EXPECT_EQ(graph->find_state("kv"), nullptr);
}

// Weights have operations of their own in the full registry.
class WeightTest : public testing::Test {
 protected:
  WeightTest() {
    registry_.add({.id = "graph.weight",
                   .outputs = {{"w"}},
                   .attributes = {{"weight", AttributeKind::kText, {}, "", {}},
                                  {"type", AttributeKind::kText, {}, "", {}}},
                   .infer = test::declared_type});
  }
  static TensorType type(std::string_view text) { return parse_tensor_type(text).value(); }
  OpRegistry registry_ = test::ir_test_registry();
  GraphBuilder builder_{registry_};
};

// Tied weights share a node.
TEST_F(WeightTest, IsMadeOnceAndKeepsItsNameInAScope) {
  builder_.push_scope("layer.");
  const ValueId first = builder_.weight("w", type("q4_0[2, 32]"));
  // The second call is made under the same scope: a weight's name must not take the prefix.
  EXPECT_EQ(builder_.weight("w", type("q4_0[2, 32]")), first);
  const auto graph = builder_.finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->nodes().size(), 1U);
  EXPECT_EQ(graph->nodes()[0].name, "w");
}

// One tensor has one type.
TEST_F(WeightTest, AnotherTypeUnderTheSameNameIsAnError) {
  builder_.weight("w", type("f32[2]"));
  EXPECT_EQ(builder_.weight("w", type("f32[3]")), kNoValue);
  EXPECT_EQ(builder_.finish().error().message, "Weight 'w' is used as f32[2] and as f32[3].");
}

// Names may coincide.
TEST_F(WeightTest, AValueThatIsNoWeightIsNotTakenForOne) {
  builder_.input("w", type("f32[2]"));
  EXPECT_EQ(builder_.weight("w", type("f32[2]")), kNoValue);
  EXPECT_EQ(builder_.finish().error().message, "The name 'w' is used twice.");
}

}  // namespace
}  // namespace quern
