#include "text/grammar/json_schema.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quern {
namespace {

// Whether the whole text fits a schema that must convert.
bool fits(const std::string& schema, std::string_view text) {
  const auto grammar = grammar_from_json_schema(schema);
  EXPECT_TRUE(grammar) << schema << ": " << (grammar ? "" : grammar.error().message);
  return grammar && grammar->grammar.matches(text).value();
}

// Why the schema does not convert.
std::string error_of(const std::string& schema) {
  const auto grammar = grammar_from_json_schema(schema);
  return grammar ? "none" : grammar.error().message;
}

// What is said to be left out.
std::vector<std::string> unenforced(const std::string& schema) {
  const auto grammar = grammar_from_json_schema(schema);
  EXPECT_TRUE(grammar) << (grammar ? "" : grammar.error().message);
  return grammar ? grammar->unenforced : std::vector<std::string>{};
}

// Ranges of one value, over zero, of one sign, with ends of different lengths (99 to 1001), and of
// exactly the numbers of three digits. The numbers tried reach past both ends of each range.
TEST(JsonSchema, IntegerBoundsHoldForEveryNearbyInteger) {
  const std::vector<std::pair<int, int>> ranges = {{0, 0},     {-1, 1},    {7, 7},     {5, 30},
                                                   {-123, 42}, {99, 1001}, {-20, -3},  {100, 999},
                                                   {0, 1009},  {-999, 0},  {190, 2109}};
  for (const auto& [low, high] : ranges) {
    const auto grammar = grammar_from_json_schema(
        fmt::format(R"({{"type":"integer","minimum":{},"maximum":{}}})", low, high));
    ASSERT_TRUE(grammar);
    for (int i = -1300; i <= 2300; ++i) {
      EXPECT_EQ(grammar->grammar.matches(std::to_string(i)).value(), low <= i && i <= high)
          << i << " in " << low << ".." << high;
    }
    EXPECT_FALSE(grammar->grammar.matches("-0").value());
    EXPECT_FALSE(grammar->grammar.matches("007").value());
  }
}

// 2.5 counts as 3. A boolean exclusiveMinimum is that of draft 4, where it changes the bound beside
// it.
TEST(JsonSchema, IntegerBoundsThatAreNoIntegers) {
  EXPECT_TRUE(fits(R"({"type":"integer","minimum":2.5,"exclusiveMaximum":4})", "3"));
  EXPECT_FALSE(fits(R"({"type":"integer","minimum":2.5,"exclusiveMaximum":4})", "2"));
  EXPECT_FALSE(fits(R"({"type":"integer","minimum":2.5,"exclusiveMaximum":4})", "4"));
  EXPECT_TRUE(fits(R"({"type":"integer","minimum":-1e300,"maximum":1e300})", "123456789012345678"));
  EXPECT_TRUE(fits(R"({"type":"integer","minimum":3,"exclusiveMinimum":true})", "4"));
  EXPECT_FALSE(fits(R"({"type":"integer","minimum":3,"exclusiveMinimum":true})", "3"));
  EXPECT_NE(error_of(R"({"type":"integer","minimum":3,"maximum":2})").find("between the bounds"),
            std::string::npos);
}

// Bounds around the ends of 64 bits and past them hold digit by digit.
TEST(JsonSchema, IntegerBoundsPastSixtyFourBits) {
  const std::string least = R"({"type":"integer","minimum":9223372036854775807})";
  EXPECT_FALSE(fits(least, "9000000000000000000"));
  EXPECT_FALSE(fits(least, "9223372036854775806"));
  EXPECT_TRUE(fits(least, "9223372036854775807"));
  EXPECT_TRUE(fits(least, "9223372036854775808"));
  EXPECT_TRUE(unenforced(least).empty());
  const std::string above = R"({"type":"integer","exclusiveMinimum":9223372036854775807})";
  EXPECT_FALSE(fits(above, "9223372036854775807"));
  EXPECT_TRUE(fits(above, "9223372036854775808"));
  const std::string lowest = R"({"type":"integer","minimum":-9223372036854775808})";
  EXPECT_TRUE(fits(lowest, "-9223372036854775808"));
  EXPECT_FALSE(fits(lowest, "-9223372036854775809"));
  const std::string below = R"({"type":"integer","exclusiveMaximum":-9223372036854775808})";
  EXPECT_FALSE(fits(below, "-9223372036854775808"));
  EXPECT_TRUE(fits(below, "-9223372036854775809"));
  const std::string unsigned_end = R"({"type":"integer","minimum":18446744073709551615,
                                       "maximum":1e20})";
  EXPECT_FALSE(fits(unsigned_end, "18446744073709551614"));
  EXPECT_TRUE(fits(unsigned_end, "18446744073709551615"));
  EXPECT_TRUE(fits(unsigned_end, "100000000000000000000"));
  EXPECT_FALSE(fits(unsigned_end, "100000000000000000001"));
  // 2^53 as a double, which has no neighbour at 1.
  EXPECT_FALSE(
      fits(R"({"type":"integer","exclusiveMinimum":9007199254740992.0})", "9007199254740992"));
  EXPECT_TRUE(
      fits(R"({"type":"integer","exclusiveMinimum":9007199254740992.0})", "9007199254740993"));
}

