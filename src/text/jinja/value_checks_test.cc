// Every test ("is ...") over values of every type.
#include "support/render_cases.h"

namespace quern::test {
namespace {

// The rows are one value of each type, in the same order for every test.
TEST(ValueChecks, Boolean) {
  expect_values({
      {"missing is boolean", "False"},
      {"missing is not boolean", "True"},
      {"range(3) is boolean", "False"},
      {"(1, 2) is boolean", "False"},
      {"d.keys() is boolean", "False"},
      {"d.items is boolean", "False"},
      {"namespace() is boolean", "False"},
      {"range is boolean", "False"},
      {"('x'|safe) is boolean", "False"},
      {"(xs|map('int')) is boolean", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is boolean else 0 }}{% endfor %}", "011000000000000"},
  });
  expect_refused({
      "1 is boolean(1)",
  });
}

// Functions, macros and methods.
TEST(ValueChecks, Callable) {
  expect_values({
      {"missing is callable", "True"},
      {"missing is not callable", "False"},
      {"range(3) is callable", "False"},
      {"(1, 2) is callable", "False"},
      {"d.keys() is callable", "False"},
      {"d.items is callable", "True"},
      {"namespace() is callable", "False"},
      {"range is callable", "True"},
      {"('x'|safe) is callable", "False"},
      {"(xs|map('int')) is callable", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is callable else 0 }}{% endfor %}", "000000000000000"},
  });
  expect_refused({
      "1 is callable(1)",
  });
}

// What a template asks before it uses a value that may be absent.
TEST(ValueChecks, Defined) {
  expect_values({
      {"missing is defined", "False"},
      {"missing is not defined", "True"},
      {"range(3) is defined", "True"},
      {"(1, 2) is defined", "True"},
      {"d.keys() is defined", "True"},
      {"d.items is defined", "True"},
      {"namespace() is defined", "True"},
      {"range is defined", "True"},
      {"('x'|safe) is defined", "True"},
      {"(xs|map('int')) is defined", "True"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is defined else 0 }}{% endfor %}", "111111111111111"},
  });
  expect_refused({
      "1 is defined(1)",
  });
}

// Its opposite.
TEST(ValueChecks, Undefined) {
  expect_values({
      {"missing is undefined", "True"},
      {"missing is not undefined", "False"},
      {"range(3) is undefined", "False"},
      {"(1, 2) is undefined", "False"},
      {"d.keys() is undefined", "False"},
      {"d.items is undefined", "False"},
      {"namespace() is undefined", "False"},
      {"range is undefined", "False"},
      {"('x'|safe) is undefined", "False"},
      {"(xs|map('int')) is undefined", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is undefined else 0 }}{% endfor %}", "000000000000000"},
  });
  expect_refused({
      "1 is undefined(1)",
  });
}

// none alone.
TEST(ValueChecks, None) {
  expect_values({
      {"missing is none", "False"},
      {"missing is not none", "True"},
      {"range(3) is none", "False"},
      {"(1, 2) is none", "False"},
      {"d.keys() is none", "False"},
      {"d.items is none", "False"},
      {"namespace() is none", "False"},
      {"range is none", "False"},
      {"('x'|safe) is none", "False"},
      {"(xs|map('int')) is none", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is none else 0 }}{% endfor %}", "100000000000000"},
  });
  expect_refused({
      "1 is none(1)",
  });
}

// true itself, not what is true.
TEST(ValueChecks, True) {
  expect_values({
      {"missing is true", "False"},
      {"missing is not true", "True"},
      {"range(3) is true", "False"},
      {"(1, 2) is true", "False"},
      {"d.keys() is true", "False"},
      {"d.items is true", "False"},
      {"namespace() is true", "False"},
      {"range is true", "False"},
      {"('x'|safe) is true", "False"},
      {"(xs|map('int')) is true", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is true else 0 }}{% endfor %}", "010000000000000"},
  });
  expect_refused({
      "1 is true(1)",
  });
}

// false itself.
TEST(ValueChecks, False) {
  expect_values({
      {"missing is false", "False"},
      {"missing is not false", "True"},
      {"range(3) is false", "False"},
      {"(1, 2) is false", "False"},
      {"d.keys() is false", "False"},
      {"d.items is false", "False"},
      {"namespace() is false", "False"},
      {"range is false", "False"},
      {"('x'|safe) is false", "False"},
      {"(xs|map('int')) is false", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is false else 0 }}{% endfor %}", "001000000000000"},
  });
  expect_refused({
      "1 is false(1)",
  });
}

// Booleans are none here, unlike in arithmetic.
TEST(ValueChecks, Integer) {
  expect_values({
      {"missing is integer", "False"},
      {"missing is not integer", "True"},
      {"range(3) is integer", "False"},
      {"(1, 2) is integer", "False"},
      {"d.keys() is integer", "False"},
      {"d.items is integer", "False"},
      {"namespace() is integer", "False"},
      {"range is integer", "False"},
      {"('x'|safe) is integer", "False"},
      {"(xs|map('int')) is integer", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is integer else 0 }}{% endfor %}", "000111000000000"},
  });
  expect_refused({
      "1 is integer(1)",
  });
}

