// Schemas with texts that fit and texts that do not. Which is which was checked with the Python
// package jsonschema 4.26 (draft 2020-12); texts that the schema allows and the grammar does not
// (json_schema.h lists where it is narrower) stand at the end of the second list.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/grammar/json_schema.h"

namespace quern {
namespace {

// A JSON schema with texts that fit it and texts that do not.
struct SchemaCase {
  std::string schema;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

// Compiles each schema and runs the texts through its grammar.
void expect_schemas(const std::vector<SchemaCase>& cases) {
  for (const SchemaCase& test : cases) {
    const auto grammar = grammar_from_json_schema(test.schema);
    ASSERT_TRUE(grammar) << test.schema << "\n  " << grammar.error().message;
    for (const std::string& text : test.good) {
      EXPECT_TRUE(*grammar->grammar.matches(text)) << test.schema << "\n  " << text;
    }
    for (const std::string& text : test.bad) {
      EXPECT_FALSE(*grammar->grammar.matches(text)) << test.schema << "\n  " << text;
      // A space behind a text must not make it fit.
      EXPECT_FALSE(*grammar->grammar.matches(text + " ")) << test.schema;
    }
  }
}

// Values of every type; order and doubles do not matter.
TEST(SchemaTable, Enums) {
  expect_schemas({
      {R"({"enum": ["a", "b", 1, null, true, [1], {"k": 2}]})",
       {"\"a\"", "\"b\"", "1", "null", "true", "[1]", "{\"k\":2}"},
       {"\"c\"", "2", "false", "[2]", "{\"k\":3}", "[ 1 ]"}},
      {R"({"const": "x"})", {"\"x\""}, {"\"y\"", "null", "\"\""}},
      // Zero, the empty text and null are values like others.
      {R"({"const": 0})", {"0"}, {"1", "\"0\"", "null"}},
      {R"({"enum": ["é", "a\"b", "\n"]})", {"\"é\"", "\"a\\\"b\"", "\"\\n\""}, {"\"e\"", "\"a\""}},
      {R"({"type": "string", "enum": ["a", 1]})", {"\"a\""}, {"1"}},
      {R"({"type": ["integer", "null"], "enum": [1, "x", null]})", {"1", "null"}, {"\"x\""}},
      {R"({"enum": [1, 2, 3], "const": 2})", {"2"}, {"1", "3"}},
  });
}

// One type, a list of types, and no type at all.
TEST(SchemaTable, Types) {
  expect_schemas({
      {R"({"type": "boolean"})", {"true", "false"}, {"1", "\"true\"", "null"}},
      {R"({"type": "null"})", {"null"}, {"0", "\"\"", "false"}},
      {R"({"type": "integer"})", {"0", "-7", "123"}, {"1.5", "\"1\"", "true", "null"}},
      {R"({"type": "number"})", {"0", "-7.25", "1e3", "1E-2"}, {"\"1\"", "null", "[]"}},
      {R"({"type": "string"})",
       {"\"\"", "\"abc\"", "\"\\u00e9\\n\"", "\"日🙂\""},
       {"1", "null", "{}"}},
      {R"({"type": ["string", "null"]})", {"\"a\"", "null"}, {"1", "[]"}},
      {R"({"type": ["integer", "boolean", "array"]})",
       {"1", "true", "[1]"},
       {"\"x\"", "{}", "null"}},
      {R"({"type": "object"})", {"{}", "{\"a\":1}", "{\"a\": {\"b\": []}}"}, {"[]", "1"}},
      {R"({"type": "array"})", {"[]", "[1]", "[1, \"a\", null]"}, {"{}", "1"}},
  });
}