// What is past the digits of a range is said, not dropped in silence.
TEST(JsonSchema, IntegerBoundsThatAreTooLargeAreListed) {
  EXPECT_EQ(unenforced(R"({"type":"integer","minimum":1e300})"),
            std::vector<std::string>{"minimum past 1e37 at #"});
  EXPECT_EQ(unenforced(R"({"type":"integer","exclusiveMaximum":-1e38})"),
            std::vector<std::string>{"maximum past 1e37 at #"});
  EXPECT_TRUE(fits(R"({"type":"integer","minimum":1e300})", "5"));
  // All that the grammar allows keeps these.
  EXPECT_TRUE(unenforced(R"({"type":"integer","minimum":-1e300,"maximum":1e300})").empty());
  EXPECT_TRUE(unenforced(R"({"type":"integer","minimum":1e37})").empty());
  EXPECT_FALSE(fits(R"({"type":"integer","minimum":1e37})", "5"));
  // The other bound beside it holds all the same.
  EXPECT_FALSE(fits(R"({"type":"integer","minimum":1e300,"exclusiveMinimum":7})", "7"));
  EXPECT_TRUE(fits(R"({"type":"integer","minimum":1e300,"exclusiveMinimum":7})", "8"));
}

// A schema of annotations only is as empty as {}; true is not, it says that everything fits.
TEST(JsonSchema, EmptySchemaIsAnObjectAtTheRootAndAnyValueInside) {
  EXPECT_TRUE(fits(R"({"title":"anything"})", R"({"a": [1, null, "x", {"b": -1.5e3}]})"));
  EXPECT_FALSE(fits("{}", "1"));
  EXPECT_TRUE(fits("true", "1"));
  EXPECT_TRUE(fits(R"({"properties":{"a":{}},"required":["a"]})", R"({"a": [false]})"));
}

