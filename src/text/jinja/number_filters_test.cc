// int, float, round, abs, sum, min and max at their edges.
#include "support/render_cases.h"

namespace quern::test {
namespace {

// What int() takes, and 0 for everything else.
TEST(NumberFilters, IntOfTexts) {
  expect_values({
      {"'0'|int", "0"},
      {"'7'|int", "7"},
      {"'-7'|int", "-7"},
      {"'+7'|int", "7"},
      {"' 7 '|int", "7"},
      {"'7.9'|int", "7"},
      {"'-7.9'|int", "-7"},
      {"'1e3'|int", "1000"},
      // int() goes over float() for what is no integer; an infinity has none, so the default
      // counts.
      {"'1e400'|int", "0"},
      {"''|int", "0"},
      {"'abc'|int", "0"},
      {"'7a'|int", "0"},
      // A prefix needs a base that allows it.
      {"'0x1f'|int", "0"},
      {"'0b1'|int", "0"},
      {"'0o7'|int", "0"},
      {"'1_000'|int", "1000"},
      {"'1__0'|int", "0"},
      {"'_1'|int", "0"},
      {"'1_'|int", "0"},
      {"'--1'|int", "0"},
      {"'inf'|int", "0"},
      {"'nan'|int", "0"},

      {"'9223372036854775807'|int", "9223372036854775807"},
      {"'-9223372036854775808'|int", "-9223372036854775808"},
  });
}

// Prefixes count only where they fit the base.
TEST(NumberFilters, IntOfBases) {
  expect_values({
      {"'ff'|int(base=16)", "255"},  {"'0xff'|int(base=16)", "255"}, {"'FF'|int(base=16)", "255"},
      {"'fg'|int(base=16)", "0"},    {"'0b101'|int(base=2)", "5"},   {"'101'|int(base=2)", "5"},
      // A text that is wrong in its base is read again as a float, whatever the base: jinja2 does
      // so.
      {"'102'|int(base=2)", "102"},  {"'0o17'|int(base=8)", "15"},   {"'17'|int(base=8)", "15"},
      {"'18'|int(base=8)", "18"},    {"'0x1f'|int(base=0)", "31"},   {"'0b11'|int(base=0)", "3"},
      {"'0o7'|int(base=0)", "7"},    {"'10'|int(base=0)", "10"},     {"'z'|int(base=36)", "35"},
      {"'zz'|int(base=36)", "1295"}, {"'12'|int(base=3)", "5"},      {"'12'|int(base=2)", "12"},
      {"'7'|int(base=1)", "7"},      {"'7'|int(base=37)", "7"},      {"'7'|int(base=-1)", "7"},
      {"'0xff'|int(base=10)", "0"},  {"'1_0'|int(base=16)", "16"},   {"'-ff'|int(base=16)", "-255"},
      {"'x'|int(5)", "5"},           {"'x'|int(default=5)", "5"},    {"'x'|int(none)", "None"},
      {"'x'|int('d')", "d"},         {"'ff'|int(1, 16)", "255"},
  });
}

// Lists and none are 0 as well, never an error.
TEST(NumberFilters, IntAndFloatOfOtherValues) {
  expect_values({
      {"3|int", "3"},
      {"-3|int", "-3"},
      {"3.9|int", "3"},
      {"-3.9|int", "-3"},
      {"true|int", "1"},
      {"false|int", "0"},
      {"none|int", "0"},
      {"[]|int", "0"},
      {"[1]|int", "0"},
      {"{}|int", "0"},
      {"1e18|int", "1000000000000000000"},
      {"-0.0|int", "0"},
      {"3|float", "3.0"},
      {"-3|float", "-3.0"},
      {"3.9|float", "3.9"},
      {"-3.9|float", "-3.9"},
      {"true|float", "1.0"},
      {"false|float", "0.0"},
      {"none|float", "0.0"},
      {"[]|float", "0.0"},
      {"[1]|float", "0.0"},
      {"{}|float", "0.0"},
      {"1e18|float", "1e+18"},
      {"1e400|float", "inf"},
      {"-0.0|float", "-0.0"},
  });
  expect_refused({

      "missing|int",
      "missing|float",
  });
}

// Infinity and NaN in any case.
TEST(NumberFilters, FloatOfTexts) {
  expect_values({
      {"'0'|float", "0.0"},      {"'1.5'|float", "1.5"},      {"'-1.5'|float", "-1.5"},
      {"' 1.5 '|float", "1.5"},  {"'1e3'|float", "1000.0"},   {"'1E-3'|float", "0.001"},
      {"'.5'|float", "0.5"},     {"'5.'|float", "5.0"},       {"''|float", "0.0"},
      {"'abc'|float", "0.0"},    {"'1.5x'|float", "0.0"},     {"'inf'|float", "inf"},
      {"'-inf'|float", "-inf"},  {"'Infinity'|float", "inf"}, {"'nan'|float", "nan"},
      {"'1_0.5'|float", "10.5"}, {"'1__0'|float", "0.0"},     {"'0x10'|float", "0.0"},
      {"'1e'|float", "0.0"},     {"'1e400'|float", "inf"},    {"'-1e400'|float", "-inf"},
      {"'1e-400'|float", "0.0"}, {"'+1'|float", "1.0"},       {"'++1'|float", "0.0"},
      {"'x'|float(2.5)", "2.5"}, {"'x'|float(none)", "None"}, {"'x'|float(default='d')", "d"},
  });
}

// Python rounds ties to even: 0.5 and 2.5 go down.
TEST(NumberFilters, RoundHalfToEven) {
  expect_values({
      {"0.5|round", "0.0"},
      {"1.5|round", "2.0"},
      {"2.5|round", "2.0"},
      // The sign of zero stays.
      {"-0.5|round", "-0.0"},
      {"-1.5|round", "-2.0"},
      {"0.4999999999999999|round", "0.0"},
      {"1e16|round", "1e+16"},
      {"1e300|round", "1e+300"},
      {"42|round", "42"},
      {"true|round", "1"},
      {"2.345|round(2)", "2.35"},
      // The float nearest to 2.675 lies below it, so there is no tie: digits are those of the exact
      // value.
      {"2.675|round(2)", "2.67"},
      {"1.005|round(2)", "1.0"},
      {"0.125|round(2)", "0.12"},
      {"0.375|round(2)", "0.38"},
      {"-0.125|round(2)", "-0.12"},
      {"1234.5678|round(-2)", "1200.0"},
      {"1250.0|round(-2)", "1200.0"},
      {"1350.0|round(-2)", "1400.0"},
      {"15|round(-1)", "20"},
      {"25|round(-1)", "20"},
      {"-15|round(-1)", "-20"},
      {"-25|round(-1)", "-20"},
      {"44|round(-1)", "40"},
      // A tie between 0 and 10, of which 0 is even in tens.
      {"5|round(-1)", "0"},
      {"1|round(-20)", "0"},
      // A float has no digits so far behind the point, and -400 is far before it: no power is
      // computed.
      {"1.5|round(400)", "1.5"},
      {"1.5|round(-400)", "0.0"},
      {"12|round(5)", "12"},
      {"0.1|round(20)", "0.1"},
      {"1e-5|round(4)", "0.0"},
      {"5e-324|round(3)", "0.0"},
  });
}

// Places before the point up to the ends of 64 bits; where Python's result is past them, there is
// an error and no other number.
TEST(NumberFilters, RoundIntegersAtTheEnds) {
  expect_values({
      {"5000000000000000000|round(-19)", "0"},
      {"4999999999999999999|round(-19)", "0"},
      {"(-5000000000000000000)|round(-19)", "0"},
      {"9223372036854775807|round(-20)", "0"},
      {"9223372036854775807|round(-18)", "9000000000000000000"},
      {"(-9223372036854775807)|round(-18)", "-9000000000000000000"},
      {"(-9223372036854775807 - 1)|round(-18)", "-9000000000000000000"},
      {"9499999999|round(-400)", "0"},
      {"9223372036854775804|round(-1)", "9223372036854775800"},
      {"(-9223372036854775804)|round(-1)", "-9223372036854775800"},
      {"(-8500000000000000000)|round(-18)", "-8000000000000000000"},
      {"8500000000000000000|round(-18)", "8000000000000000000"},
      {"7500000000000000000|round(-18)", "8000000000000000000"},
      {"(-7500000000000000000)|round(-18)", "-8000000000000000000"},
      {"(-15)|round(-1)", "-20"},
      {"(-25)|round(-1)", "-20"},
      {"(-26)|round(-1)", "-30"},
  });
  expect_refused({
      "5000000000000000001|round(-19)",
      "(-5000000000000000001)|round(-19)",
      "9223372036854775807|round(-19)",
      "9223372036854775807|round(-1)",
  });
}

// The methods ceil and floor, with negative precisions.
TEST(NumberFilters, RoundUpAndDown) {
  expect_values({
      {"2.1|round(0, 'ceil')", "3.0"},       {"2.9|round(0, 'ceil')", "3.0"},
      {"-2.1|round(0, 'ceil')", "-2.0"},     {"-2.9|round(0, 'ceil')", "-2.0"},
      {"2.0|round(0, 'ceil')", "2.0"},       {"2.123|round(2, 'ceil')", "2.13"},
      {"-2.123|round(2, 'ceil')", "-2.12"},  {"2.129|round(1, 'ceil')", "2.2"},
      // The result is a quotient by a power of ten, so a float even for an integer.
      {"7|round(0, 'ceil')", "7.0"},         {"123.0|round(-1, 'ceil')", "130.0"},
      {"0.0|round(3, 'ceil')", "0.0"},       {"true|round(0, 'ceil')", "1.0"},
      {"2.1|round(0, 'floor')", "2.0"},      {"2.9|round(0, 'floor')", "2.0"},
      {"-2.1|round(0, 'floor')", "-3.0"},    {"-2.9|round(0, 'floor')", "-3.0"},
      {"2.0|round(0, 'floor')", "2.0"},      {"2.123|round(2, 'floor')", "2.12"},
      {"-2.123|round(2, 'floor')", "-2.13"}, {"2.129|round(1, 'floor')", "2.1"},
      {"7|round(0, 'floor')", "7.0"},        {"123.0|round(-1, 'floor')", "120.0"},
      {"0.0|round(3, 'floor')", "0.0"},      {"true|round(0, 'floor')", "1.0"},
      {"2.5|round(method='common')", "2.0"},
  });
  expect_refused({
      "2.5|round(0, 'up')",
      "2.5|round('a')",
      "'2.5'|round",
      "none|round",
  });
}

// Of every number type, and the error for others.
TEST(NumberFilters, Abs) {
  expect_values({
      {"0|abs", "0"},
      {"5|abs", "5"},
      {"-5|abs", "5"},
      {"-5.5|abs", "5.5"},
      {"-0.0|abs", "0.0"},
      {"true|abs", "1"},
      {"false|abs", "0"},
      {"-9223372036854775807|abs", "9223372036854775807"},
  });
  expect_refused({
      "'-5'|abs",
      "none|abs",
      "[]|abs",
  });
}

// Of empty sequences, attributes and mixed numbers.
TEST(NumberFilters, SumMinMax) {
  expect_values({
      {"[]|sum", "0"},
      {"[1, 2, 3]|sum", "6"},
      {"[1, 2.5]|sum", "3.5"},
      {"[1, true]|sum", "2"},
      {"[1, 2]|sum(start=10)", "13"},
      {"[[1], [2]]|sum(start=[])", "[1, 2]"},
      {"(1, 2)|sum", "3"},
      {"people|sum('age')", "85"},
      {"people|sum(attribute='age', start=1)", "86"},
      {"d.values()|sum", "6"},
      // Added one by one from the left, without Python 3.12's correction.
      {"([0.1] * 3)|sum", "0.30000000000000004"},
      {"[]|min", ""},
      {"[]|max", ""},
      {"[3, 1, 2]|min", "1"},
      {"[3, 1, 2]|max", "3"},
      {"['b', 'A']|min", "A"},
      {"['b', 'A']|max", "b"},
      {"['b', 'A']|min(true)", "A"},
      // Equal but for case: the first wins, for both filters.
      {"['a', 'A']|max", "a"},
      {"['A', 'a']|min", "A"},
      {"[1, 2.0, 2]|max", "2.0"},
      {"[2, 2.0]|min", "2"},
      {"people|min(attribute='age')|attr('name')", ""},
      {"(people|max(attribute='age')).name", "Bo"},
      {"(people|min(attribute='age')).name", "al"},
      {"[none]|min", "None"},
      {"'hello'|max", "o"},
      {"d|max", "C"},
      {"[[1, 2], [1, 3]]|max", "[1, 3]"},
  });
  expect_refused({
      "['a']|sum",
      "['a']|sum(start='')",
      "people|sum('zip')",
      "d|sum",
      "[1, none]|sum",
      // The filter binds to 3.
      "[0.1] * 3|sum",
      "[1, 'a']|min",
      "[none, 1]|max",
      "5|min",
  });
}

}  // namespace
}  // namespace quern::test
