// Methods and filters of dicts and lists, and their JSON.
#include "support/render_cases.h"

namespace quern::test {
namespace {

// keys, values and items, and what they print as.
TEST(DictMethods, Views) {
  expect_values({
      {"d.keys()", "dict_keys(['b', 'a', 'C'])"},
      {"d.values()", "dict_values([2, 1, 3])"},
      {"d.items()", "dict_items([('b', 2), ('a', 1), ('C', 3)])"},
      {"{}.keys()", "dict_keys([])"},
      {"{}.items()", "dict_items([])"},
      {"d.keys()|list", "['b', 'a', 'C']"},
      {"d.items()|first", "('b', 2)"},
      {"'a' in d.keys()", "True"},
      {"2 in d.values()", "True"},
      {"('a', 1) in d.items()", "True"},
      {"d.keys()|length", "3"},
      // Views have no index in Python; Jinja makes that an undefined value and no error.
      {"d.keys()[0] is defined", "False"},
      {"(d.keys()|list)[0]", "b"},
      {"d.items()|list|last", "('C', 3)"},
      {"d.keys() is iterable", "True"},
      {"d.keys() is sequence", "False"},
  });
  expect_refused({
      "d.keys(1)",
  });
}

// With and without a fallback, for keys of every type.
TEST(DictMethods, Get) {
  expect_values({
      {"d.get('a')", "1"},
      {"d.get('z')", "None"},
      {"d.get('z', 'none')", "none"},
      {"{1: 'x'}.get(1)", "x"},
      // 1, 1.0 and True are one key, as they are equal and have the same hash.
      {"{1: 'x'}.get(true)", "x"},
      {"{1: 'x'}.get(1.0)", "x"},
      {"{1: 'x'}.get('1')", "None"},
      {"{none: 'x'}.get(none)", "x"},
      {"{(1, 2): 'x'}.get((1, 2))", "x"},
      {"people[0].get('name')", "Bo"},
      // Dots look for methods first and brackets for keys, so a key cannot hide a method.
      {"{'get': 5}.get('get')", "5"},
      {"{'items': 5}.items()", "dict_items([('items', 5)])"},
      {"{'items': 5}['items']", "5"},
      {"{'items': 5}.items is callable", "True"},
  });
  expect_refused({
      "d.get([])",
      "d.get({})",
      "d.get()",
      "d.get('a', 1, 2)",
  });
}

// A copy does not change with the original.
TEST(DictMethods, CopyAndNew) {
  expect_values({
      {"d.copy()", "{'b': 2, 'a': 1, 'C': 3}"},
      {"{}.copy()", "{}"},
      {"dict(a=1)", "{'a': 1}"},
      {"dict({'a': 1}, b=2)", "{'a': 1, 'b': 2}"},
      {"dict(d)", "{'b': 2, 'a': 1, 'C': 3}"},
      {"dict()", "{}"},
      {"dict(a=1, **{'b': 2})", "{'a': 1, 'b': 2}"},
      {"dict({'a': 1}, a=2)", "{'a': 2}"},
      {"dict({1: 2})", "{1: 2}"},
      {"{'a': 1, 'a': 2}", "{'a': 2}"},
      // The first key stays and the last value counts.
      {"{1: 'a', true: 'b', 1.0: 'c'}", "{1: 'c'}"},
      {"{'b': 1, 'a': 2}", "{'b': 1, 'a': 2}"},
  });
  expect_refused({
      "dict(5)",
      "{[1]: 2}",
      "{(1, [2]): 3}",
  });
}

// By equality, across the number types.
TEST(ListMethods, CountAndIndex) {
  expect_values({
      {"[1, 2, 1].count(1)", "2"},
      // All three are equal to 1.
      {"[1, true, 1.0].count(1)", "3"},
      {"[].count(1)", "0"},
      {"[[1], [1]].count([1])", "2"},
      {"['a', 'b'].index('b')", "1"},
      {"[1, 2].index(2.0)", "1"},
      {"(1, 2, 1).count(1)", "2"},
      {"(1, 2).index(2)", "1"},
      {"range(5).count(3)", "1"},
      {"range(5).index(3)", "3"},
      {"[1, 2].copy()", "[1, 2]"},
      {"[none].count(none)", "1"},
  });
  expect_refused({
      "[1].index(5)",
      "(1, 2).index(9)",
      "range(5).index(9)",
      "[1].count()",
      "[1].count(1, 2)",
  });
}

// By key or value, with and without case.
TEST(DictFilters, Dictsort) {
  expect_values({
      {"d|dictsort", "[('a', 1), ('b', 2), ('C', 3)]"},
      {"d|dictsort(true)", "[('C', 3), ('a', 1), ('b', 2)]"},
      {"d|dictsort(false, 'value')", "[('a', 1), ('b', 2), ('C', 3)]"},
      {"d|dictsort(by='value', reverse=true)", "[('C', 3), ('b', 2), ('a', 1)]"},
      {"d|dictsort(reverse=true)", "[('C', 3), ('b', 2), ('a', 1)]"},
      {"{}|dictsort", "[]"},
      {"{2: 'a', 1: 'b'}|dictsort", "[(1, 'b'), (2, 'a')]"},
      {"{'b': 'X', 'a': 'y'}|dictsort(by='value')", "[('b', 'X'), ('a', 'y')]"},
      {"{'b': 'X', 'a': 'y'}|dictsort(true, 'value')", "[('b', 'X'), ('a', 'y')]"},
      // Keys that differ in case only keep their order.
      {"{'B': 1, 'a': 2, 'A': 3}|dictsort", "[('a', 2), ('A', 3), ('B', 1)]"},
      {"{'B': 1, 'a': 2, 'A': 3}|dictsort(true)", "[('A', 3), ('B', 1), ('a', 2)]"},
  });
  expect_refused({
      "{1: 0, 'a': 0}|dictsort",
      "d|dictsort(by='both')",
      "[1]|dictsort",
      "5|dictsort",
  });
}

// Undefined values give nothing; false ones count only where asked.
TEST(DictFilters, ItemsAndDefault) {
  expect_values({
      {"d|items|list", "[('b', 2), ('a', 1), ('C', 3)]"},
      {"{}|items|list", "[]"},
      {"missing|items|list", "[]"},
      {"d|items|first", "('b', 2)"},
      {"d|items|map('join', '=')|list", "['b=2', 'a=1', 'C=3']"},
      {"missing|default('x')", "x"},
      {"missing|d('x')", "x"},
      {"missing|default", ""},
      // None is a value; only the flag makes `default` look at the truth of it.
      {"none|default('x')", "None"},
      {"none|default('x', true)", "x"},
      {"''|default('x')", ""},
      {"''|default('x', true)", "x"},
      {"0|default(5, boolean=true)", "5"},
      {"[]|default([1], true)", "[1]"},
      {"false|default(true)", "False"},
      {"false|default(true, true)", "True"},
      {"1|default(2, true)", "1"},
      {"missing|default(none)", "None"},
      {"missing|default(default_value='y')", "y"},
      {"missing|default([1])|first", "1"},
      {"d.zip|default('?')", "?"},
      {"d['zip']|default('?')", "?"},
      {"xs[9]|default('?')", "?"},
      {"('a' if false)|default('?')", "?"},
  });
  expect_refused({
      "[1]|items|list",
      "'a'|items|list",
      "none|items|list",
      "missing.x|default('?')",
  });
}

// tojson as chat templates print it: no escapes beyond JSON's.
TEST(JsonFilter, Compact) {
  expect_values({
      {"none|tojson", "null"},
      {"true|tojson", "true"},
      {"0|tojson", "0"},
      {"-1|tojson", "-1"},
      {"1.5|tojson", "1.5"},
      // As repr() writes a float.
      {"1e16|tojson", "1e+16"},
      {"1e-7|tojson", "1e-07"},
      {"0.1|tojson", "0.1"},
      {"-0.0|tojson", "-0.0"},
      {"\"a\"|tojson", "\"a\""},
      {"'é'|tojson", "\"é\""},
      {"'\"\\\\/\\n\\t\\r'|tojson", "\"\\\"\\\\/\\n\\t\\r\""},
      // Only what JSON demands is escaped: DEL is not, nor is U+2028 below.
      {"'\\x00\\x1f\\x7f'|tojson", "\"\\u0000\\u001f\177\""},
      {"'\\u2028🙂'|tojson", "\"\u2028🙂\""},
      {"[]|tojson", "[]"},
      {"{}|tojson", "{}"},
      {"[1, [2, [3]]]|tojson", "[1, [2, [3]]]"},
      {"{'a': {'b': [1, none]}}|tojson", "{\"a\": {\"b\": [1, null]}}"},
      {"(1, 2)|tojson", "[1, 2]"},
      // Keys become text; true replaced the value of 1, whose key stays.
      {"{1: 2, none: 3, true: 4, 1.5: 5}|tojson", "{\"1\": 4, \"null\": 3, \"1.5\": 5}"},
      // Jinja's own tojson escapes for HTML; transformers replaces it by one that does not.
      {"'</script>'|tojson", "\"</script>\""},
      {"'é日🙂'|tojson(ensure_ascii=true)", "\"\\u00e9\\u65e5\\ud83d\\ude42\""},
      {"'\\x7f\\x80'|tojson(ensure_ascii=true)", "\"\\u007f\\u0080\""},
      {"{'é': 1}|tojson(ensure_ascii=true)", "{\"\\u00e9\": 1}"},
      {"'a'|tojson(ensure_ascii=true)", "\"a\""},
      // No JSON, but what Python's json writes by default.
      {"('inf'|float)|tojson", "Infinity"},
      {"('-inf'|float)|tojson", "-Infinity"},
      {"('nan'|float)|tojson", "NaN"},
      {"('<'|safe)|tojson", "\"<\""},
  });
  expect_refused({
      "range(3)|tojson",
      "d.keys()|tojson",
      "missing|tojson",
      "[missing]|tojson",
      "{(1, 2): 3}|tojson",
      "namespace(a=1)|tojson",
  });
}

// With indentation, sorted keys and other separators.
TEST(JsonFilter, IndentedAndSorted) {
  expect_values({
      {"[]|tojson(indent=0)", "[]"},
      {"{}|tojson(indent=0)", "{}"},
      {"[1]|tojson(indent=0)", "[\n1\n]"},
      {"[1, [2, 3], []]|tojson(indent=0)", "[\n1,\n[\n2,\n3\n],\n[]\n]"},
      {"{'a': 1, 'b': {'c': [], 'd': {}}}|tojson(indent=0)",
       "{\n\"a\": 1,\n\"b\": {\n\"c\": [],\n\"d\": {}\n}\n}"},
      {"5|tojson(indent=0)", "5"},
      {"'x'|tojson(indent=0)", "\"x\""},
      {"[]|tojson(indent=2)", "[]"},
      {"{}|tojson(indent=2)", "{}"},
      {"[1]|tojson(indent=2)", "[\n  1\n]"},
      {"[1, [2, 3], []]|tojson(indent=2)", "[\n  1,\n  [\n    2,\n    3\n  ],\n  []\n]"},
      {"{'a': 1, 'b': {'c': [], 'd': {}}}|tojson(indent=2)",
       "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [],\n    \"d\": {}\n  }\n}"},
      {"5|tojson(indent=2)", "5"},
      {"'x'|tojson(indent=2)", "\"x\""},
      {"[1, 2]|tojson(indent='\\t')", "[\n\t1,\n\t2\n]"},
      {"[1, 2]|tojson(indent='')", "[\n1,\n2\n]"},
      // A negative number breaks lines without indenting, as 0 does.
      {"[1]|tojson(indent=-1)", "[\n1\n]"},
      {"[1]|tojson(indent=none)", "[1]"},
      {"d|tojson(sort_keys=true)", "{\"C\": 3, \"a\": 1, \"b\": 2}"},
      {"d|tojson(sort_keys=true, indent=1)", "{\n \"C\": 3,\n \"a\": 1,\n \"b\": 2\n}"},
      {"{'b': {'d': 1, 'c': 2}, 'a': 3}|tojson(sort_keys=true)",
       "{\"a\": 3, \"b\": {\"c\": 2, \"d\": 1}}"},
      {"{2: 'a', 1: 'b'}|tojson(sort_keys=true)", "{\"1\": \"b\", \"2\": \"a\"}"},
      {"d|tojson(separators=(',', ':'))", "{\"b\":2,\"a\":1,\"C\":3}"},
      {"d|tojson(separators=['; ', '='])", "{\"b\"=2; \"a\"=1; \"C\"=3}"},
      {"[1, 2]|tojson(indent=2, separators=(';', '='))", "[\n  1;\n  2\n]"},
  });
  expect_refused({
      "{1: 0, 'a': 0}|tojson(sort_keys=true)",
      "d|tojson(separators=(',',))",
      "d|tojson(separators=5)",
  });
}

}  // namespace
}  // namespace quern::test