// A reference may lead to itself through a value that ends somewhere. Those that are refused: one
// that is nothing but itself, one that names nothing, one to another document, and one that merges
// with itself without end.
TEST(JsonSchema, NestedReferencesAndRecursion) {
  const std::string tree = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object",
      "properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"}},"required":["v"]}}})";
  EXPECT_TRUE(fits(tree, R"({"v": 1, "next": {"v": 2, "next": {"v": 3}}})"));
  EXPECT_FALSE(fits(tree, R"({"v": 1, "next": {"next": {"v": 3}}})"));
  EXPECT_TRUE(fits(R"({"type":"array","items":{"$ref":"#"}})", "[[], [[]]]"));
  EXPECT_NE(error_of(R"({"$ref":"#"})").find("no finite text"), std::string::npos);
  EXPECT_NE(error_of(R"({"$ref":"#/$defs/x"})").find("names nothing"), std::string::npos);
  EXPECT_NE(error_of(R"({"$ref":"http://x/y"})").find("leaves the schema"), std::string::npos);
  EXPECT_NE(error_of(R"({"allOf":[{"$ref":"#"}]})").find("refers to itself"), std::string::npos);
}

// allOf is merged into one schema and anyOf distributed over it: a grammar cannot demand two things
// of the same text at once. integer and number have integer in common.
TEST(JsonSchema, CombinationsMerge) {
  const std::string both = R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},
      "required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]})";
  EXPECT_TRUE(fits(both, R"({"a": 1, "b": "x"})"));
  EXPECT_FALSE(fits(both, R"({"a": 1})"));
  EXPECT_TRUE(fits(R"({"allOf":[{"type":["integer","string"]},{"type":"number"}]})", "5"));
  EXPECT_FALSE(fits(R"({"allOf":[{"type":["integer","string"]},{"type":"number"}]})", "5.5"));
  const std::string any = R"({"type":"object","properties":{"k":{"type":"string"}},"required":["k"],
      "anyOf":[{"properties":{"x":{"type":"integer"}},"required":["x"]},
               {"properties":{"y":{"type":"boolean"}},"required":["y"]}]})";
  EXPECT_TRUE(fits(any, R"({"k": "", "y": true})"));
  EXPECT_FALSE(fits(any, R"({"k": ""})"));
  EXPECT_FALSE(fits(any, R"({"x": 1})"));
  EXPECT_NE(error_of(R"({"allOf":[{"type":"string"},{"type":"integer"}]})").find("satisfies both"),
            std::string::npos);
}

// additionalProperties looks only at its own side, so b is forbidden by the first although the
// second describes it.
TEST(JsonSchema, ClosedSidesOfAllOfForbidTheOthersProperties) {
  const std::string closed = R"({"allOf":[
      {"properties":{"a":{"type":"integer"}},"additionalProperties":false},
      {"properties":{"a":{"minimum":3},"b":{"type":"string"}}}]})";
  EXPECT_TRUE(fits(closed, R"({"a": 3})"));
  EXPECT_FALSE(fits(closed, R"({"a": 2})"));
  EXPECT_FALSE(fits(closed, R"({"a": 3, "b": ""})"));
}

// A name written with \u0062 is the declared "ab" for any reader of JSON; it must not slip through
// as an additional name with another type.
TEST(JsonSchema, AdditionalNamesDifferFromDeclaredOnesInEverySpelling) {
  const std::string open = R"({"properties":{"ab":{"type":"integer"},"":{"type":"null"}},
      "additionalProperties":{"type":"string"}})";
  EXPECT_TRUE(fits(open, R"({"ab": 1, "": null, "abc": "x", "a": "y"})"));
  EXPECT_FALSE(fits(open, R"({"ab": "x"})"));
  EXPECT_FALSE(fits(open, R"({"": "x"})"));
  EXPECT_FALSE(fits(open, "{\"a\\u0062\": \"x\"}"));
}

// minItems 1 lets the tuple stop after its first item; the fourth may be one of `items`, the fifth
// is over the maximum.
TEST(JsonSchema, ArraysAndTuples) {
  const std::string tuple = R"({"prefixItems":[{"type":"integer"},{"type":"string"}],
      "items":{"type":"boolean"},"minItems":1,"maxItems":4})";
  EXPECT_TRUE(fits(tuple, "[1]"));
  EXPECT_TRUE(fits(tuple, R"([1, "x", true, false])"));
  EXPECT_FALSE(fits(tuple, R"([1, "x", true, false, true])"));
  EXPECT_FALSE(fits(tuple, "[]"));
  EXPECT_FALSE(fits(tuple, "[1, true]"));
  EXPECT_TRUE(fits(R"({"type":"array","maxItems":0})", "[]"));
  EXPECT_FALSE(fits(R"({"type":"array","maxItems":0})", "[1]"));
  EXPECT_TRUE(
      fits(R"({"type":"array","items":{"type":"integer"},"minItems":1})", "[\n  1,\n  2\n]"));
  EXPECT_NE(error_of(R"({"type":"array","minItems":3,"maxItems":2})").find("'minItems'"),
            std::string::npos);
}

// Three characters of 3, 4 and 1 bytes, and three escapes, of which the last is a pair of
// surrogates. Half a pair is no character, and a line feed must be escaped.
TEST(JsonSchema, StringsCountCodePoints) {
  const std::string three = R"({"type":"string","minLength":3,"maxLength":3})";
  EXPECT_TRUE(fits(three, "\"\u65e5\U0001F600x\""));
  EXPECT_TRUE(fits(three, R"("\n\u00e9\ud83d\ude00")"));
  EXPECT_FALSE(fits(three, R"("\ud83d\ude00")"));
  EXPECT_FALSE(fits(R"({"type":"string"})", R"("\ud83d")"));
  EXPECT_FALSE(fits(R"({"type":"string"})", "\"a\nb\""));
}

