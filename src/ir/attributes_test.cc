// Tests of attributes: order, look-up, and text that parses back to the same bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "quern/graph.h"
#include "support/ir_test_ops.h"

namespace quern {
namespace {

// Printing and hashing rely on it.
TEST(Attributes, AreSortedByName) {
  const Attributes attributes = {{"z", int64_t{1}}, {"a", true}, {"m", 0.5}};
  std::string names;
  for (const auto& [name, value] : attributes) names += name;
  EXPECT_EQ(names, "amz");
  EXPECT_EQ(attributes.size(), 3U);
  EXPECT_EQ(attributes, (Attributes{{"m", 0.5}, {"z", int64_t{1}}, {"a", true}}));
}

// One value for each name.
TEST(Attributes, SetReplaces) {
  Attributes attributes;
  EXPECT_EQ(attributes.find("eps"), nullptr);
  attributes.set("eps", 1e-5);
  attributes.set("eps", 1e-6);
  EXPECT_EQ(attributes.number("eps"), 1e-6);
  EXPECT_EQ(attributes.size(), 1U);
}

// Typed access for kernels.
TEST(Attributes, EachKindIsFoundAsItsType) {
  const Attributes attributes = {{"flag", true},
                                 {"integer", int64_t{-3}},
                                 {"integers", std::vector<int64_t>{1, 2}},
                                 {"number", 2.5},
                                 {"numbers", std::vector<double>{0.5}},
                                 {"text", std::string("half")}};
  EXPECT_TRUE(attributes.flag("flag"));
  EXPECT_EQ(attributes.integer("integer"), -3);
  EXPECT_EQ(attributes.integers("integers"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(attributes.number("number"), 2.5);
  EXPECT_EQ(attributes.numbers("numbers"), std::vector<double>{0.5});
  EXPECT_EQ(attributes.text("text"), "half");
}

// 1 and 1.0 are two things.
TEST(AttributeText, HasOneFormPerKind) {
  EXPECT_EQ(attribute_to_string(true), "true");
  EXPECT_EQ(attribute_to_string(false), "false");
  EXPECT_EQ(attribute_to_string(int64_t{5}), "5");
  EXPECT_EQ(attribute_to_string(5.0), "5.0");
  EXPECT_EQ(attribute_to_string(-0.0), "-0.0");
  EXPECT_EQ(attribute_to_string(1e22), "1e+22");
  EXPECT_EQ(attribute_to_string(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(attribute_to_string(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(attribute_to_string(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(attribute_to_string(std::string("a \"b\" \\ c\nd")), R"("a \"b\" \\ c\nd")");
  EXPECT_EQ(attribute_to_string(std::vector<int64_t>{}), "[]");
  EXPECT_EQ(attribute_to_string(std::vector<int64_t>{1, -2}), "[1, -2]");
  EXPECT_EQ(attribute_to_string(std::vector<double>{}), "f[]");
  EXPECT_EQ(attribute_to_string(std::vector<double>{1, 0.1}), "f[1.0, 0.1]");
}

// The value that comes back from the text form of a state, whose attributes may be anything.
AttributeValue through_text(const AttributeValue& value) {
  // Attributes of operations are checked against their declarations; those of states are free, so
  // they carry every kind through printer and parser.
  static const OpRegistry registry = test::ir_test_registry();
  const std::string text = "graph {\n  state @s : k {v = " + attribute_to_string(value) + "}\n}\n";
  const auto graph = parse_graph(text, registry);
  if (!graph) return std::string("error: ") + graph.error().message;
  return *graph->find_state("s")->attributes.find("v");
}

// Through text and back.
TEST(AttributeText, DoublesKeepTheirBits) {
  std::mt19937_64 engine(7);
  for (int i = 0; i < 3000; ++i) {
    // Random bits, not random numbers: the exponents are spread evenly, and 1 in 2,048 is denormal.
    // 3,000 of them meet both.
    const auto value = std::bit_cast<double>(engine());
    if (std::isnan(value)) continue;
    const auto back = through_text(value);
    ASSERT_TRUE(std::holds_alternative<double>(back)) << attribute_to_string(value);
    ASSERT_EQ(std::bit_cast<uint64_t>(std::get<double>(back)), std::bit_cast<uint64_t>(value));
  }
  // The ends of the range, and whole numbers, whose text would be one of an integer without ".0".
  for (const double value : {0.0, -0.0, 5e-324, 1.7976931348623157e308, 1.0, 1e15, 123456789.0}) {
    const auto back = std::get<double>(through_text(value));
    EXPECT_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(value));
  }
  EXPECT_TRUE(std::isnan(std::get<double>(through_text(std::nan("")))));
}

// Lists and texts with anything in them.
TEST(AttributeText, EveryOtherKindComesBack) {
  const std::vector<AttributeValue> values = {
      true,
      int64_t{INT64_MAX},
      int64_t{INT64_MIN},
      std::string(),
      // Every character that ends a token elsewhere; the two forms of a line break must stay two
      // things.
      std::string("# no comment } , \" \\ \\n \n\n\ttab"),
      std::string("\xF0\x9F\x8C\xBE grain"),
      std::vector<int64_t>{INT64_MIN, 0, INT64_MAX},
      std::vector<int64_t>{},
      std::vector<double>{},
      std::vector<double>{1.0, -0.0, 1e-300, std::numeric_limits<double>::infinity()}};
  for (const AttributeValue& value : values) {
    EXPECT_EQ(through_text(value), value) << attribute_to_string(value);
  }
}

// All bytes but line breaks as they are.
TEST(AttributeText, RandomTextsComeBack) {
  std::mt19937 engine(11);
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (uint32_t length = engine() % 20; length > 0; --length) {
      // NUL and broken UTF-8 are among them: names of a file may be any bytes.
      text += static_cast<char>(engine() % 256);
    }
    ASSERT_EQ(through_text(text), AttributeValue(text));
  }
}

}  // namespace
}  // namespace quern