// Inclusive and exclusive, fractions, and bounds past 64 bits.
TEST(SchemaTable, IntegerBounds) {
  expect_schemas({
      {R"({"type": "integer", "minimum": 0})", {"0", "5", "99999"}, {"-1"}},
      {R"({"type": "integer", "maximum": 0})", {"0", "-5", "-99999"}, {"1"}},
      {R"({"type": "integer", "minimum": 10, "maximum": 20})",
       {"10", "15", "20"},
       {"9", "21", "1", "100", "-15"}},
      {R"({"type": "integer", "exclusiveMinimum": 10, "exclusiveMaximum": 12})",
       {"11"},
       {"10", "12"}},
      {R"({"type": "integer", "minimum": -5, "maximum": 5})",
       {"-5", "0", "5", "-1"},
       {"-6", "6", "55"}},
      // Both ends negative and of different lengths: digits run the other way.
      {R"({"type": "integer", "minimum": -105, "maximum": -95})",
       {"-105", "-100", "-99", "-95"},
       {"-94", "-106", "-9", "100"}},
      {R"({"type": "integer", "minimum": 1.5, "maximum": 3.5})", {"2", "3"}, {"1", "4"}},
      {R"({"type": "integer", "minimum": 100})", {"100", "999", "1000"}, {"99", "0"}},
      {R"({"type": "integer", "maximum": -100})", {"-100", "-1234"}, {"-99", "0", "5"}},
      {R"({"minimum": 3, "type": "integer", "exclusiveMinimum": 3})", {"4"}, {"3", "2"}},
  });
}

// Only the sign can be held by a grammar: -0.25 is above -0.5.
TEST(SchemaTable, Numbers) {
  expect_schemas({
      {R"({"type": "number", "minimum": 0})", {"0", "0.5", "7e2"}, {"-1", "-0.5"}},
      {R"({"type": "number", "exclusiveMinimum": 0})", {"0.5", "3"}, {"-1"}},
      {R"({"minimum": 0})", {"0.25"}, {"-0.25"}},
      {R"({"type": "number", "minimum": -0.5})", {"-0.25", "0", "1"}, {"\"x\""}},
      {R"({"type": "number", "exclusiveMinimum": -0.5})", {"-0.25", "0", "1"}, {"\"x\""}},
      {R"({"type": "number", "maximum": 10})", {"-5", "10", "3.5"}, {"\"3\""}},
  });
}

// Lengths count characters, not bytes; patterns search.
TEST(SchemaTable, Strings) {
  expect_schemas({
      {R"({"type": "string", "minLength": 2})",
       {"\"ab\"", "\"日本\"", "\"abc\"", "\"\\n\\n\""},
       {"\"\"", "\"a\"", "\"日\""}},
      {R"({"type": "string", "maxLength": 2})",
       {"\"\"", "\"a\"", "\"🙂🙂\""},
       {"\"abc\"", "\"日本語\""}},
      {R"({"type": "string", "minLength": 1, "maxLength": 1})",
       {"\"a\"", "\"🙂\"", "\"\\u0041\""},
       {"\"\"", "\"ab\""}},
      // Without a type, the keyword tells that a string is meant.
      {R"({"minLength": 1})", {"\"x\""}, {"\"\""}},
      {R"({"type": "string", "maxLength": 0})", {"\"\""}, {"\"a\""}},
      {R"({"type": "string", "pattern": "^[a-z]+$"})", {"\"abc\""}, {"\"\"", "\"aBc\"", "\"a1\""}},
      {R"({"type": "string", "pattern": "^\\d{3}-\\d{4}$"})",
       {"\"555-1234\""},
       {"\"5551234\"", "\"555-12345\""}},
      {R"({"type": "string", "pattern": "ab"})", {"\"ab\"", "\"xaby\""}, {"\"a\"", "\"ba\""}},
      {R"({"type": "string", "pattern": "^(foo|bar)baz?$"})",
       {"\"fooba\"", "\"barbaz\""},
       {"\"foo\"", "\"foobarbaz\""}},
      // A quote and a backslash, which JSON must escape, are what the class leaves out.
      {R"({"type": "string", "pattern": "^[^\"\\\\]$"})",
       {"\"a\""},
       {"\"\\\"\"", "\"\\\\\"", "\"\""}},
      {R"({"type": "string", "pattern": "^\\w+@\\w+\\.(com|org)$"})",
       {"\"a_1@b.com\"", "\"x@y.org\""},
       {"\"a@b.net\"", "\"@b.com\""}},
      {R"({"type": "string", "pattern": "^.{2,3}$"})",
       {"\"ab\"", "\"abc\"", "\"日本\""},
       {"\"a\"", "\"abcd\""}},
      {R"({"type": "string", "pattern": "^\\u00e9$"})", {"\"é\""}, {"\"e\""}},
      {R"({"type": "string", "pattern": "^a*?b+?$"})",
       {"\"b\"", "\"aab\"", "\"bb\""},
       {"\"a\"", "\"\""}},
      {R"({"type": "string", "pattern": "^\\s$"})", {"\" \"", "\"\\t\""}, {"\"a\""}},
      {R"({"type": "string", "pattern": "^[\\d\\-]+$"})", {"\"1-2\"", "\"-\""}, {"\"a\""}},
      {R"({"type": "string", "pattern": "^$"})", {"\"\""}, {"\"a\""}},
      {R"({"type": "string", "pattern": ""})", {"\"\"", "\"anything\""}, {"1"}},
  });
}