// No integer is one, whatever its value.
TEST(ValueChecks, Float) {
  expect_values({
      {"missing is float", "False"},
      {"missing is not float", "True"},
      {"range(3) is float", "False"},
      {"(1, 2) is float", "False"},
      {"d.keys() is float", "False"},
      {"d.items is float", "False"},
      {"namespace() is float", "False"},
      {"range is float", "False"},
      {"('x'|safe) is float", "False"},
      {"(xs|map('int')) is float", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is float else 0 }}{% endfor %}", "000000100000000"},
  });
  expect_refused({
      "1 is float(1)",
  });
}

// Booleans are numbers.
TEST(ValueChecks, Number) {
  expect_values({
      {"missing is number", "False"},
      {"missing is not number", "True"},
      {"range(3) is number", "False"},
      {"(1, 2) is number", "False"},
      {"d.keys() is number", "False"},
      {"d.items is number", "False"},
      {"namespace() is number", "False"},
      {"range is number", "False"},
      {"('x'|safe) is number", "False"},
      {"(xs|map('int')) is number", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is number else 0 }}{% endfor %}", "011111100000000"},
  });
  expect_refused({
      "1 is number(1)",
  });
}

// Safe ones too.
TEST(ValueChecks, String) {
  expect_values({
      {"missing is string", "False"},
      {"missing is not string", "True"},
      {"range(3) is string", "False"},
      {"(1, 2) is string", "False"},
      {"d.keys() is string", "False"},
      {"d.items is string", "False"},
      {"namespace() is string", "False"},
      {"range is string", "False"},
      {"('x'|safe) is string", "True"},
      {"(xs|map('int')) is string", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is string else 0 }}{% endfor %}", "000000011110000"},
  });
  expect_refused({
      "1 is string(1)",
  });
}

// Dicts alone: a namespace has attributes and no keys.
TEST(ValueChecks, Mapping) {
  expect_values({
      {"missing is mapping", "False"},
      {"missing is not mapping", "True"},
      {"range(3) is mapping", "False"},
      {"(1, 2) is mapping", "False"},
      {"d.keys() is mapping", "False"},
      {"d.items is mapping", "False"},
      {"namespace() is mapping", "False"},
      {"range is mapping", "False"},
      {"('x'|safe) is mapping", "False"},
      {"(xs|map('int')) is mapping", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is mapping else 0 }}{% endfor %}", "000000000000011"},
  });
  expect_refused({
      "1 is mapping(1)",
  });
}

// Texts and dicts too.
TEST(ValueChecks, Iterable) {
  expect_values({
      {"missing is iterable", "True"},
      {"missing is not iterable", "False"},
      {"range(3) is iterable", "True"},
      {"(1, 2) is iterable", "True"},
      {"d.keys() is iterable", "True"},
      {"d.items is iterable", "False"},
      {"namespace() is iterable", "False"},
      {"range is iterable", "False"},
      {"('x'|safe) is iterable", "True"},
      {"(xs|map('int')) is iterable", "True"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is iterable else 0 }}{% endfor %}", "000000011111111"},
  });
  expect_refused({
      "1 is iterable(1)",
  });
}

// What has a length and items.
TEST(ValueChecks, Sequence) {
  expect_values({
      // An undefined value has a length of 0 and can be iterated over.
      {"missing is sequence", "True"},
      {"missing is not sequence", "False"},
      {"range(3) is sequence", "True"},
      {"(1, 2) is sequence", "True"},
      {"d.keys() is sequence", "False"},
      {"d.items is sequence", "False"},
      {"namespace() is sequence", "False"},
      {"range is sequence", "False"},
      {"('x'|safe) is sequence", "True"},
      {"(xs|map('int')) is sequence", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is sequence else 0 }}{% endfor %}", "000000011111111"},
  });
  expect_refused({
      "1 is sequence(1)",
  });
}

// Safe texts.
TEST(ValueChecks, Escaped) {
  expect_values({
      {"missing is escaped", "False"},
      {"missing is not escaped", "True"},
      {"range(3) is escaped", "False"},
      {"(1, 2) is escaped", "False"},
      {"d.keys() is escaped", "False"},
      {"d.items is escaped", "False"},
      {"namespace() is escaped", "False"},
      {"range is escaped", "False"},
      {"('x'|safe) is escaped", "True"},
      {"(xs|map('int')) is escaped", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is escaped else 0 }}{% endfor %}", "000000000000000"},
  });
  expect_refused({
      "1 is escaped(1)",
  });
}

// Negative numbers too.
TEST(ValueChecks, Even) {
  expect_templates({
      {"{% for v in [0, 1, -1, 2, 2.0, 3.0, 2.5, true, false] %}{{ 1 if v is even else 0 }}{% "
       "endfor %}",
       // Of 0, 2 and 2.0, and false: true is 1.
       "100110001"},
  });
  expect_refused({
      "'a' is even",
      "none is even",
      "[] is even",
      "missing is even",
  });
}

