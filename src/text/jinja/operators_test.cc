// Every operator over every pair of types, precedence, and how numbers print.
#include <fmt/core.h>

#include <algorithm>

#include "support/render_cases.h"

namespace quern::test {
namespace {

// The pairs of one operator that have a value; all other pairs of the types are refused. The left
// text of '%' is a format and has its own tests.
void expect_pairs(std::string_view op, std::initializer_list<RenderCase> with_value) {
  expect_values(with_value);
  // Nine types, so 81 pairs for each operator.
  constexpr std::string_view kOperands[] = {"1",    "2.5",      "true", "'a'",    "[1]",
                                            "(1,)", "{'a': 1}", "none", "missing"};
  for (const std::string_view left : kOperands) {
    if (op == "%" && left == "'a'") continue;
    for (const std::string_view right : kOperands) {
      const std::string source = fmt::format("{} {} {}", left, op, right);
      const auto is_source = [&](const RenderCase& test) { return test.source == source; };
      if (std::none_of(with_value.begin(), with_value.end(), is_source)) expect_refused({source});
    }
  }
}

// Numbers of all three types with each other, and texts, lists and tuples with their own type.
TEST(Operators, AddOfEveryPairOfTypes) {
  expect_pairs("+", {
                        {"1 + 1", "2"},
                        {"1 + 2.5", "3.5"},
                        {"1 + true", "2"},
                        {"2.5 + 1", "3.5"},
                        {"2.5 + 2.5", "5.0"},
                        {"2.5 + true", "3.5"},
                        {"true + 1", "2"},
                        {"true + 2.5", "3.5"},
                        {"true + true", "2"},
                        {"'a' + 'a'", "aa"},
                        {"[1] + [1]", "[1, 1]"},
                        {"(1,) + (1,)", "(1, 1)"},
                    });
}

// Numbers only.
TEST(Operators, SubtractOfEveryPairOfTypes) {
  expect_pairs("-", {
                        {"1 - 1", "0"},
                        {"1 - 2.5", "-1.5"},
                        {"1 - true", "0"},
                        {"2.5 - 1", "1.5"},
                        {"2.5 - 2.5", "0.0"},
                        {"2.5 - true", "1.5"},
                        {"true - 1", "0"},
                        {"true - 2.5", "-1.5"},
                        {"true - true", "0"},
                    });
}

// A text or list times a number repeats it.
TEST(Operators, MultiplyOfEveryPairOfTypes) {
  expect_pairs("*", {
                        {"1 * 1", "1"},        {"1 * 2.5", "2.5"},    {"1 * true", "1"},
                        {"1 * 'a'", "a"},      {"1 * [1]", "[1]"},    {"1 * (1,)", "(1,)"},
                        {"2.5 * 1", "2.5"},    {"2.5 * 2.5", "6.25"}, {"2.5 * true", "2.5"},
                        {"true * 1", "1"},     {"true * 2.5", "2.5"}, {"true * true", "1"},
                        {"true * 'a'", "a"},   {"true * [1]", "[1]"}, {"true * (1,)", "(1,)"},
                        {"'a' * 1", "a"},      {"'a' * true", "a"},   {"[1] * 1", "[1]"},
                        {"[1] * true", "[1]"}, {"(1,) * 1", "(1,)"},  {"(1,) * true", "(1,)"},
                    });
}

// Always a float; 0 is an error.
TEST(Operators, DivideOfEveryPairOfTypes) {
  expect_pairs("/", {
                        {"1 / 1", "1.0"},
                        {"1 / 2.5", "0.4"},
                        {"1 / true", "1.0"},
                        {"2.5 / 1", "2.5"},
                        {"2.5 / 2.5", "1.0"},
                        {"2.5 / true", "2.5"},
                        {"true / 1", "1.0"},
                        {"true / 2.5", "0.4"},
                        {"true / true", "1.0"},
                    });
}

// Integers stay integers.
TEST(Operators, FloorDivideOfEveryPairOfTypes) {
  expect_pairs("//", {
                         {"1 // 1", "1"},
                         // One float makes the result a float, also where it is whole.
                         {"1 // 2.5", "0.0"},
                         {"1 // true", "1"},
                         {"2.5 // 1", "2.0"},
                         {"2.5 // 2.5", "1.0"},
                         {"2.5 // true", "2.0"},
                         {"true // 1", "1"},
                         {"true // 2.5", "0.0"},
                         {"true // true", "1"},
                     });
}

// On texts it formats.
TEST(Operators, ModuloOfEveryPairOfTypes) {
  expect_pairs("%", {
                        {"1 % 1", "0"},
                        {"1 % 2.5", "1.0"},
                        {"1 % true", "0"},
                        {"2.5 % 1", "0.5"},
                        {"2.5 % 2.5", "0.0"},
                        {"2.5 % true", "0.5"},
                        {"true % 1", "0"},
                        {"true % 2.5", "1.0"},
                        {"true % true", "0"},
                    });
}

// Booleans are integers here too.
TEST(Operators, PowerOfEveryPairOfTypes) {
  expect_pairs("**", {
                         {"1 ** 1", "1"},
                         {"1 ** 2.5", "1.0"},
                         {"1 ** true", "1"},
                         {"2.5 ** 1", "2.5"},
                         {"2.5 ** 2.5", "9.882117688026186"},
                         {"2.5 ** true", "2.5"},
                         {"true ** 1", "1"},
                         {"true ** 2.5", "1.0"},
                         {"true ** true", "1"},
                     });
}

// Types without an order between them are errors, but equality never is.
TEST(Operators, ComparisonsOfTypes) {
  expect_values({
      {"1 < 1", "False"},
      {"1 < 2.5", "True"},
      {"1 < true", "False"},
      {"2.5 < 2.5", "False"},
      {"2.5 < true", "False"},
      {"true < true", "False"},
      {"'a' < 'a'", "False"},
      {"[1] < [1]", "False"},
      {"(1,) < (1,)", "False"},
      {"1 >= 1", "True"},
      {"1 >= 2.5", "False"},
      {"1 >= true", "True"},
      {"2.5 >= 2.5", "True"},
      {"2.5 >= true", "True"},
      {"true >= true", "True"},
      {"'a' >= 'a'", "True"},
      {"[1] >= [1]", "True"},
      {"(1,) >= (1,)", "True"},
  });
  expect_refused({
      "1 < 'a'",
      "1 < [1]",
      "1 < (1,)",
      "1 < {'a': 1}",
      "1 < none",
      "2.5 < 'a'",
      "2.5 < [1]",
      "2.5 < (1,)",
      "2.5 < {'a': 1}",
      "2.5 < none",
      "true < 'a'",
      "true < [1]",
      "true < (1,)",
      "true < {'a': 1}",
      "true < none",
      "'a' < [1]",
      "'a' < (1,)",
      "'a' < {'a': 1}",
      "'a' < none",
      "[1] < (1,)",
      "[1] < {'a': 1}",
      "[1] < none",
      "(1,) < {'a': 1}",
      "(1,) < none",
      // Dicts are equal or not, and have no order, even with themselves; so is None.
      "{'a': 1} < {'a': 1}",
      "{'a': 1} < none",
      "none < none",
      "1 >= 'a'",
      "1 >= [1]",
      "1 >= (1,)",
      "1 >= {'a': 1}",
      "1 >= none",
      "2.5 >= 'a'",
      "2.5 >= [1]",
      "2.5 >= (1,)",
      "2.5 >= {'a': 1}",
      "2.5 >= none",
      "true >= 'a'",
      "true >= [1]",
      "true >= (1,)",
      "true >= {'a': 1}",
      "true >= none",
      "'a' >= [1]",
      "'a' >= (1,)",
      "'a' >= {'a': 1}",
      "'a' >= none",
      "[1] >= (1,)",
      "[1] >= {'a': 1}",
      "[1] >= none",
      "(1,) >= {'a': 1}",
      "(1,) >= none",
      "{'a': 1} >= {'a': 1}",
      "{'a': 1} >= none",
      "none >= none",
  });
}

// `kinds` holds none, true, false, 0, 1, -3, 2.5, "", "a", "A", "aB1", [], [1], {} and {"a": 1}: a
// row for each, with a digit for each as the other side.
// 1, 1.0 and true are equal; texts and numbers are not.
TEST(Operators, EqualityOfTypes) {
  expect_templates({
      {"{% for a in kinds %}{% for b in kinds %}{{ 1 if a == b else 0 }}{% endfor %} {% endfor %}",
       "100000000000000 010010000000000 001100000000000 001100000000000 010010000000000 "
       "000001000000000 000000100000000 000000010000000 000000001000000 000000000100000 "
       "000000000010000 000000000001000 000000000000100 000000000000010 000000000000001 "},
      {"{% for a in kinds %}{% for b in kinds %}{{ 1 if a != b else 0 }}{% endfor %} {% endfor %}",
       "011111111111111 101101111111111 110011111111111 110011111111111 101101111111111 "
       "111110111111111 111111011111111 111111101111111 111111110111111 111111111011111 "
       "111111111101111 111111111110111 111111111111011 111111111111101 111111111111110 "},
      {"{% for a in kinds %}{{ 1 if a else 0 }}{{ 1 if not a else 0 }} {% endfor %}",
       "01 10 01 01 10 10 10 01 10 10 10 01 10 01 10 "},
      {"{% for a in kinds %}{{ (a or 'x') ~ '|' ~ (a and 'y') }};{% endfor %}",
       "x|None;True|y;x|False;x|0;1|y;-3|y;2.5|y;x|;a|y;A|y;aB1|y;x|[];[1]|y;x|{};{'a': 1}|y;"},
  });
}

// The quotient rounds down and the remainder has the sign of the divisor.
TEST(Operators, IntegersDivideDown) {
  expect_values({
      {"7 // 2", "3"},
      {"7 // -2", "-4"},
      {"7 // 3", "2"},
      {"7 // -3", "-3"},
      {"7 // 7", "1"},
      {"-7 // 2", "-4"},
      {"-7 // -2", "3"},
      {"-7 // 3", "-3"},
      {"-7 // -3", "2"},
      {"-7 // 7", "-1"},
      {"0 // 2", "0"},
      {"0 // -2", "0"},
      {"0 // 3", "0"},
      {"0 // -3", "0"},
      {"0 // 7", "0"},
      {"7 % 2", "1"},
      {"7 % -2", "-1"},
      {"7 % 3", "1"},
      {"7 % -3", "-2"},
      {"7 % 7", "0"},
      {"-7 % 2", "1"},
      {"-7 % -2", "-1"},
      {"-7 % 3", "2"},
      {"-7 % -3", "-1"},
      {"-7 % 7", "0"},
      {"0 % 2", "0"},
      {"0 % -2", "0"},
      {"0 % 3", "0"},
      {"0 % -3", "0"},
      {"0 % 7", "0"},
      {"7 / 2", "3.5"},
      {"7 / -2", "-3.5"},
      {"7 / 3", "2.3333333333333335"},
      {"7 / -3", "-2.3333333333333335"},
      {"7 / 7", "1.0"},
      {"-7 / 2", "-3.5"},
      {"-7 / -2", "3.5"},
      {"-7 / 3", "-2.3333333333333335"},
      {"-7 / -3", "2.3333333333333335"},
      {"-7 / 7", "-1.0"},
      {"0 / 2", "0.0"},
      // Divided as floats, where zero has a sign.
      {"0 / -2", "-0.0"},
      {"0 / 3", "0.0"},
      {"0 / -3", "-0.0"},
      {"0 / 7", "0.0"},
  });
}

// The same for floats, with zeros, infinities and NaN.
TEST(Operators, FloatsDivideDown) {
  expect_values({
      {"7.5 // 2", "3.0"},
      {"7.5 // -2", "-4.0"},
      {"7.5 // 0.5", "15.0"},
      {"7.5 // -0.3", "-26.0"},
      {"7.5 // 1e300", "0.0"},
      {"-7.5 // 2", "-4.0"},
      {"-7.5 // -2", "3.0"},
      {"-7.5 // 0.5", "-15.0"},
      {"-7.5 // -0.3", "25.0"},
      // Far too small for a unit, but below zero: it rounds down to -1, and the remainder is all of
      // 1e300.
      {"-7.5 // 1e300", "-1.0"},
      {"0.0 // 2", "0.0"},
      {"0.0 // -2", "-0.0"},
      {"0.0 // 0.5", "0.0"},
      {"0.0 // -0.3", "-0.0"},
      {"0.0 // 1e300", "0.0"},
      {"1e20 // 2", "5e+19"},
      {"1e20 // -2", "-5e+19"},
      {"1e20 // 0.5", "2e+20"},
      {"1e20 // -0.3", "-3.333333333333334e+20"},
      {"1e20 // 1e300", "0.0"},
      {"7.5 % 2", "1.5"},
      {"7.5 % -2", "-0.5"},
      {"7.5 % 0.5", "0.0"},
      {"7.5 % -0.3", "-0.2999999999999997"},
      {"7.5 % 1e300", "7.5"},
      {"-7.5 % 2", "0.5"},
      {"-7.5 % -2", "-1.5"},
      {"-7.5 % 0.5", "0.0"},
      // What the float nearest to 0.3 leaves, with the sign of the divisor.
      {"-7.5 % -0.3", "-2.7755575615628914e-16"},
      {"-7.5 % 1e300", "1e+300"},
      {"0.0 % 2", "0.0"},
      {"0.0 % -2", "-0.0"},
      {"0.0 % 0.5", "0.0"},
      {"0.0 % -0.3", "-0.0"},
      {"0.0 % 1e300", "0.0"},
      {"1e20 % 2", "0.0"},
      {"1e20 % -2", "-0.0"},
      {"1e20 % 0.5", "0.0"},
      {"1e20 % -0.3", "-0.25658458281139496"},
      {"1e20 % 1e300", "1e+20"},
  });
}

// Negative exponents give floats, integers past 64 bits an error.
TEST(Operators, Powers) {
  expect_values({
      {"2 ** 0", "1"},
      {"2 ** 62", "4611686018427387904"},
      {"2 ** -1", "0.5"},
      {"0 ** 0", "1"},
      {"0 ** 5", "0"},
      {"(-1) ** 3", "-1"},
      {"(-1) ** 1000000", "1"},
      // The least integer, whose magnitude does not fit on the way.
      {"(-2) ** 63", "-9223372036854775808"},
      {"10 ** 18", "1000000000000000000"},
      {"2.0 ** 0.5", "1.4142135623730951"},

      {"2 ** 1.5", "2.8284271247461903"},
      {"(-2) ** 2", "4"},
      {"-2 ** 2", "4"},
      // From the left, and the sign before the power: Jinja's grammar is not Python's here.
      {"2 ** 3 ** 2", "64"},
      {"true ** 2", "1"},
      {"9 ** 0.5", "3.0"},
  });
  expect_refused({
      "0 ** -1",
      "0.0 ** -1",
      "1e200 ** 2",
  });
}

// Each pair of neighbours in the table of precedences, and filters above all.
TEST(Operators, Precedence) {
  expect_values({
      {"1 + 2 * 3 ** 2", "19"},
      {"(1 + 2) * 3", "9"},
      {"-2 ** 2", "4"},
      {"2 * -3", "-6"},
      {"not 1 == 2", "True"},
      {"not (1 == 2) and false", "False"},
      {"1 or 0 and 0", "1"},
      {"1 ~ 2 * 3", "16"},
      {"'a' ~ 1 + 2 ~ 'b'", "a12b"},
      // A chain: 1 < 2 and 2 == true.
      {"1 < 2 == true", "False"},
      {"1 < 2 < 3 < 4", "True"},
      {"3 > 2 > 1", "True"},
      {"1 == 1.0 == true", "True"},
      {"1 in [1] == true", "False"},
      {"not 1 in [2]", "True"},
      {"1 not in [2] and 2 in [2]", "True"},
      {"1 if 0 else 2 if 0 else 3", "3"},
      {"(1 if 1 else 2) + 1", "2"},
      {"1 + 1 if 1 else 2", "2"},
      {"'a' in 'abc' ~ 'd'", "True"},
      {"-1|abs", "1"},
      {"(-1)|abs", "1"},
      {"2|string * 2", "22"},
      {"'ab'|upper ~ 'c'", "ABc"},
      {"1 is number and 'a' is string", "True"},
      {"not 1 is string", "True"},
      {"1 is not string", "True"},
      {"2 ** 3|abs", "8"},
      {"1 - 2 - 3", "-4"},
      {"100 / 10 * 2", "20.0"},
      {"7 // 2 * 2", "6"},
      {"7 % 4 % 2", "1"},
      {"2 is even and 3 is odd", "True"},
      {"'x' ~ none ~ true ~ 1.0", "xNoneTrue1.0"},
      {"[1, 2] + [3] == [1, 2, 3]", "True"},
      {"+-+1", "-1"},
      {"- -1", "1"},
      {"not not 1", "True"},
  });
  expect_refused({
      // ~ binds tighter than + and less tight than *, so this is a text and 3, which have no sum.
      "1 ~ 2 + 3",
      "1 + 2 ~ 3",
  });
}

// Parts of texts, items of lists, keys of dicts.
TEST(Operators, Membership) {
  expect_values({
      {"1 in [1, 2]", "True"},       {"1.0 in [1]", "True"},
      {"true in [1]", "True"},       {"'1' in [1]", "False"},
      {"'a' in 'abc'", "True"},      {"'' in 'abc'", "True"},
      {"'abc' in 'ab'", "False"},    {"'a' in d", "True"},
      {"'z' in d", "False"},         {"1 in (1,)", "True"},
      {"3 in range(5)", "True"},     {"5 in range(5)", "False"},
      {"none in [none]", "True"},    {"[1] in [[1]]", "True"},
      // An undefined value is empty when it is searched.
      {"'日' in '日本'", "True"},    {"1 in missing", "False"},
      {"missing in [1]", "False"},   {"1 not in [1, 2]", "False"},
      {"1.0 not in [1]", "False"},   {"true not in [1]", "False"},
      {"'1' not in [1]", "True"},    {"'a' not in 'abc'", "False"},
      {"'' not in 'abc'", "False"},  {"'abc' not in 'ab'", "True"},
      {"'a' not in d", "False"},     {"'z' not in d", "True"},
      {"1 not in (1,)", "False"},    {"3 not in range(5)", "False"},
      {"5 not in range(5)", "True"}, {"none not in [none]", "False"},
      {"[1] not in [[1]]", "False"}, {"'日' not in '日本'", "False"},
      {"1 not in missing", "True"},  {"missing not in [1]", "True"},
  });
  expect_refused({
      "1 in '1'",
      "1 in 5",
      "none in 'a'",
      "[1] in d",
      "1 not in '1'",
      "1 not in 5",
      "none not in 'a'",
      "[1] not in d",
  });
}

// The shortest digits that read back, and where exponents begin.
TEST(Operators, NumbersPrintAsPythonPrintsThem) {
  expect_values({
      {"1.0", "1.0"},
      {"100.0", "100.0"},
      {"1e15", "1000000000000000.0"},
      {"1e16", "1e+16"},
      {"123456789012345.0", "123456789012345.0"},
      {"1234567890123456.0", "1234567890123456.0"},
      {"12345678901234567.0", "1.2345678901234568e+16"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"1.5e-5", "1.5e-05"},
      {"1/3", "0.3333333333333333"},
      {"2/3", "0.6666666666666666"},
      {"1e22", "1e+22"},
      {"1e23", "1e+23"},
      {"5e-324", "5e-324"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"0.1 + 0.2", "0.30000000000000004"},
      {"1e308 * 10", "inf"},
      {"-1e308 * 10", "-inf"},
      {"(1e308 * 10) - (1e308 * 10)", "nan"},
      {"3.14159", "3.14159"},
      {"2.50", "2.5"},
      {"1e0", "1.0"},
      {"-0.0", "-0.0"},
      {"0 * -1.0", "-0.0"},
      {"100 / 3", "33.333333333333336"},
      {"7 / 7", "1.0"},
      {"2 ** 0.5", "1.4142135623730951"},
      {"10 ** -3", "0.001"},
      {"1e3", "1000.0"},
      {"123e-2", "1.23"},
  });
}

// Python has no limit; here passing it is an error, never a wrong number.
TEST(Operators, SixtyFourBitsAreTheLimit) {
  expect_values({
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775806 + 1", "9223372036854775807"},
      {"-9223372036854775807 - 1", "-9223372036854775808"},
      {"4611686018427387904 + 4611686018427387903", "9223372036854775807"},
      // The largest square that fits.
      {"3037000499 * 3037000499", "9223372030926249001"},
      {"-9223372036854775807 // 1", "-9223372036854775807"},
      {"9223372036854775807 % 10", "7"},
      {"9223372036854775807 // -1", "-9223372036854775807"},
      {"9223372036854775807 / 1", "9.223372036854776e+18"},
      {"9223372036854775807 * 1.0", "9.223372036854776e+18"},
      {"9223372036854775807 == 9223372036854775807.0", "False"},
      // 2^53 + 1, which would become 2^53 as a float: integers and floats are compared exactly.
      {"9007199254740993 == 9007199254740992.0", "False"},
      {"9007199254740993 > 9007199254740992.0", "True"},
      {"9223372036854775807 < 1e19", "True"},
  });
}

}  // namespace
}  // namespace quern::test