// Dates, times and UUIDs are checked by their form.
TEST(SchemaTable, Formats) {
  expect_schemas({
      {R"({"type": "string", "format": "uuid"})",
       {"\"123e4567-e89b-12d3-a456-426614174000\""},
       {"\"123e4567\"", "\"123e4567-e89b-12d3-a456-42661417400g\""}},
      {R"({"type": "string", "format": "date"})",
       {"\"2024-02-29\"", "\"1999-12-31\""},
       {"\"2023-02-29\"", "\"2023-00-10\"", "\"23-01-01\""}},
      {R"({"type": "string", "format": "time"})",
       {"\"00:00:00Z\"", "\"23:59:59.5+01:00\""},
       {"\"24:00:00Z\"", "\"12:60:00Z\"", "\"12:00:00\""}},
      {R"({"type": "string", "format": "date-time"})",
       {"\"2024-01-31T12:00:00Z\""},
       {"\"2024-01-31 12:00:00Z\"", "\"2024-01-31\""}},
  });
}

// Required and optional members in every combination.
TEST(SchemaTable, Objects) {
  expect_schemas({
      {R"({"type": "object", "properties": {"a": {"type": "integer"}}})",
       {"{}", "{\"a\": 1}", "{\"a\":1}"},
       {"{\"a\": \"x\"}", "{\"b\": 1}", "{\"a\": 1, \"b\": 2}"}},
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]})",
       {"{\"a\": 1}", "{\"a\": 1, \"b\": \"x\"}", "{\n  \"a\": 1,\n  \"b\": \"\"\n}"},
       {"{}", "{\"b\": \"x\"}", "{\"b\": \"x\", \"a\": 1}"}},
      // What is optional before the first required member brings its own comma; behind it, the
      // comma comes first.
      {R"({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"]})",
       {"{\"b\": 1}", "{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"c\": 3}",
        "{\"a\": 1, \"b\": 2, \"c\": 3}"},
       {"{}", "{\"a\": 1}", "{\"c\": 1}"}},
      {R"({"type": "object", "required": ["x"]})",
       {"{\"x\": 1}", "{\"x\": 1, \"y\": 2}"},
       {"{}", "{\"y\": 2}"}},
      {R"({"type": "object", "additionalProperties": false})", {"{}"}, {"{\"a\": 1}"}},
      {R"({"type": "object", "additionalProperties": {"type": "integer"}})",
       {"{}", "{\"a\": 1}", "{\"a\": 1, \"b\": 2}"},
       {"{\"a\": \"x\"}"}},
      {R"({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}})",
       {"{\"a\": \"x\"}", "{\"b\": 1}", "{\"a\": \"x\", \"b\": 1, \"c\": 2}"},
       {"{\"a\": 1}", "{\"b\": \"x\"}"}},
      {R"({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": true})",
       {"{\"a\": 1, \"zz\": [null]}", "{\"zz\": {}}"},
       {"{\"a\": \"x\"}"}},
      {R"({"type": "object", "properties": {"a": false, "b": {}}})",
       {"{}", "{\"b\": 1}"},
       {"{\"a\": 1}"}},
      {R"({"type": "object", "properties": {"a b": {}, "q\"": {}, "é": {}, "x/y~z": {}}, "required": ["a b", "q\"", "é", "x/y~z"]})",
       {"{\"a b\": 1, \"q\\\"\": 2, \"é\": 3, \"x/y~z\": 4}"},
       {"{}"}},
      {R"({"type": "object", "minProperties": 1})", {"{\"a\": 1}"}, {"{}"}},
      {R"({"properties": {"o": {"type": "object", "properties": {"i": {"type": "integer"}}, "required": ["i"]}}, "required": ["o"]})",
       {"{\"o\": {\"i\": 1}}"},
       {"{\"o\": {}}", "{\"o\": 1}"}},
  });
}

