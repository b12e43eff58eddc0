// Attributes and ports from text, and the sentences for what is wrong.
#include "conformance/op_arguments.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quern {
namespace {

const OpDef& op(std::string_view id) {
  return *builtin_ops().find(id);
}

std::string attribute_error(std::string_view id, std::vector<std::string> texts) {
  const auto attributes = parse_attributes(op(id), texts);
  EXPECT_FALSE(attributes);
  return attributes ? "" : attributes.error().message;
}

std::string input_error(std::string_view id, std::vector<std::string> texts,
                        const Attributes& attributes = {}) {
  const auto values = bind_inputs(op(id), attributes, texts);
  EXPECT_FALSE(values);
  return values ? "" : values.error().message;
}

std::vector<size_t> ports_of(const Result<std::vector<PortValue>>& values) {
  std::vector<size_t> ports;
  EXPECT_TRUE(values);
  for (const PortValue& value : *values) ports.push_back(value.port);
  return ports;
}

// Texts of the command line.
TEST(ParseAttribute, ReadsEachKind) {
  const AttributeDef flag{.name = "a", .kind = AttributeKind::kFlag};
  const AttributeDef integer{.name = "a", .kind = AttributeKind::kInteger};
  const AttributeDef number{.name = "a", .kind = AttributeKind::kNumber};
  const AttributeDef text{.name = "a", .kind = AttributeKind::kText};
  const AttributeDef integers{.name = "a", .kind = AttributeKind::kIntegers};
  const AttributeDef numbers{.name = "a", .kind = AttributeKind::kNumbers};
  const OpDef& any = op("math.add");
  EXPECT_EQ(*parse_attribute(any, flag, "true"), AttributeValue(true));
  EXPECT_EQ(*parse_attribute(any, flag, "false"), AttributeValue(false));
  EXPECT_EQ(*parse_attribute(any, integer, "-9223372036854775808"),
            AttributeValue(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(*parse_attribute(any, integer, "+7"), AttributeValue(int64_t{7}));
  EXPECT_EQ(*parse_attribute(any, number, "1e-5"), AttributeValue(1e-5));
  EXPECT_EQ(*parse_attribute(any, number, "inf"), AttributeValue(HUGE_VAL));
  EXPECT_TRUE(std::isnan(std::get<double>(*parse_attribute(any, number, "nan"))));
  EXPECT_EQ(*parse_attribute(any, text, "a = b"), AttributeValue(std::string("a = b")));
  EXPECT_EQ(*parse_attribute(any, text, ""), AttributeValue(std::string()));
  EXPECT_EQ(*parse_attribute(any, integers, "[2, -1]"),
            AttributeValue(std::vector<int64_t>{2, -1}));
  EXPECT_EQ(*parse_attribute(any, integers, "2,-1"), AttributeValue(std::vector<int64_t>{2, -1}));
  EXPECT_EQ(*parse_attribute(any, integers, "[]"), AttributeValue(std::vector<int64_t>{}));
  EXPECT_EQ(*parse_attribute(any, numbers, "[0.5,2]"), AttributeValue(std::vector<double>{0.5, 2}));
}

// Whole texts, not prefixes.
TEST(ParseAttribute, RefusesWhatIsNotOfTheKind) {
  const OpDef& any = op("math.add");
  for (const AttributeKind kind : {AttributeKind::kFlag, AttributeKind::kInteger,
                                   AttributeKind::kNumber, AttributeKind::kIntegers}) {
    const AttributeDef def{.name = "a", .kind = kind};
    for (const char* text : {"", "x", "1x", "0x10", " 1 2", "[1", "1]", "[1,]", "[1,,2]", "1.5.5",
                             "99999999999999999999x"}) {
      const bool is_empty_list = kind == AttributeKind::kIntegers && std::string_view(text).empty();
      EXPECT_EQ(parse_attribute(any, def, text).has_value(), is_empty_list) << text;
    }
  }
  const AttributeDef integer{.name = "a", .kind = AttributeKind::kInteger};
  EXPECT_FALSE(parse_attribute(any, integer, "9223372036854775808"));
  EXPECT_FALSE(parse_attribute(any, integer, "1.0"));
}

// And lists what there is.
TEST(ParseAttributes, NamesTheMistake) {
  EXPECT_EQ(attribute_error("activation.leaky_relu", {"slope=1"}),
            "activation.leaky_relu has no attribute 'slope'; it has alpha.");
  EXPECT_EQ(attribute_error("math.add", {"slope=1"}),
            "math.add has no attribute 'slope'; it has none.");
  EXPECT_EQ(attribute_error("activation.leaky_relu", {"alpha=x"}),
            "Attribute 'alpha' of activation.leaky_relu is 'x'; it must be a number.");
  EXPECT_EQ(attribute_error("math.groupnorm", {"groups=2.5"}),
            "Attribute 'groups' of math.groupnorm is '2.5'; it must be an integer of 64 bits.");
  EXPECT_EQ(attribute_error("math.dropout", {"training=1"}),
            "Attribute 'training' of math.dropout is '1'; it must be true or false.");
  EXPECT_EQ(attribute_error("math.dropout", {"p=0.1", "p=0.2"}), "Attribute 'p' is given twice.");
  EXPECT_EQ(attribute_error("math.dropout", {"p"}),
            "'--attr p' has no name: it must be NAME=VALUE.");
  EXPECT_EQ(attribute_error("math.dropout", {"=1"}),
            "'--attr =1' has no name: it must be NAME=VALUE.");
}

// Whatever order they are given in.
TEST(BindInputs, OrdersByPort) {
  const auto values =
      bind_inputs(op("math.layernorm"), {}, std::vector<std::string>{"bias=b.npy", "x=x=y.npy"});
  EXPECT_EQ(ports_of(values), (std::vector<size_t>{0, 2}));
  EXPECT_EQ((*values)[0].text, "x=y.npy");
}

// The attribute decides which there are.
TEST(BindInputs, TakesThePortsOfTheForm) {
  const Attributes table = {{"form", std::string("table")}};
  const std::vector<std::string> texts = {"p_z=z.npy", "p_y_given_xz=y.npy"};
  EXPECT_EQ(ports_of(bind_inputs(op("causal.backdoor_adjustment"), table, texts)),
            (std::vector<size_t>{0, 1}));
  EXPECT_EQ(input_error("causal.backdoor_adjustment", texts),
            "causal.backdoor_adjustment has no input 'p_z'; there are: Y, X, Z.");
  EXPECT_EQ(input_error("active_inference.free_energy", {"q=q.npy"}, table),
            "active_inference.free_energy needs its input 'likelihood'; its inputs are: q, "
            "likelihood, prior.");
}

// a, b, c, ...
TEST(BindInputs, NumbersVariadicPortsByLetters) {
  EXPECT_EQ(ports_of(bind_inputs(op("shape.concat"), {},
                                 std::vector<std::string>{"b=2.npy", "a=1.npy", "c=3.npy"})),
            (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(
      ports_of(bind_inputs(op("shape.concat"), {}, std::vector<std::string>{"a=1.npy", "a=2.npy"})),
      (std::vector<size_t>{0, 1}));
  EXPECT_EQ(input_error("shape.concat", {"a=1.npy", "c=3.npy"}),
            "shape.concat has a gap before its input 'c'.");
  EXPECT_EQ(input_error("shape.concat", {}),
            "shape.concat needs its input 'a'; its inputs are: a, b and so on.");
}

// And lists what there is.
TEST(BindInputs, NamesTheMistake) {
  EXPECT_EQ(input_error("math.add", {"x=1.npy", "z=2.npy"}),
            "math.add has no input 'z'; there are: x, y.");
  EXPECT_EQ(input_error("math.add", {"x=1.npy", "x=2.npy"}), "'--input' gives port 'x' twice.");
  EXPECT_EQ(input_error("math.add", {"x="}), "'--input x=' names no file.");
  EXPECT_EQ(input_error("math.add", {"1.npy"}),
            "'--input 1.npy' has no name: it must be NAME=VALUE.");
  EXPECT_EQ(input_error("math.add", {"x=1.npy"}),
            "math.add needs its input 'y'; its inputs are: x, y.");
}

// Those of the operation's ports.
TEST(BindOutputs, KnowsTheNames) {
  const std::vector<std::string> texts = {"indices=i.npy", "values=v.npy"};
  EXPECT_EQ(ports_of(bind_outputs(op("sort.top_k"), texts)), (std::vector<size_t>{0, 1}));
  const auto bad = bind_outputs(op("sort.top_k"), std::vector<std::string>{"y=y.npy"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "sort.top_k has no output 'y'; there are: values, indices.");
  EXPECT_TRUE(bind_outputs(op("sort.top_k"), {})->empty());
}

}  // namespace
}  // namespace quern
