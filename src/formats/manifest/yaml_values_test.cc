// Scalars of a manifest as numbers, flags and attributes: what is taken and how errors read.
#include "formats/manifest/yaml_values.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace quern::manifest {
namespace {

// The tree of a text that must be YAML.
YamlNode tree_of(std::string_view text) {
  auto node = parse_yaml(text, "v.yaml");
  EXPECT_TRUE(node) << node.error().message;
  return node ? *node : YamlNode{};
}

// The value as text, or the error.
template <class T>
std::string shown(const Result<T>& value) {
  return value ? fmt::format("{}", *value) : value.error().message;
}

std::string attribute_shown(const Result<AttributeValue>& value) {
  return value ? attribute_to_string(*value) : value.error().message;
}

// A value in YAML, and what it is read as or the error.
struct Case {
  const char* yaml;
  const char* expected;
};

// Both ends of 64 bits, and forms that other readers of YAML take.
TEST(YamlValues, IntegersFillSixtyFourBits) {
  const Case cases[] = {
      {"0", "0"},
      {"-0", "0"},
      {"+7", "7"},
      {"007", "7"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808",
       "v.yaml:1: 'n' is '9223372036854775808'; an integer of 64 bits is "
       "needed."},
      {"1.0", "v.yaml:1: 'n' is '1.0'; an integer of 64 bits is needed."},
      {"0x10", "v.yaml:1: 'n' is '0x10'; an integer of 64 bits is needed."},
      {"1_000", "v.yaml:1: 'n' is '1_000'; an integer of 64 bits is needed."},
      {"+-5", "v.yaml:1: 'n' is '+-5'; an integer of 64 bits is needed."},
      {"++5", "v.yaml:1: 'n' is '++5'; an integer of 64 bits is needed."},
      {"'-'", "v.yaml:1: 'n' is '-'; an integer of 64 bits is needed."},
      {"'5 '", "v.yaml:1: 'n' is '5 '; an integer of 64 bits is needed."},
      {"''", "v.yaml:1: 'n' is ''; an integer of 64 bits is needed."},
      {"{a: 1}", "v.yaml:1: 'n' is a map; an integer of 64 bits is needed."},
      {"[1]", "v.yaml:1: 'n' is a list; an integer of 64 bits is needed."},
  };
  for (const Case& c : cases) EXPECT_EQ(shown(integer_of(tree_of(c.yaml), "'n'")), c.expected);
}

// YAML's own infinities, and C's.
TEST(YamlValues, NumbersOfEveryForm) {
  const Case cases[] = {
      {"1", "1"},
      {"-1.5", "-1.5"},
      {"+.5", "0.5"},
      {"1.", "1"},
      {"1e3", "1000"},
      {"2.5E-3", "0.0025"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"5e-324", "5e-324"},
      {".inf", "inf"},
      {"+.inf", "inf"},
      {"-.Inf", "-inf"},
      {"inf", "inf"},
      {"-inf", "-inf"},
      {".nan", "nan"},
      {".NaN", "nan"},
      {"nan", "nan"},
      {"1e400", "v.yaml:1: 'x' is '1e400'; a number is needed."},
      {"1e", "v.yaml:1: 'x' is '1e'; a number is needed."},
      {"0x1p3", "v.yaml:1: 'x' is '0x1p3'; a number is needed."},
      {"+-1.5", "v.yaml:1: 'x' is '+-1.5'; a number is needed."},
      {"1,5", "v.yaml:1: 'x' is '1,5'; a number is needed."},
      {"~", "v.yaml:1: 'x' is empty; a number is needed."},
  };
  for (const Case& c : cases) EXPECT_EQ(shown(number_of(tree_of(c.yaml), "'x'")), c.expected);
  EXPECT_TRUE(std::signbit(*number_of(tree_of("-0.0"), "'x'")));
}

// A file of one word must not fill the screen.
TEST(YamlValues, ErrorsShowTheBeginningOfLongText) {
  const std::string long_text(200, 'k');
  EXPECT_EQ(
      shown(integer_of(tree_of(long_text), "'n'")),
      fmt::format("v.yaml:1: 'n' is '{}'; an integer of 64 bits is needed.", std::string(64, 'k')));
}

// The line of the inner value, not of the list around it.
TEST(YamlValues, PlacesAreThoseOfTheValue) {
  const YamlNode root = tree_of("a: 1\nb:\n  - 2\n  - {c: x}\n");
  const YamlNode& inner = root.find("b")->items[1];
  EXPECT_EQ(shown(integer_of(*inner.find("c"), "'c'")),
            "v.yaml:4: 'c' is 'x'; an integer of 64 bits is needed.");
  EXPECT_EQ(require(root, "z", "The root").error().message,
            "v.yaml:1: The root needs the key 'z'.");
  EXPECT_EQ((*require(root, "a", "The root"))->text, "1");
  EXPECT_EQ(expect_keys(root, "The root", {"a", "c"}).error().message,
            "v.yaml:3: The root has the unknown key 'b'; the keys are a, c.");
  EXPECT_TRUE(expect_keys(root, "The root", {"b", "a", "c"}));
  EXPECT_EQ(expect_keys(*root.find("a"), "'a'", {}).error().message,
            "v.yaml:1: 'a' is '1'; a map is needed.");
  EXPECT_EQ(expect_sequence(root, "The root").error().message,
            "v.yaml:1: The root is a map; a list is needed.");
}

// The same for a declared kind.
struct AttributeCase {
  const char* yaml;
  AttributeKind kind;
  const char* expected;
};

// The kind decides how a text is read, not its look.
TEST(YamlValues, AttributesOfADeclaredKind) {
  const AttributeCase cases[] = {
      {"true", AttributeKind::kFlag, "true"},
      {"False", AttributeKind::kFlag, "false"},
      {"yes", AttributeKind::kFlag, "v.yaml:1: 'k' is 'yes'; true or false is needed."},
      {"1", AttributeKind::kFlag, "v.yaml:1: 'k' is '1'; true or false is needed."},
      {"[true]", AttributeKind::kFlag, "v.yaml:1: 'k' is a list; true or false is needed."},
      {"-3", AttributeKind::kInteger, "-3"},
      {"3.0", AttributeKind::kInteger, "v.yaml:1: 'k' is '3.0'; an integer of 64 bits is needed."},
      {"3", AttributeKind::kNumber, "3.0"},
      {"'0.25'", AttributeKind::kNumber, "0.25"},
      {"12", AttributeKind::kText, "\"12\""},
      {"{}", AttributeKind::kText, "v.yaml:1: 'k' is a map; text is needed."},
      {"[]", AttributeKind::kIntegers, "[]"},
      {"[1, -2]", AttributeKind::kIntegers, "[1, -2]"},
      {"[1, 2.5]", AttributeKind::kIntegers,
       "v.yaml:1: 'k' is '2.5'; an integer of 64 bits is needed."},
      {"7", AttributeKind::kIntegers, "v.yaml:1: 'k' is '7'; a list is needed."},
      {"[1, 2.5]", AttributeKind::kNumbers, "f[1.0, 2.5]"},
      {"[1, [2]]", AttributeKind::kNumbers, "v.yaml:1: 'k' is a list; a number is needed."},
  };
  for (const AttributeCase& c : cases) {
    EXPECT_EQ(attribute_shown(attribute_of(tree_of(c.yaml), c.kind, "'k'")), c.expected) << c.yaml;
  }
}

// Unless they stand in quotes.
TEST(YamlValues, PlainAttributesAreWhatTheyLookLike) {
  const Case cases[] = {
      {"true", "true"},
      {"'true'", "\"true\""},
      {"5", "5"},
      {"\"5\"", "\"5\""},
      {"5.0", "5.0"},
      {"1e2", "100.0"},
      {"f32", "\"f32\""},
      {"[]", "[]"},
      {"[1, 2]", "[1, 2]"},
      {"[1, 2.0]", "f[1.0, 2.0]"},
      {"[1, x]", "v.yaml:1: 'k' is 'x'; a number is needed."},
      {"{a: 1}", "v.yaml:1: 'k' is a map; text is needed."},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(attribute_shown(plain_attribute_of(tree_of(c.yaml), "'k'")), c.expected) << c.yaml;
  }
}

}  // namespace
}  // namespace quern::manifest