// Tuples, bounds, and items that are not allowed.
TEST(SchemaTable, Arrays) {
  expect_schemas({
      {R"({"type": "array", "items": {"type": "integer"}})",
       {"[]", "[1]", "[1, 2]", "[1,2]"},
       {"[\"a\"]", "[1, \"a\"]"}},
      {R"({"type": "array", "minItems": 2, "items": {"type": "null"}})",
       {"[null, null]", "[null, null, null]"},
       {"[]", "[null]"}},
      {R"({"type": "array", "maxItems": 2})", {"[]", "[1]", "[1, 2]"}, {"[1, 2, 3]"}},
      {R"({"type": "array", "minItems": 1, "maxItems": 1, "items": {"type": "boolean"}})",
       {"[true]"},
       {"[]", "[true, false]"}},
      // [1] would fit the schema; the grammar wants the whole tuple, as minItems says nothing.
      {R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]})",
       {"[1, \"a\"]"},
       {"[\"a\", 1]", "[1]"}},
      {R"({"type": "array", "prefixItems": [{"type": "integer"}], "items": false})",
       {"[1]"},
       {"[1, 2]", "[\"a\"]"}},
      {R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}, "minItems": 0})",
       {"[]", "[1]", "[1, \"a\"]", "[1, \"a\", null, null]"},
       {"[1, null]", "[1, \"a\", 2]"}},
      {R"({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}})",
       {"[[]]", "[[1], [2, 3]]"},
       {"[1]", "[[\"a\"]]"}},
      {R"({"type": "array", "items": false})", {"[]"}, {"[1]"}},
      {R"({"items": {"type": "string"}})", {"[\"a\"]"}, {"[1]"}},
  });
}

// anyOf, oneOf and allOf, nested in each other.
TEST(SchemaTable, Combinations) {
  expect_schemas({
      {R"({"anyOf": [{"type": "integer"}, {"type": "string"}]})", {"1", "\"a\""}, {"null", "1.5"}},
      {R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})", {"1", "\"a\""}, {"null", "[]"}},
      {R"({"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}]})",
       {"\"a\"", "\"b\"", "\"c\""},
       {"\"d\""}},
      {R"({"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 5}]})",
       {"3", "5"},
       {"2", "6"}},
      {R"({"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 3}]})",
       {"\"ab\"", "\"abc\""},
       {"\"a\"", "\"abcd\""}},
      {R"({"allOf": [{"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}]})", {"2", "3"}, {"1", "4"}},
      {R"({"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "null"}}}]})",
       {"{\"a\": 1}", "{\"a\": 1, \"b\": null}"},
       {"{}", "{\"b\": null}", "{\"a\": 1, \"b\": 2}"}},
      {R"({"type": "object", "properties": {"k": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "integer"}}]}}, "required": ["k"]})",
       {"{\"k\": null}", "{\"k\": [1]}"},
       {"{\"k\": \"x\"}", "{\"k\": [null]}"}},
      {R"({"anyOf": [{"type": "integer", "minimum": 10}, {"type": "integer", "maximum": -10}]})",
       {"10", "-10", "-99"},
       {"0", "9", "-9"}},
      {R"({"anyOf": [false, {"type": "null"}]})", {"null"}, {"1"}},
      {R"({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]})", {"5", "1", "0"}, {"3"}},
  });
}

