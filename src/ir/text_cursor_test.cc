// Tokens of one line, and where the cursor says that it stopped.
#include "ir/text_cursor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quern {
namespace {

// The error of `read` on a text, "" if there is none.
template <class F>
std::string error_of(std::string_view text, F&& read) {
  TextCursor cursor(text, 7);
  const auto result = read(cursor);
  return result ? "" : result.error().message;
}
std::string value_text(std::string_view text) {
  TextCursor cursor(text, 1);
  const auto value = cursor.attribute_value();
  return value ? attribute_to_string(*value) : "error: " + value.error().message;
}

// And a failed accept moves nothing.
TEST(TextCursor, TokensMayStandBehindBlanks) {
  TextCursor cursor("  \t ab(c)", 1);
  EXPECT_FALSE(cursor.accept("b"));
  EXPECT_TRUE(cursor.accept("ab"));
  EXPECT_FALSE(cursor.accept("()"));
  EXPECT_TRUE(cursor.accept("("));
  EXPECT_EQ(*cursor.name(), "c");
  EXPECT_TRUE(cursor.expect(")"));
  EXPECT_TRUE(cursor.is_end());
  EXPECT_FALSE(cursor.accept(")"));
  EXPECT_TRUE(cursor.accept(""));  // nothing stands everywhere
}

// A word is not the beginning of a longer one.
TEST(TextCursor, WordsAreTakenWhole) {
  EXPECT_TRUE(TextCursor("  state", 1).accept_word("state"));
  EXPECT_TRUE(TextCursor("state\t@kv", 1).accept_word("state"));
  EXPECT_TRUE(TextCursor("state@kv", 1).accept_word("state"));
  EXPECT_FALSE(TextCursor("states", 1).accept_word("state"));
  EXPECT_FALSE(TextCursor("state:", 1).accept_word("state"));
  EXPECT_FALSE(TextCursor("stat", 1).accept_word("state"));
  EXPECT_FALSE(TextCursor("", 1).accept_word("state"));
  TextCursor cursor("outputs = %x", 1);
  EXPECT_FALSE(cursor.accept_word("output"));
  EXPECT_EQ(*cursor.name(), "outputs");  // nothing was moved
}

// Between tokens only.
TEST(TextCursor, ACommentEndsALine) {
  EXPECT_TRUE(TextCursor("", 1).is_end());
  EXPECT_TRUE(TextCursor("   \t", 1).is_end());
  EXPECT_TRUE(TextCursor("# all of it", 1).is_end());
  EXPECT_TRUE(TextCursor("   # blanks before", 1).is_end());
  EXPECT_FALSE(TextCursor("x # behind", 1).is_end());
}

// UTF-8 is none of ours.
TEST(TextCursor, NamesEndAtTheFirstOtherCharacter) {
  struct {
    const char* text;
    const char* name;
  } rows[] = {{"abc", "abc"},    {"a.b:c-d/e_f0", "a.b:c-d/e_f0"},
              {"a b", "a"},      {"x=1", "x"},
              {"x(y)", "x"},     {"0x1F,", "0x1F"},
              {"-1", "-1"},      {"model/Conv:0%", "model/Conv:0"},
              {"\xc3\xa9t", ""}, {"", ""},
              {"%a", ""},        {"\"a\"", ""}};
  for (const auto& row : rows) {
    TextCursor cursor(row.text, 1);
    const auto name = cursor.name();
    EXPECT_EQ(name ? *name : "", row.name) << row.text;
  }
}

// Columns behind the blanks.
TEST(TextCursor, ErrorsNameLineAndColumn) {
  EXPECT_EQ(error_of("", [](TextCursor& c) { return c.name(); }),
            "Line 7, column 1: a name is expected here.");
  EXPECT_EQ(error_of("   )", [](TextCursor& c) { return c.name(); }),
            "Line 7, column 4: a name is expected here.");
  EXPECT_EQ(error_of(" a", [](TextCursor& c) { return c.expect("="); }),
            "Line 7, column 2: '=' is expected here.");
  EXPECT_EQ(error_of("f32", [](TextCursor& c) { return c.type_text(); }),
            "Line 7, column 1: a type such as f32[T, 64] is expected here.");
}

// Every form, and each near miss.
TEST(TextCursor, ValuesHaveTheirKinds) {
  struct {
    const char* text;
    const char* value;
  } rows[] = {
      {"true", "true"},
      {" false", "false"},
      {"0", "0"},
      // An integer has one zero; "-0.0" is the double.
      {"-0", "0"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9.223372036854776e+18"},  // too large for an integer
      {"1.0", "1.0"},
      {"-0.0", "-0.0"},
      {"1e3", "1000.0"},
      {"5e-324", "5e-324"},
      {"inf", "inf"},
      {"-inf", "-inf"},
      {"nan", "nan"},
      {"[]", "[]"},
      {"[ 1 , -2 ]", "[1, -2]"},
      {"f[]", "f[]"},
      {"f[1, 2.5]", "f[1.0, 2.5]"},
      {"f[ nan,-inf ]", "f[nan, -inf]"},
      {"\"\"", "\"\""},
      {"\"a b # c\"", "\"a b # c\""},  // no comment inside a text
      {R"("quote \" slash \\ break \n")", R"("quote \" slash \\ break \n")"},
      {R"("\a")", "\"a\""},  // other letters stand for themselves
      {"+1", "error: Line 1, column 3: '+1' is not a value."},
      {"0x10", "error: Line 1, column 5: '0x10' is not a value."},
      {"1.2.3", "error: Line 1, column 6: '1.2.3' is not a value."},
      {"abc", "error: Line 1, column 4: 'abc' is not a value."},
      {"", "error: Line 1, column 1: '' is not a value."},
      {"\"a", "error: Line 1, column 3: the text has no closing quote."},
      // A backslash as the last byte: its partner lies behind the end of the line.
      {"\"a\\", "error: Line 1, column 4: the text has no closing quote."},
      {"[1", "error: Line 1, column 3: ',' is expected here."},
      {"[1 2]", "error: Line 1, column 4: ',' is expected here."},
      {"[1, 2.5]", "error: Line 1, column 8: the list mixes kinds of numbers."},
      {"[true]", "error: Line 1, column 6: 'true' is not a value."},
      {"f[,]", "error: Line 1, column 3: '' is not a value."},
  };
  for (const auto& row : rows) EXPECT_EQ(value_text(row.text), row.value) << row.text;
}

// No trailing comma, no name twice.
TEST(TextCursor, AttributesAreAListOrNothing) {
  const auto attributes = [](std::string_view text) {
    TextCursor cursor(text, 1);
    const auto read = cursor.attributes();
    if (!read) return "error: " + read.error().message;
    std::string all;
    for (const auto& [name, value] : *read) all += name + "=" + attribute_to_string(value) + ";";
    return all + (cursor.is_end() ? "" : "...");
  };
  EXPECT_EQ(attributes(""), "");
  EXPECT_EQ(attributes("{}"), "");
  EXPECT_EQ(attributes("{ }"), "");
  EXPECT_EQ(attributes("@cpu"), "...");
  EXPECT_EQ(attributes("{b = 2, a = [1]} : f32[2]"), "a=[1];b=2;...");
  EXPECT_EQ(attributes("{a = 1,}"), "error: Line 1, column 8: a name is expected here.");
  EXPECT_EQ(attributes("{a : 1}"), "error: Line 1, column 4: '=' is expected here.");
  EXPECT_EQ(attributes("{a = 1"), "error: Line 1, column 7: ',' is expected here.");
  EXPECT_EQ(attributes("{a = 1, a = 2}"),
            "error: Line 1, column 10: the attribute 'a' stands here twice.");
}

// Several on one line.
TEST(TextCursor, TypesEndAtTheirBracketOrLayout) {
  TextCursor cursor("  f32[T, 64]@private, q4_0[2, 32] : i8[]", 1);
  EXPECT_EQ(*cursor.type_text(), "f32[T, 64]@private");
  EXPECT_TRUE(cursor.accept(","));
  EXPECT_EQ(*cursor.type_text(), "q4_0[2, 32]");
  EXPECT_TRUE(cursor.accept(":"));
  EXPECT_EQ(*cursor.type_text(), "i8[]");
  EXPECT_TRUE(cursor.is_end());
}

}  // namespace
}  // namespace quern