// 2000 is a leap year and 1900 is none (RFC 3339, appendix C). An e-mail address is not checked,
// and that is said.
TEST(JsonSchema, FormatsHoldCalendarAndClock) {
  const std::string date = R"({"format":"date"})";
  EXPECT_TRUE(fits(date, R"("2024-02-29")"));
  EXPECT_TRUE(fits(date, R"("2000-02-29")"));
  EXPECT_FALSE(fits(date, R"("1900-02-29")"));
  EXPECT_FALSE(fits(date, R"("2023-02-29")"));
  EXPECT_FALSE(fits(date, R"("2023-04-31")"));
  EXPECT_FALSE(fits(date, R"("2023-13-01")"));
  EXPECT_TRUE(fits(R"({"format":"time"})", R"("23:59:59+02:00")"));
  EXPECT_FALSE(fits(R"({"format":"time"})", R"("24:00:00Z")"));
  EXPECT_TRUE(fits(R"({"format":"date-time"})", R"("2023-12-31T00:00:00Z")"));
  EXPECT_EQ(unenforced(R"({"format":"email"})"), std::vector<std::string>{"format 'email' at #"});
}

// A pattern is about the string's value, so what must be escaped in JSON matches in its escaped
// form. "^a|c$" means: begins with a, or ends with c; its anchors belong to one side each.
TEST(JsonSchema, PatternsAreWrittenAsJsonWritesThem) {
  EXPECT_TRUE(fits(R"({"pattern":"^\\d{3}-[a-f]+$"})", R"("123-fa")"));
  EXPECT_FALSE(fits(R"({"pattern":"^\\d{3}-[a-f]+$"})", R"("123-fax")"));
  EXPECT_TRUE(fits(R"({"pattern":"b"})", R"("abc")"));
  EXPECT_FALSE(fits(R"({"pattern":"b"})", R"("acc")"));
  EXPECT_TRUE(fits(R"({"pattern":"^a|c$"})", R"("abb")"));
  EXPECT_TRUE(fits(R"({"pattern":"^a|c$"})", R"("xc")"));
  EXPECT_FALSE(fits(R"j({"pattern":"^(?:a|c)$"})j", R"("ac")"));
  EXPECT_TRUE(fits(R"({"pattern":"^[\"\\\\\\n]+?$"})", R"("\"\\\n")"));
  EXPECT_NE(error_of(R"j({"pattern":"(?=a)"})j").find("special kind"), std::string::npos);
  EXPECT_NE(error_of(R"j({"pattern":"(a)\\1"})j").find("the escape \\1"), std::string::npos);
  EXPECT_NE(error_of(R"j({"pattern":"("})j").find("wrong at byte 1"), std::string::npos);
}

// Refused if ignoring it would allow texts of another structure, listed if a caller can check it
// afterwards.
TEST(JsonSchema, WhatCannotBeHeldIsRefusedOrListed) {
  EXPECT_EQ(error_of(R"({"not":{"type":"string"}})"),
            "The keyword 'not' at # of the schema cannot be held by a grammar.");
  EXPECT_EQ(
      unenforced(R"({"properties":{"t":{"type":"array","uniqueItems":true,
      "contains":{"type":"null"}}}})"),
      (std::vector<std::string>{"contains at #/properties/t", "uniqueItems at #/properties/t"}));
  EXPECT_EQ(unenforced(R"({"type":"integer","multipleOf":5,"description":"x"})"),
            std::vector<std::string>{"multipleOf at #"});
  EXPECT_EQ(error_of(R"({"type":"strnig"})"),
            "The type 'strnig' at # of the schema is not known; those known are object, array, "
            "string, integer, number, boolean, null.");
  EXPECT_EQ(error_of("{"), "The JSON schema is not valid JSON.");
  EXPECT_EQ(error_of("3"), "The schema at # is number, not an object.");
  EXPECT_EQ(error_of("false"), "Nothing fits the schema at #.");
  EXPECT_NE(error_of(std::string(1000, '[')).find("nested over 128 deep"), std::string::npos);
}

// Each of 20 definitions stands twice in the one before it: 2^20 merges for a schema of less than 2
// KB.
TEST(JsonSchema, DoublingReferencesEndInAnError) {
  std::string schema = R"({"$ref":"#/$defs/d0","$defs":{)";
  for (int i = 0; i < 20; ++i) {
    schema += fmt::format(
        R"("d{0}":{{"allOf":[{{"$ref":"#/$defs/d{1}"}},{{"$ref":"#/$defs/d{1}"}}]}},)", i, i + 1);
  }
  schema += R"("d20":{"type":"string"}}})";
  EXPECT_NE(error_of(schema).find("over 4096 merges"), std::string::npos);
}

}  // namespace
}  // namespace quern