// Recursion, and references to references.
TEST(SchemaTable, References) {
  expect_schemas({
      {R"({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}})", {"1"}, {"\"x\""}},
      {R"({"$defs": {"a": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/a"}})",
       {"[1]"},
       {"[\"x\"]"}},
      {R"({"definitions": {"x/y": {"const": 1}, "p~q": {"const": 2}}, "anyOf": [{"$ref": "#/definitions/x~1y"}, {"$ref": "#/definitions/p~0q"}]})",
       {"1", "2"},
       {"3"}},
      // The whole schema inside of itself.
      {R"({"properties": {"n": {"$ref": "#"}}, "additionalProperties": false, "type": "object"})",
       {"{}", "{\"n\": {}}", "{\"n\": {\"n\": {}}}"},
       {"{\"n\": 1}", "{\"n\": {\"n\": 1}}"}},
      {R"({"$defs": {"l": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"next": {"$ref": "#/$defs/l"}}, "required": ["next"]}]}}, "$ref": "#/$defs/l"})",
       {"null", "{\"next\": null}", "{\"next\": {\"next\": null}}"},
       {"{}", "{\"next\": 1}"}},
      {R"({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"const": 7}}, "$ref": "#/$defs/a"})",
       {"7"},
       {"8"}},
      // Keywords beside a reference count as well (since draft 2019-09).
      {R"({"$defs": {"a": {"minimum": 5}}, "type": "integer", "$ref": "#/$defs/a"})", {"5"}, {"4"}},
      {R"({"prefixItems": [{"const": 1}, {"$ref": "#/prefixItems/0"}]})", {"[1, 1]"}, {"[1, 2]"}},
  });
}

