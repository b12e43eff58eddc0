#include "text/regex.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// The first match, in brackets; "" when there is none.
std::string first(std::string_view pattern, std::string_view subject) {
  const auto regex = Regex::compile(pattern);
  if (!regex) return "error: " + regex.error().message;
  const auto match = RegexMatcher(*regex).find(subject, 0);
  if (!match) return "error: " + match.error().message;
  return match->found
             ? "[" + std::string(subject.substr(match->begin, match->end - match->begin)) + "]"
             : "";
}

TEST(Regex, KnowsUnicodeProperties) {
  EXPECT_EQ(first("\\p{L}+", "12 Führer"), "[Führer]");
  EXPECT_EQ(first("\\p{N}", "a٣"), "[٣]");
  EXPECT_EQ(first("\\p{Han}+", "ab漢字"), "[漢字]");
}

// The published patterns are for the Rust library's engine, whose \s is White_Space. PCRE2's own \s
// takes U+180E, too, so the class is written out before compiling, also where it is negated.
TEST(Regex, WhiteSpaceIsTheUnicodeProperty) {
  EXPECT_EQ(first("\\s", "a\u00A0"), "[\u00A0]");
  EXPECT_EQ(first("\\s", "a\u0085"), "[\u0085]");
  EXPECT_EQ(first("\\s", "a\u3000"), "[\u3000]");
  EXPECT_EQ(first("\\s", "a\u180E\u200B"), "");  // neither is white space
  EXPECT_EQ(first("[^\\s]", "\u3000\u180E"), "[\u180E]");
  EXPECT_EQ(first("\\S+", " \t\n x"), "[x]");
  EXPECT_EQ(first("\\\\s", " \\s"), "[\\s]");  // an escaped backslash, then a letter
}

// In Perl it would also match before a final line feed.
TEST(Regex, DollarIsTheEndOfTheText) {
  EXPECT_EQ(first("a$", "a\n"), "");
  EXPECT_EQ(first("a$", "ba"), "[a]");
}

// A split that stopped at an empty match would not move on; the search goes on behind it.
TEST(Regex, EmptyMatchesDoNotCount) {
  EXPECT_EQ(first("a*", "bb"), "");
  EXPECT_EQ(first("a*", "bba"), "[a]");
  EXPECT_EQ(first("(?=b)", "ab"), "");
}

TEST(Regex, ABrokenPatternIsAnError) {
  const auto regex = Regex::compile("a(b");
  ASSERT_FALSE(regex);
  EXPECT_EQ(regex.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(regex.error().message,
            "Pattern 'a(b' does not compile: missing closing parenthesis at offset 3.");
}

// The ways to write 200 letters as ones and twos are a Fibonacci number of 42 digits, and the b at
// the end refuses them all. The error names the pattern and the limit.
TEST(Regex, ExponentialSearchEndsWithAnError) {
  const auto regex = Regex::compile("(a|aa)+$", {.match_steps = 100'000});
  ASSERT_TRUE(regex);
  const std::string subject = std::string(200, 'a') + "b";
  const auto match = RegexMatcher(*regex).find(subject, 0);
  ASSERT_FALSE(match);
  EXPECT_EQ(match.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(match.error().message.find("(a|aa)+$"), std::string::npos) << match.error().message;
  EXPECT_NE(match.error().message.find("100000 steps"), std::string::npos);
}

// Each turn of the loop saves its groups on the stack, so 100,000 letters need more than the small
// stack of a first search and than 100 KiB, and less than the default limit.
TEST(Regex, DeepSearchGetsALargerStackUpToTheLimit) {
  const std::string subject(100'000, 'a');
  const auto regex = Regex::compile("(?:(a)|(b))*c");
  ASSERT_TRUE(regex);
  RegexMatcher matcher(*regex);
  const auto match = matcher.find(subject + "c", 0);
  ASSERT_TRUE(match) << match.error().message;
  EXPECT_EQ(match->end, subject.size() + 1);
  const auto small =
      Regex::compile("(?:(a)|(b))*c", {.jit_stack_bytes = 100 << 10, .heap_kib = 100});
  ASSERT_TRUE(small);
  const auto refused = RegexMatcher(*small).find(subject + "c", 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace quern
