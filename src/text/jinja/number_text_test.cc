// Numbers to text and back.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "text/jinja/number_parse.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

// repr() uses an exponent below 1e-4 and from 1e16 on, with two digits at least.
TEST(FloatText, ChangesToExponentsWherePythonDoes) {
  EXPECT_EQ(float_text(0.0001), "0.0001");
  EXPECT_EQ(float_text(0.00001), "1e-05");
  EXPECT_EQ(float_text(1e15), "1000000000000000.0");
  EXPECT_EQ(float_text(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(float_text(1e16), "1e+16");
  EXPECT_EQ(float_text(1.5e300), "1.5e+300");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(-123.25), "-123.25");
  EXPECT_EQ(float_text(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(float_text(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(float_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(float_text(std::numeric_limits<double>::quiet_NaN()), "nan");
}

// Random bits are floats of all magnitudes, infinities and denormal numbers among them.
TEST(FloatText, ReadsBackAsTheSameBits) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (std::isnan(number)) continue;
    const auto read = parse_float(float_text(number));
    ASSERT_TRUE(read);
    ASSERT_EQ(std::bit_cast<uint64_t>(*read), std::bit_cast<uint64_t>(number))
        << float_text(number);
  }
}

// Spaces around, signs, leading zeros in base 10, underscores between digits, and both ends of 64
// bits, whose negative one has no positive counterpart.
TEST(ParseInteger, TakesWhatPythonTakes) {
  EXPECT_EQ(parse_integer(" -12\n", 10), -12);
  EXPECT_EQ(parse_integer("+0", 10), 0);
  EXPECT_EQ(parse_integer("007", 10), 7);
  EXPECT_EQ(parse_integer("1_2_3", 10), 123);
  EXPECT_EQ(parse_integer("0xFf", 16), 255);
  EXPECT_EQ(parse_integer("0b11", 0), 3);
  EXPECT_EQ(parse_integer("0o17", 8), 15);
  EXPECT_EQ(parse_integer("z", 36), 35);
  EXPECT_EQ(parse_integer("9223372036854775807", 10), INT64_MAX);
  EXPECT_EQ(parse_integer("-9223372036854775808", 10), INT64_MIN);
}

TEST(ParseInteger, RefusesWhatPythonRefuses) {
  for (const char* text : {"", " ", "-", "+-1", "--1", "1_", "_1", "1__2", "1.0", "1e3", "0x",
                           "0xg", "12a", "9223372036854775808", "1 2"}) {
    EXPECT_FALSE(parse_integer(text, 10)) << text;
  }
  // Digits must be below the base, and a base lies from 2 to 36.
  EXPECT_FALSE(parse_integer("2", 2));
  EXPECT_FALSE(parse_integer("1", 1));
  EXPECT_FALSE(parse_integer("1", 37));
}

TEST(ParseFloat, TakesAndRefuses) {
  EXPECT_EQ(parse_float(" 1.5e3 "), 1500);
  EXPECT_EQ(parse_float("-.5"), -0.5);
  EXPECT_EQ(parse_float("5."), 5);
  EXPECT_EQ(parse_float("+1_0.2_5"), 10.25);
  EXPECT_EQ(parse_float("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_float("-Infinity"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_float("1e-999"), 0);
  EXPECT_TRUE(std::isnan(*parse_float("NaN")));
  for (const char* text : {"", ".", "1e", "--1", "1.5x", "0x1", "1 2", "1_.5", "infinit"}) {
    EXPECT_FALSE(parse_float(text)) << text;
  }
}

// Too small is 0 and too large infinity, however the number is written: with E as with e, with
// zeros instead of an exponent, and with an exponent past 64 bits. Values of Python's float().
TEST(ParseFloat, OutOfRangeIsZeroOrInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string zeros(330, '0');
  const std::pair<std::string, double> rows[] = {
      {"1e-400", 0},
      {"1E-400", 0},
      {"1e400", infinity},
      {"1E+400", infinity},
      {"0." + zeros + "1", 0},
      {"." + zeros + "1", 0},
      {"1" + zeros, infinity},
      {"1" + zeros + ".5", infinity},
      {"1" + zeros + "e-330", 1},
      {"0." + zeros + "1e400", 1e69},
      {"00" + zeros + "1e-400", 0},
      {"1" + zeros + "e-800", 0},
      {"0." + zeros + "1e800", infinity},
      {"100e-99999999999999999999999", 0},
      {"100E99999999999999999999999", infinity},
      {"0e99999999999999999999", 0},
      {"0." + zeros + "0E-99999999999999999999", 0},
      {"5e-324", 5e-324},
      {"2e-324", 0},
      {"1.8e308", infinity},
  };
  for (const auto& [text, value] : rows) {
    EXPECT_EQ(parse_float(text), value) << text;
    EXPECT_EQ(parse_float("-" + text), -value) << text;
  }
  EXPECT_TRUE(std::signbit(*parse_float("-1E-400")));
  // Names that C knows and Python does not.
  EXPECT_EQ(parse_float("nan(1)"), std::nullopt);
  EXPECT_EQ(parse_float("infinity1"), std::nullopt);
}

// -2^63 fits, 2^63 does not; a cast of what does not fit would be undefined.
TEST(TruncateToInteger, KnowsTheRangeOfIntegers) {
  EXPECT_EQ(truncate_to_integer(-2.9), -2);
  EXPECT_EQ(truncate_to_integer(-0x1p63), INT64_MIN);
  EXPECT_FALSE(truncate_to_integer(0x1p63));
  EXPECT_FALSE(truncate_to_integer(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace
}  // namespace quern::jinja