// Titles and defaults change nothing.
TEST(SchemaTable, Annotations) {
  expect_schemas({
      {R"({"type": "integer", "title": "t", "description": "d", "default": 5, "examples": [1], "$comment": "c", "deprecated": true, "readOnly": false, "x-vendor": 1})",
       {"3"},
       {"\"x\""}},
      {R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://x.example/y", "type": "null"})",
       {"null"},
       {"1"}},
  });
}
// A text that must be refused, and the whole sentence of its error.
struct ErrorCase {
  std::string schema;
  std::string message;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

// Every error has the path of the keyword in the schema.
TEST(SchemaTable, ErrorsNameThePlace) {
  const std::vector<ErrorCase> cases = {
      {"", "The JSON schema is not valid JSON."},
      {"{\"a\":}", "The JSON schema is not valid JSON."},
      {"[]", "The schema at # is array, not an object."},
      {"null", "The schema at # is null, not an object."},
      {R"({"type":"text"})",
       "The type 'text' at # of the schema is not known; those known are object, array, string, "
       "integer, number, boolean, null."},
      {R"({"type":5})", "'type' at # of the schema is no name."},
      {R"({"type":[]})", "'type' at # of the schema is an empty list."},
      {R"({"enum":5})", "'enum' at # of the schema is not a list."},
      {R"({"enum":[]})", "No value fits the schema at #."},
      {R"({"enum":["a"],"type":"integer"})", "No value fits the schema at #."},
      {R"({"enum":[1],"const":2})", "No value fits the schema at #."},
      {R"({"anyOf":[]})", "'anyOf' at # of the schema is not a list of schemas."},
      {R"({"anyOf":[false]})", "Nothing fits the schema at #."},
      {R"({"allOf":5})", "'allOf' at # is not a list."},
      {R"({"properties":5})", "'properties' or 'required' at # has the wrong form."},
      {R"({"required":"a"})", "'properties' or 'required' at # has the wrong form."},
      {R"({"required":[1]})", "'required' at # has no names."},
      {R"({"properties":{"a":{"type":"x"}}})",
       "The type 'x' at #/properties/a of the schema is not known; those known are object, array, "
       "string, integer, number, boolean, null."},
      {R"({"properties":{"a/b":{"items":{"enum":[]}}}})",
       "No value fits the schema at #/properties/a~1b/items."},
      {R"({"type":"array","prefixItems":5})", "'prefixItems' at # is not a list."},
      {R"({"type":"array","minItems":-1})",
       "'minItems' at # of the schema is -1; it must be from 0 to 100000."},
      {R"({"type":"array","minItems":"a"})",
       "'minItems' at # of the schema is \"a\"; it must be from 0 to 100000."},
      {R"({"type":"string","maxLength":100001})",
       "'maxLength' at # of the schema is 100001; it must be from 0 to 100000."},
      {R"({"type":"string","minLength":3,"maxLength":2})",
       "'minLength' at # of the schema is 3, over 'maxLength' with 2."},
      {R"({"type":"array","prefixItems":[{}],"items":false,"minItems":2})",
       "No array fits the schema at #."},
      {R"({"type":"object","additionalProperties":false,"minProperties":1})",
       "No object fits the schema at #."},
      {R"({"type":"integer","minimum":"a"})", "'minimum' at # of the schema is not a number."},
      {R"({"type":"integer","exclusiveMaximum":"a"})",
       "'exclusiveMaximum' at # of the schema is not a number."},
      {R"({"type":"integer","minimum":2,"maximum":1})",
       "No integer lies between the bounds at # of the schema."},
      {R"({"type":"string","pattern":5})", "'pattern' at # is no text."},
      {R"({"type":"string","format":5})", "'format' at # is no text."},
      {R"({"$ref":5})", "'$ref' at # is not a text."},
      {R"({"$ref":"#/a"})", "The reference '#/a' at # names nothing in the schema."},
      {R"({"$ref":"#a"})", "The reference '#a' at # names nothing in the schema."},
      {R"({"$ref":"other.json"})",
       "The reference 'other.json' at # leaves the schema; only '#/...' is known.",
       ErrorCode::kUnimplemented},
      {R"({"allOf":[{"const":1},{"const":2}]})",
       "Nothing satisfies both schemas at #: see 'const'."},
      {R"({"allOf":[{"enum":[1]},{"enum":[2]}]})",
       "Nothing satisfies both schemas at #: see 'enum'."},
      {R"({"allOf":[{"pattern":"a"},{"pattern":"b"}]})",
       "The schemas at # have two values of 'pattern', which have no common form.",
       ErrorCode::kUnimplemented},
  };
  for (const ErrorCase& test : cases) {
    const auto grammar = grammar_from_json_schema(test.schema);
    ASSERT_FALSE(grammar) << test.schema;
    EXPECT_EQ(grammar.error().message, test.message) << test.schema;
    EXPECT_EQ(grammar.error().code, test.code) << test.schema;
  }
}

// Keywords that would change the structure are refused wherever they stand.
TEST(SchemaTable, KeywordsThatGrammarsCannotHold) {
  for (const std::string keyword :
       {"not", "if", "then", "else", "patternProperties", "dependentRequired", "dependentSchemas",
        "dependencies", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef",
        "propertyNames", "additionalItems"}) {
    const auto grammar = grammar_from_json_schema(
        fmt::format(R"({{"type":"array","items":{{"type":"object","{}":{{}}}}}})", keyword));
    ASSERT_FALSE(grammar) << keyword;
    EXPECT_EQ(grammar.error().code, ErrorCode::kUnimplemented);
    EXPECT_EQ(grammar.error().message,
              fmt::format("The keyword '{}' at #/items of the schema cannot be held by a grammar.",
                          keyword));
  }
}

// What the grammar cannot hold is said, not ignored.
TEST(SchemaTable, WhatIsNotEnforcedIsListed) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {R"({"type":"object","minProperties":2})", {"minProperties at #"}},
      {R"({"type":"object","maxProperties":2})", {"maxProperties at #"}},
      {R"({"type":"object","minProperties":1})", {}},
      {R"({"type":"array","uniqueItems":true})", {"uniqueItems at #"}},
      {R"({"type":"array","uniqueItems":false})", {}},
      {R"({"type":"number","minimum":1})", {"minimum of a number at #"}},
      {R"({"type":"number","minimum":0})", {}},
      {R"({"type":"number","maximum":1})", {"maximum of a number at #"}},
      {R"({"type":"integer","multipleOf":1})", {}},
      {R"({"type":"number","multipleOf":0.5})", {"multipleOf at #"}},
      {R"({"type":"string","format":"email"})", {"format 'email' at #"}},
      {R"({"type":"string","format":"date","pattern":"a"})", {"format (beside a pattern) at #"}},
      {R"({"type":"string","pattern":"a","minLength":1})",
       {"minLength, maxLength (beside a pattern or format) at #"}},
      {R"({"oneOf":[{"type":"null"}]})", {"oneOf (as anyOf) at #"}},
      {R"({"enum":[1],"minimum":0})", {"minimum (beside given values) at #"}},
      {R"({"type":"null","frobnicate":1})", {"frobnicate at #"}},
      {R"({"type":"array","items":{"type":"integer","multipleOf":3}})", {"multipleOf at #/items"}},
  };
  for (const auto& [schema, expected] : cases) {
    const auto grammar = grammar_from_json_schema(schema);
    ASSERT_TRUE(grammar) << schema << grammar.error().message;
    EXPECT_EQ(grammar->unenforced, expected) << schema;
  }
}

// 64 nested lists once took 2^64 steps: each stood twice in the tree.
TEST(SchemaTable, SizesAndDepthsAreLimited) {
  EXPECT_EQ(grammar_from_json_schema(std::string(kMaxSchemaBytes + 1, ' ')).error().message,
            "The JSON schema has 262145 bytes; the limit is 262144.");
  std::string members = "{\"enum\":[1]";
  for (size_t i = 0; i < kMaxSchemaMembers; ++i) members += fmt::format(",\"x-{}\":0", i);
  EXPECT_EQ(grammar_from_json_schema(members + "}").error().message,
            "An object of the JSON schema has 2001 members; the limit is 2000.");
  std::string deep;
  for (int i = 0; i < 64; ++i) deep += R"({"type":"array","items":)";
  deep += "{\"type\":\"null\"}";
  for (int i = 0; i < 64; ++i) deep += "}";
  EXPECT_TRUE(grammar_from_json_schema(deep));
  // Brackets inside of texts do not count.
  EXPECT_TRUE(grammar_from_json_schema("{\"const\":\"" + std::string(500, '[') + "\"}"));
}

// Offsets count bytes of the pattern.
TEST(SchemaTable, BrokenPatternsNameTheByte) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"(", "The pattern '(' is wrong at byte 1."},
      {")", "The pattern ')' is wrong at byte 0."},
      {"a)", "The pattern 'a)' is wrong at byte 1."},
      {"[", "The pattern '[' is wrong at byte 1."},
      {"[]", "The pattern '[]' is wrong at byte 2."},
      {"[b-a]", "The pattern '[b-a]' is wrong at byte 4."},
      {"*a", "The pattern '*a' is wrong at byte 0."},
      {"a{", "The pattern 'a{' is wrong at byte 2."},
      {"a{2,1}", "The pattern 'a{2,1}' is wrong at byte 6."},
      {"a{10001}", "The pattern 'a{10001}' repeats over 10000 times."},
      {"a^b", "The pattern 'a^b' has an anchor inside at byte 1, which grammars cannot hold."},
      {"(a$)",
       "The pattern '(a$)' has an anchor inside a group at byte 2, which grammars cannot hold."},
      {"(?!a)",
       "The pattern '(?!a)' has a group of a special kind at byte 0, which grammars cannot hold."},
      {"(?<=a)b",
       "The pattern '(?<=a)b' has a group of a special kind at byte 0, which grammars cannot "
       "hold."},
  };
  for (const auto& [pattern, message] : cases) {
    const auto grammar =
        grammar_from_json_schema(fmt::format(R"({{"type":"string","pattern":"{}"}})", pattern));
    ASSERT_FALSE(grammar) << pattern;
    EXPECT_EQ(grammar.error().message, message);
  }
  EXPECT_NE(grammar_from_json_schema(R"({"pattern":"\\bx"})").error().message.find("escape \\b"),
            std::string::npos);
  EXPECT_NE(grammar_from_json_schema(R"({"pattern":"\\p{L}"})").error().message.find("escape \\p"),
            std::string::npos);
}

}  // namespace
}  // namespace quern
