// The rules of one node, each with what keeps it and what breaks it.
#include "ir/node_rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/tensor_type.h"
#include "quern/graph_builder.h"
#include "support/ir_test_ops.h"

namespace quern {
namespace {

using test::first_input_type;

// An operation with an attribute of every kind, one of them required.
OpDef op_with_attributes() {
  using enum AttributeKind;
  return {.id = "test.op",
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .attributes = {{"flag", kFlag, true, "", {}},
                         {"integer", kInteger, {}, "", {}},
                         {"number", kNumber, 0.5, "", {}},
                         {"text", kText, std::string("a"), "", {"a", "b"}},
                         {"free", kText, std::string(), "", {}},
                         {"integers", kIntegers, std::vector<int64_t>{}, "", {}},
                         {"numbers", kNumbers, std::vector<double>{}, "", {}}},
          .infer = first_input_type};
}

std::string completed(const Attributes& given) {
  const auto complete = complete_attributes(op_with_attributes(), given);
  if (!complete) return complete.error().message;
  std::string text;
  for (const auto& [name, value] : *complete) text += name + "=" + attribute_to_string(value) + " ";
  return text;
}

// Nodes hold every attribute.
TEST(CompleteAttributes, AddsTheDefaults) {
  EXPECT_EQ(completed({{"integer", int64_t{3}}}),
            "flag=true free=\"\" integer=3 integers=[] number=0.5 numbers=f[] text=\"a\" ");
}

// People write 1 for 1.0.
TEST(CompleteAttributes, IntegersStandForNumbers) {
  EXPECT_EQ(
      completed({{"integer", int64_t{3}},
                 {"number", int64_t{2}},
                 {"numbers", std::vector<int64_t>{1, -2}}}),
      "flag=true free=\"\" integer=3 integers=[] number=2.0 numbers=f[1.0, -2.0] text=\"a\" ");
}

// Each kind against each other.
TEST(CompleteAttributes, ErrorsNameOperationAttributeAndValue) {
  const AttributeValue three = int64_t{3};
  EXPECT_EQ(completed({}), "test.op needs the attribute 'integer'.");
  EXPECT_EQ(completed({{"integer", three}, {"other", 1.5}}),
            "test.op has no attribute 'other' (given: 1.5).");
  EXPECT_EQ(completed({{"integer", 3.0}}),
            "Attribute 'integer' of test.op is 3.0; it must be an integer.");
  EXPECT_EQ(completed({{"integer", true}}),
            "Attribute 'integer' of test.op is true; it must be an integer.");
  EXPECT_EQ(completed({{"integer", three}, {"flag", int64_t{1}}}),
            "Attribute 'flag' of test.op is 1; it must be a flag.");
  EXPECT_EQ(completed({{"integer", three}, {"number", std::string("1")}}),
            "Attribute 'number' of test.op is \"1\"; it must be a number.");
  EXPECT_EQ(completed({{"integer", three}, {"text", int64_t{1}}}),
            "Attribute 'text' of test.op is 1; it must be text.");
  EXPECT_EQ(completed({{"integer", three}, {"text", std::string("c")}}),
            "Attribute 'text' of test.op is 'c'; the choices are a, b.");
  EXPECT_EQ(completed({{"integer", three}, {"integers", three}}),
            "Attribute 'integers' of test.op is 3; it must be a list of integers.");
  EXPECT_EQ(completed({{"integer", three}, {"integers", std::vector<double>{1}}}),
            "Attribute 'integers' of test.op is f[1.0]; it must be a list of integers.");
  EXPECT_EQ(completed({{"integer", three}, {"numbers", 1.0}}),
            "Attribute 'numbers' of test.op is 1.0; it must be a list of numbers.");
}

// Names and paths.
TEST(CompleteAttributes, TextWithoutChoicesIsFree) {
  EXPECT_NE(completed({{"integer", int64_t{3}}, {"free", std::string("any \"thing\"")}})
                .find("free=\"any \\\"thing\\\"\""),
            std::string::npos);
}

std::string port_error(const OpDef& op, const std::vector<ValueId>& inputs) {
  const auto checked = check_ports(op, inputs);
  return checked ? "" : checked.error().message;
}

// Required ones may not.
TEST(CheckPorts, OptionalPortsMayBeAbsent) {
  const OpRegistry registry = test::ir_test_registry();
  const OpDef& pick = *registry.find("test.pick");  // x, bias?, scale?
  EXPECT_EQ(port_error(pick, {0}), "");
  EXPECT_EQ(port_error(pick, {0, kNoValue, 1}), "");
  EXPECT_EQ(port_error(pick, {0, 1, 2}), "");
  EXPECT_EQ(port_error(pick, {0, kNoValue, kNoValue}), "");
  EXPECT_EQ(port_error(pick, {}), "test.pick needs its input 'x'.");
  EXPECT_EQ(port_error(pick, {kNoValue, 1}), "test.pick needs its input 'x'.");
  EXPECT_EQ(port_error(pick, {0, 1, 2, 3}), "test.pick takes at most 3 inputs; 4 were given.");
  EXPECT_EQ(port_error(*registry.find("Input"), {0}),
            "Input takes at most 0 inputs; 1 were given.");
}

// A gap among the values of a variadic port would be a null type for the rule.
TEST(CheckPorts, VariadicPortsHaveNoGaps) {
  const OpRegistry registry = test::ir_test_registry();
  const OpDef& sum = *registry.find("test.sum");
  EXPECT_EQ(port_error(sum, {0}), "");
  EXPECT_EQ(port_error(sum, {0, 1, 2, 3, 4, 5}), "");
  EXPECT_EQ(port_error(sum, {0, 1, kNoValue}), "");  // nothing at the end says nothing
  EXPECT_EQ(port_error(sum, {}), "test.sum needs its input 'x'.");
  EXPECT_EQ(port_error(sum, {0, kNoValue, 1}),
            "test.sum takes any number of inputs 'x', but none that is absent: 'y'.");
  const OpDef optional{.id = "test.maybe",
                       .inputs = {{"x"},
                                  {.name = "bias", .is_optional = true},
                                  {.name = "more", .is_optional = true, .is_variadic = true}},
                       .outputs = {{"y"}},
                       .infer = first_input_type};
  EXPECT_EQ(port_error(optional, {0}), "");
  EXPECT_EQ(port_error(optional, {0, kNoValue, 1, 2}), "");  // a gap before the variadic port
  EXPECT_EQ(port_error(optional, {0, 1, kNoValue, 2}),
            "test.maybe takes any number of inputs 'more', but none that is absent: 'more0'.");
}

// And the one id that means absent.
TEST(CheckIds, ValuesOfTheGraphOnly) {
  EXPECT_TRUE(check_ids({}, 0));
  EXPECT_TRUE(check_ids(std::vector<ValueId>{0, 1, kNoValue}, 2));
  EXPECT_EQ(check_ids(std::vector<ValueId>{0, 2}, 2).error().message,
            "Input 2 is not a value of the graph.");
  EXPECT_EQ(check_ids(std::vector<ValueId>{-2}, 2).error().message,
            "Input -2 is not a value of the graph.");
}

// Two forms: the estimator takes x and an optional weight, the table p, q and r.
OpDef op_of_two_forms() {
  return {
      .id = "test.forms",
      .table_inputs = {"p", "q", "r"},
      .inputs = {{"x"},
                 {.name = "weight", .is_optional = true},
                 {.name = "r", .is_optional = true, .is_table_only = true}},
      .outputs = {{"y"}},
      .attributes =
          {{"form", AttributeKind::kText, std::string("estimator"), "", {"estimator", "table"}}},
      .infer = first_input_type};
}

// Absent ones are fine.
TEST(InferTypes, InputsOfTheOtherFormAreRefused) {
  const OpDef op = op_of_two_forms();
  const TensorType type{DType::kF32, {Dim::constant(2)}};
  const std::vector<Value> values(4, Value{.type = type, .name = {}});
  const auto infer = [&](const char* form, const std::vector<ValueId>& inputs) {
    const auto types = infer_types(op, values, inputs, {{"form", std::string(form)}}, {});
    return types ? "" : types.error().message;
  };
  EXPECT_EQ(infer("estimator", {0}), "");
  EXPECT_EQ(infer("estimator", {0, 1}), "");
  EXPECT_EQ(infer("table", {0, 1, 2}), "");
  EXPECT_EQ(infer("estimator", {0, 1, 2}),
            "test.forms takes 2 inputs in the form 'estimator'; input 2 is not among them.");
  EXPECT_EQ(infer("estimator", {0, kNoValue, kNoValue}), "");
}

// They index ports without looking at sizes.
TEST(InferTypes, RulesSeeAnEntryForEveryPort) {
  OpDef op{
      .id = "test.count",
      .inputs = {{"x"}, {.name = "a", .is_optional = true}, {.name = "b", .is_optional = true}},
      .outputs = {{"y"}},
      .infer = [](const InferContext& context) -> Result<std::vector<TensorType>> {
        TensorType y{DType::kI64, {}};
        for (const TensorType* type : context.inputs) {
          y.dims.push_back(Dim::constant(type == nullptr ? 0 : 1));
        }
        return std::vector<TensorType>{y};
      }};
  const std::vector<Value> values(2, Value{.type = {}, .name = {}});
  const auto text = [&](const std::vector<ValueId>& inputs) {
    return infer_types(op, values, inputs, {}, {})->front().to_string();
  };
  EXPECT_EQ(text({0}), "i64[1, 0, 0]");
  EXPECT_EQ(text({0, kNoValue, 1}), "i64[1, 0, 1]");
}

// The rule itself does not know it.
TEST(InferTypes, ErrorsNameTheOperation) {
  const OpRegistry registry = test::ir_test_registry();
  std::vector<Value> values(2, Value{.type = {DType::kF32, {Dim::constant(2)}}, .name = {}});
  values[1].type.dtype = DType::kF16;
  const auto types =
      infer_types(*registry.find("test.sum"), values, std::vector<ValueId>{0, 1}, {}, {});
  ASSERT_FALSE(types);
  EXPECT_EQ(types.error().message, "test.sum: The inputs are f32[2] and f16[2].");
  // A rule that gives another number of outputs than declared is a defect.
  OpDef broken = *registry.find("test.split");
  broken.infer = [](const InferContext&) -> Result<std::vector<TensorType>> {
    return std::vector<TensorType>(3);
  };
  const auto wrong = infer_types(broken, values, std::vector<ValueId>{0}, {}, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kInternal);
  EXPECT_EQ(wrong.error().message, "test.split inferred 3 outputs; it declares 2.");
}

// Graphs whose nodes were added without their rules, as copies of passes are.
class HandMadeGraphs : public testing::Test {
 protected:
  static TensorType type(const char* text) { return *parse_tensor_type(text); }
  Node node(std::string_view op, std::string name, Attributes attributes = {}) const {
    Node made;
    made.op = registry_.find(op);
    made.name = std::move(name);
    made.attributes = std::move(attributes);
    return made;
  }
  Attributes scale_attributes() const { return {{"factor", 1.0}, {"mode", std::string("a")}}; }
  std::string finish() {
    const auto graph = builder_.finish();
    return graph ? "" : graph.error().message;
  }
  const OpRegistry registry_ = test::ir_test_registry();
  GraphBuilder builder_{registry_};
  ValueId x_ = builder_.input("x", type("f32[2]"));
};

// The other cases change one thing of it.
TEST_F(HandMadeGraphs, ARightOnePasses) {
  const ValueId y = builder_.add_known(node("test.scale", "y", scale_attributes()),
                                       std::vector<ValueId>{x_}, {type("f32[2]")});
  builder_.output("y", y);
  EXPECT_EQ(finish(), "");
}

// Types are inferred again.
TEST_F(HandMadeGraphs, WrongTypesAreRefused) {
  builder_.add_known(node("test.scale", "y", scale_attributes()), std::vector<ValueId>{x_},
                     {type("f32[3]")});
  EXPECT_EQ(finish(), "Node 'y': Output 0 has type f32[3]; its operation gives f32[2].");
}

// Layouts are the backend's to choose.
TEST_F(HandMadeGraphs, OtherLayoutsPass) {
  builder_.add_known(node("test.scale", "y", scale_attributes()), std::vector<ValueId>{x_},
                     {type("f32[2]@private")});
  EXPECT_EQ(finish(), "");
}

// Defaults are filled in by whoever adds the node.
TEST_F(HandMadeGraphs, AttributesMustBeComplete) {
  builder_.add_known(node("test.scale", "y", {{"factor", 1.0}}), std::vector<ValueId>{x_},
                     {type("f32[2]")});
  EXPECT_EQ(finish(), "Node 'y': Attributes are not complete.");
}

// Kernels ask for the exact kind.
TEST_F(HandMadeGraphs, AnIntegerInPlaceOfANumberIsNotComplete) {
  builder_.add_known(node("test.scale", "y", {{"factor", int64_t{1}}, {"mode", std::string("a")}}),
                     std::vector<ValueId>{x_}, {type("f32[2]")});
  EXPECT_EQ(finish(), "Node 'y': Attributes are not complete.");
}

// They would mean something else to another build.
TEST_F(HandMadeGraphs, UnknownAttributesAreRefused) {
  Attributes attributes = scale_attributes();
  attributes.set("more", true);
  builder_.add_known(node("test.scale", "y", attributes), std::vector<ValueId>{x_},
                     {type("f32[2]")});
  EXPECT_EQ(finish(), "Node 'y': test.scale has no attribute 'more' (given: true).");
}

// The state's name is an attribute: without it there must be an error, not a crash.
TEST_F(HandMadeGraphs, ANodeOfAStateNeedsItsName) {
  builder_.state({"kv", "kv", {}});
  builder_.add_known(node("test.load", "y"), std::vector<ValueId>{x_}, {type("f32[2]")});
  EXPECT_EQ(finish(), "Node 'y': Attributes are not complete.");
}

// Ports are indexed.
TEST_F(HandMadeGraphs, OutputsAreAsManyAsDeclared) {
  builder_.add_known(node("test.split", "y"), std::vector<ValueId>{x_}, {type("f32[2]")});
  EXPECT_EQ(finish(), "Node 'y': test.split has 1 outputs; 2 are declared.");
}

// SSA order.
TEST_F(HandMadeGraphs, InputsComeBeforeTheirReaders) {
  builder_.add_known(node("test.scale", "y", scale_attributes()), std::vector<ValueId>{1},
                     {type("f32[2]")});
  EXPECT_EQ(finish(), "Node 'y': Value 'y' is used before it is defined.");
}

// Ids of another graph.
TEST_F(HandMadeGraphs, InputsAreValuesOfTheGraph) {
  builder_.add_known(node("test.scale", "y", scale_attributes()), std::vector<ValueId>{9},
                     {type("f32[2]")});
  EXPECT_EQ(finish(), "Node 'y': Input 9 is not a value of the graph.");
}

// Rules dereference them.
TEST_F(HandMadeGraphs, RequiredPortsAreFilled) {
  builder_.add_known(node("test.scale", "y", scale_attributes()), std::vector<ValueId>{kNoValue},
                     {type("f32[2]")});
  EXPECT_EQ(finish(), "Node 'y': test.scale needs its input 'x'.");
}

// Pointers into another registry may dangle.
TEST_F(HandMadeGraphs, OperationsAreOfTheGraphsRegistry) {
  const OpRegistry other = test::ir_test_registry();
  Node foreign = node("test.scale", "y", scale_attributes());
  foreign.op = other.find("test.scale");
  builder_.add_known(foreign, std::vector<ValueId>{x_}, {type("f32[2]")});
  EXPECT_EQ(finish(), "Node 'y': Operation test.scale is not of the graph's registry.");
}

// Rules were skipped, names were not.
TEST_F(HandMadeGraphs, NamesAreStillUnique) {
  for (int i = 0; i < 2; ++i) {
    builder_.add_known(node("test.scale", "y", scale_attributes()), std::vector<ValueId>{x_},
                       {type("f32[2]")});
  }
  EXPECT_EQ(finish(), "The name 'y' is used twice.");
}

// Numbers of random nodes are 32 bits of a counter; -1 asks for one.
TEST(NodeIds, Have32Bits) {
  OpRegistry registry = test::ir_test_registry();
  registry.add({.id = "test.draw",
                .inputs = {{"x"}},
                .outputs = {{"y"}},
                .attributes = {{"node_id", AttributeKind::kInteger, int64_t{-1}, "", {}}},
                .effect = Effect::kRandom,
                .infer = first_input_type});
  const auto error = [&](int64_t id) {
    GraphBuilder builder(registry);
    const ValueId x = builder.input("x", *parse_tensor_type("f32[2]"));
    builder.add("test.draw", {x}, {{"node_id", id}}, "y");
    const auto graph = builder.finish();
    return graph ? "" : graph.error().message;
  };
  EXPECT_EQ(error(-1), "");
  EXPECT_EQ(error(0), "");
  EXPECT_EQ(error(4294967295), "");
  EXPECT_EQ(error(4294967296),
            "Node 'y': Attribute 'node_id' is 4294967296; it must be -1 or a number of 32 bits.");
  EXPECT_EQ(error(-2),
            "Node 'y': Attribute 'node_id' is -2; it must be -1 or a number of 32 bits.");
}

// Names that the builder finds are free, whatever names were given before.
TEST(GeneratedNames, AreFree) {
  const OpRegistry registry = test::ir_test_registry();
  GraphBuilder builder(registry);
  const ValueId x = builder.input("x", *parse_tensor_type("f32[2]"));
  builder.add("test.scale", {x}, {}, "test.scale.0");
  builder.add("test.scale", {x});
  builder.add("test.split", {x}, {}, "test.split.2");
  builder.add("test.split", {x});
  const auto graph = builder.finish();
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->node(2).name, "test.scale.1");
  EXPECT_EQ(graph->node(4).name, "test.split.3");
}

// And frees the old ones.
TEST(Rename, MovesTheNamesOfAllValues) {
  const OpRegistry registry = test::ir_test_registry();
  GraphBuilder builder(registry);
  const ValueId x = builder.input("x", *parse_tensor_type("f32[2]"));
  const ValueId low = builder.add("test.split", {x}, {}, "a");
  builder.rename(1, "b");
  builder.output("out", low);
  EXPECT_EQ(builder.so_far().find_value("a:low"), kNoValue);
  EXPECT_EQ(builder.so_far().find_value("b:low"), low);
  // The old name is free again.
  builder.add("test.scale", {x}, {}, "a:low");
  EXPECT_TRUE(builder.finish());
}

// As adding one would be.
TEST(Rename, ToATakenNameIsAnError) {
  const OpRegistry registry = test::ir_test_registry();
  GraphBuilder builder(registry);
  const ValueId x = builder.input("x", *parse_tensor_type("f32[2]"));
  builder.add("test.scale", {x}, {}, "a");
  builder.add("test.scale", {x}, {}, "b");
  builder.rename(2, "a");
  EXPECT_EQ(builder.finish().error().message, "The name 'a' is used twice.");
}

// Expansions of a placed node.
TEST(PlaceFrom, PlacesTheLaterNodes) {
  const OpRegistry registry = test::ir_test_registry();
  GraphBuilder builder(registry);
  const ValueId x = builder.input("x", *parse_tensor_type("f32[2]"));
  const ValueId a = builder.add("test.scale", {x});
  builder.set_device("cpu");
  builder.add("test.scale", {a});
  builder.add("test.scale", {a});
  builder.place_from(2, "gpu:1");
  const auto graph = builder.finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->node(0).device, "");
  EXPECT_EQ(graph->node(1).device, "cpu");
  EXPECT_EQ(graph->node(2).device, "gpu:1");
  EXPECT_EQ(graph->node(3).device, "gpu:1");
}

}  // namespace
}  // namespace quern