// -1 is odd.
TEST(ValueChecks, Odd) {
  expect_templates({
      {"{% for v in [0, 1, -1, 2, 2.0, 3.0, 2.5, true, false] %}{{ 1 if v is odd else 0 }}{% "
       "endfor %}",
       "011001010"},
  });
  expect_refused({
      "'a' is odd",
      "none is odd",
      "[] is odd",
      "missing is odd",
  });
}

// str.islower of the value's text: 'range(0, 3)' is in lower case, 'True' and digits are not.
TEST(ValueChecks, Lower) {
  expect_values({
      {"missing is lower", "False"},
      {"missing is not lower", "True"},
      {"range(3) is lower", "True"},
      {"(1, 2) is lower", "False"},
      {"d.keys() is lower", "False"},
      {"d.items is lower", "True"},
      {"namespace() is lower", "False"},
      {"range is lower", "True"},
      {"('x'|safe) is lower", "True"},
      {"(xs|map('int')) is lower", "True"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is lower else 0 }}{% endfor %}", "000000001000001"},
  });
  expect_refused({
      "1 is lower(1)",
  });
}

// str.isupper of the value's text.
TEST(ValueChecks, Upper) {
  expect_values({
      {"missing is upper", "False"},
      {"missing is not upper", "True"},
      {"range(3) is upper", "False"},
      {"(1, 2) is upper", "False"},
      {"d.keys() is upper", "False"},
      {"d.items is upper", "False"},
      {"namespace() is upper", "False"},
      {"range is upper", "False"},
      {"('x'|safe) is upper", "False"},
      {"(xs|map('int')) is upper", "False"},
  });
  expect_templates({
      {"{% for v in kinds %}{{ 1 if v is upper else 0 }}{% endfor %}", "000000000100000"},
  });
  expect_refused({
      "1 is upper(1)",
  });
}

// Names of operators, and operators as names.
TEST(ValueChecks, Comparisons) {
  expect_values({
      {"1 is eq 2", "False"},          {"2 is eq 2", "True"},
      {"2.5 is eq 2", "False"},        {"1 is equalto 2", "False"},
      {"2 is equalto 2", "True"},      {"2.5 is equalto 2", "False"},
      {"1 is ne 2", "True"},           {"2 is ne 2", "False"},
      {"2.5 is ne 2", "True"},         {"1 is lt 2", "True"},
      {"2 is lt 2", "False"},          {"2.5 is lt 2", "False"},
      {"1 is lessthan 2", "True"},     {"2 is lessthan 2", "False"},
      {"2.5 is lessthan 2", "False"},  {"1 is le 2", "True"},
      {"2 is le 2", "True"},           {"2.5 is le 2", "False"},
      {"1 is gt 2", "False"},          {"2 is gt 2", "False"},
      {"2.5 is gt 2", "True"},         {"1 is greaterthan 2", "False"},
      {"2 is greaterthan 2", "False"}, {"2.5 is greaterthan 2", "True"},
      {"1 is ge 2", "False"},          {"2 is ge 2", "True"},
      {"2.5 is ge 2", "True"},         {"'a' is lt 'b'", "True"},
      {"none is eq none", "True"},     {"[1] is eq [1]", "True"},
  });
  expect_refused({
      "1 is lt 'a'",
      "1 is eq",
      "1 is eq(1, 2)",
  });
}

// Tests with an argument.
TEST(ValueChecks, DivisibilitySamenessMembership) {
  expect_values({
      {"6 is divisibleby 3", "True"},
      {"7 is divisibleby 3", "False"},
      {"6 is divisibleby(3)", "True"},
      {"-6 is divisibleby 3", "True"},
      {"6.0 is divisibleby 3", "True"},
      {"none is sameas none", "True"},
      {"true is sameas true", "True"},
      // Identity, not equality; small integers are one object in Python, and lists never are.
      {"1 is sameas true", "False"},
      {"1 is sameas 1.0", "False"},
      {"[] is sameas []", "False"},
      {"xs is sameas xs", "True"},
      {"d is sameas d", "True"},

      {"1 is in [1, 2]", "True"},
      {"3 is in [1, 2]", "False"},
      {"'a' is in 'abc'", "True"},
      {"'a' is in d", "True"},
      {"1 is not in [1]", "False"},
      {"'upper' is filter", "True"},
      {"'nope' is filter", "False"},
      {"'odd' is test", "True"},
      {"'nope' is test", "False"},
      {"1 is filter", "False"},
      {"1 is defined and 2 is defined", "True"},
      {"(1 is number) ~ 'x'", "Truex"},
      {"1 is string or 1 is number", "True"},
      {"not 1 is string", "True"},
      {"[1 is number, 'a' is number]", "[True, False]"},
  });
  expect_refused({
      "6 is divisibleby 0",
      "'a' is divisibleby 3",
      "1 is in 5",
      "1 is nope",
      "1 is not nope",
      // Jinja refuses chains of tests.
      "2 is even is odd",

  });
}

}  // namespace
}  // namespace quern::test
