// GBNF grammars with texts that match and texts that do not, and every error with its place.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/grammar/gbnf_parser.h"
#include "text/grammar/grammar.h"
#include "text/grammar/grammar_automaton.h"

namespace quern {
namespace {

// A grammar with texts that it takes and texts that it does not.
struct GrammarCase {
  std::string gbnf;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

// Parses each grammar and runs the texts through it.
void expect_grammars(const std::vector<GrammarCase>& cases) {
  for (const GrammarCase& test : cases) {
    const auto grammar = Grammar::parse(test.gbnf);
    ASSERT_TRUE(grammar) << test.gbnf << "\n  " << grammar.error().message;
    for (const std::string& text : test.good) {
      EXPECT_TRUE(*grammar->matches(text)) << test.gbnf << "\n  '" << text << "'";
    }
    for (const std::string& text : test.bad) {
      EXPECT_FALSE(*grammar->matches(text)) << test.gbnf << "\n  '" << text << "'";
    }
  }
}

// Each grammar with texts that it must take and texts that it must not.
TEST(GbnfTable, LiteralsAndEscapes) {
  expect_grammars({
      {R"(root ::= "abc")", {"abc"}, {"", "ab", "abcd", "ABC"}},
      {R"(root ::= "")", {""}, {" ", "a"}},
      {R"(root ::= "a" "b"   "c")", {"abc"}, {"a b c", "ab"}},
      {R"(root ::= "\n\t\r\\\"")", {"\n\t\r\\\""}, {"n", "\\n"}},
      {R"(root ::= "\x41\x7a")", {"Az"}, {"41", "\\x41"}},
      {R"(root ::= "\u00e9\u65e5")", {"é日"}, {"é", "e"}},
      // The text that does not match is the character without its last byte.
      {R"(root ::= "\U0001F642")", {"🙂"}, {"\xF0\x9F\x99"}},
      {R"(root ::= "日本" "é")", {"日本é"}, {"日本", "日本e"}},
      {R"(root ::= "\[\]\-\^\/")", {"[]-^/"}, {"\\[\\]"}},
      {R"(root ::= "#" "x" # the rest)", {"#x"}, {"", "#"}},
  });
}

// Ranges, negation and escapes inside of brackets; '.' is any character.
TEST(GbnfTable, Classes) {
  expect_grammars({
      {"root ::= [abc]", {"a", "b", "c"}, {"", "d", "ab", "A"}},
      {"root ::= [a-c]", {"a", "b", "c"}, {"d", "`", "-"}},
      {"root ::= [^a-c]", {"d", "-", "é", "🙂", "\n"}, {"a", "b", "", "dd"}},
      {"root ::= [a-cx-z0]", {"a", "z", "0"}, {"d", "w", "1"}},
      // A hyphen at either end, or escaped, is itself and makes no range.
      {"root ::= [-a]", {"-", "a"}, {"b"}},
      {"root ::= [a-]", {"-", "a"}, {"b"}},
      {R"(root ::= [\-\]\\])", {"-", "]", "\\"}, {"["}},
      {R"(root ::= [\x30-\x39])", {"0", "9"}, {"/", ":"}},
      {R"(root ::= [\u0400-\u04FF])", {"ж", "Я"}, {"a", "é"}},
      // U+65E5 to U+672C with U+6728 inside: a range of code points, whose bytes differ in two
      // places.
      {"root ::= [日-本]", {"日", "木", "本"}, {"語", "a"}},
      {R"(root ::= [^\n])", {"a", "\r", "日"}, {"\n", ""}},
      {"root ::= [\"']", {"\"", "'"}, {"`"}},
      {"root ::= [ ]", {" "}, {"", "\t"}},
      {"root ::= [#]", {"#"}, {""}},
      {"root ::= .", {"a", "日", "\n", "🙂"}, {"", "ab", "\xFF", "\xE6\x97"}},
      {R"(root ::= [\U00010000-\U0010FFFF])", {"🙂", "\U0010FFFF"}, {"a", "日"}},
  });
}

// Bounds are inclusive; {0} is nothing at all.
TEST(GbnfTable, Repetitions) {
  expect_grammars({
      {R"(root ::= "a"*)", {"", "a", "aaaa"}, {"b", "ab"}},
      {R"(root ::= "a"+)", {"a", "aaaa"}, {"", "b"}},
      {R"(root ::= "a"?)", {"", "a"}, {"aa"}},
      // The star repeats the whole text in quotes, not its last letter.
      {R"(root ::= "ab"*)", {"", "ab", "abab"}, {"a", "aba", "abb"}},
      {R"(root ::= "a"{3})", {"aaa"}, {"aa", "aaaa", ""}},
      {R"(root ::= "a"{2,})", {"aa", "aaaaa"}, {"", "a"}},
      {R"(root ::= "a"{1,3})", {"a", "aa", "aaa"}, {"", "aaaa"}},
      {R"(root ::= "a"{0,2})", {"", "a", "aa"}, {"aaa"}},
      {R"(root ::= "a"{ 1 , 2 })", {"a", "aa"}, {"", "aaa"}},
      // A bound of zero must not be taken for "no upper bound".
      {R"(root ::= "a"{0,0} "b")", {"b"}, {"ab", ""}},
      {R"(root ::= ("a" "b"?)+)", {"a", "ab", "aab", "aba"}, {"", "b", "abb"}},
      {R"(root ::= ("a" | "bc"){2})", {"aa", "abc", "bca", "bcbc"}, {"a", "abcb", "aaa"}},
      {R"(root ::= [0-9]{1,3} ("." [0-9]{1,3}){3})",
       {"1.2.3.4", "255.255.255.255"},
       {"1.2.3", "1.2.3.4.5", "1234.1.1.1", "1..2.3"}},
      // A part that may be empty still counts towards the bound.
      {R"(root ::= ("a"?){3})", {"", "a", "aa", "aaa"}, {"aaaa"}},
      // Two signs, one applied to the other; there is no lazy matching in a grammar.
      {R"(root ::= "a"?? "b")", {"b", "ab"}, {"aab"}},
      {R"(root ::= "a"{1000})", {std::string(1000, 'a')}, {std::string(999, 'a')}},
  });
}

// An empty alternative matches the empty text; rules go on over lines in brackets or behind a '|'.
TEST(GbnfTable, AlternatesAndGroups) {
  expect_grammars({
      {R"(root ::= "a" | "b" | "c")", {"a", "b", "c"}, {"", "ab"}},
      {R"(root ::= "a" | )", {"a", ""}, {"b"}},
      {R"(root ::= | "a")", {"a", ""}, {"b"}},
      {R"(root ::= "a" "b" | "c" "d")", {"ab", "cd"}, {"ad", "abcd", "acd"}},
      {R"(root ::= "a" ("b" | "c") "d")", {"abd", "acd"}, {"ad", "abcd"}},
      {R"(root ::= ((("a"))))", {"a"}, {"(a)"}},
      {R"(root ::= ("a" |) "b")", {"ab", "b"}, {"a"}},
      {"root ::= (\n  \"a\"\n  \"b\"\n)", {"ab"}, {"a\nb"}},
      // A line that begins with a bar goes on with the rule, even after an empty line.
      {"root ::= \"a\"\n  | \"b\"\n\n  | \"c\"", {"a", "b", "c"}, {"ab"}},
      {"root ::= \"a\" |\n  \"b\"", {"a", "b"}, {"ab"}},
      {"root ::=\n  \"a\"", {"a"}, {""}},
      {"root ::= \"a\" # one\n# two\nx ::= \"b\"", {"a"}, {"b"}},
      {"root ::= (\"a\" # inside\n \"b\")", {"ab"}, {"a"}},
      // Line breaks of Windows, and none of them becomes part of the text.
      {"\n\n  root ::= \"a\"\r\n\r\n", {"a"}, {"a\n"}},
  });
}

// Rules may be used before they are defined, and may meet each other.
TEST(GbnfTable, RulesAndRecursion) {
  expect_grammars({
      {"root ::= a b\na ::= \"x\"\nb ::= \"y\"", {"xy"}, {"x", "yx"}},
      {"a-b_1 ::= \"x\"\nroot ::= a-b_1 a-b_1", {"xx"}, {"x"}},
      // From here on, languages that no regular expression describes.
      {"root ::= \"(\" root \")\" | \"\"", {"", "()", "((()))"}, {"(", ")", "()()", "(()"}},
      {"root ::= \"a\" root \"b\" | \"c\"", {"c", "acb", "aacbb"}, {"", "ac", "aacb"}},
      {"root ::= \"a\" root | \"b\"", {"b", "ab", "aaaab"}, {"a", "ba"}},
      {"root ::= s*\ns ::= \"[\" s* \"]\"", {"", "[]", "[][]", "[[][]]"}, {"[", "]["}},
      {"root ::= p | q\np ::= \"a\" q \"a\" | \"x\"\nq ::= \"b\" p \"b\" | \"y\"",
       {"x", "y", "aya", "bxb", "abxba"},
       {"axa", "byb", "ab"}},
      // The usual grammar of sums and products: priorities by rules, with left recursion turned
      // into repetition, and the recursion through the brackets three rules long.
      {R"x(root ::= e
e ::= t ("+" t)*
t ::= f ("*" f)*
f ::= [0-9]+ | "(" e ")")x",
       {"1", "1+2*3", "(1+2)*3", "((7))"},
       {"", "1+", "*1", "(1", "1 + 2"}},
      {R"x(root ::= "\"" ([^"\\] | "\\" ["\\/bfnrt])* "\"")x",
       {R"("")", R"("a\"b\\")", R"("\n")"},
       {"\"", R"("\x")", R"("a"b")"}},
  });
}

// Columns count characters from 1. Where something is missing, the place is where it was expected;
// where something is never closed, the place is where it was opened.
// What a user sees who mistypes a grammar.
TEST(GbnfTable, ErrorsHaveLineAndColumn) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"root", "'::=' is expected after the rule name 'root' (line 1, column 5 of the grammar)."},
      {"root :: \"a\"",
       "'::=' is expected after the rule name 'root' (line 1, column 6 of the grammar)."},
      {"::= \"a\"", "A rule name is expected (line 1, column 1 of the grammar)."},
      {"root ::= \"a\" )",
       "The character ')' does not fit here (line 1, column 14 of the grammar)."},
      {"root ::= ]", "The character ']' does not fit here (line 1, column 10 of the grammar)."},
      {"root ::= é", "The character 'é' does not fit here (line 1, column 10 of the grammar)."},
      {"root ::= \xFF",
       "The character '\uFFFD' does not fit here (line 1, column 10 of the grammar)."},
      {"root ::= \"\xFF\"", "The text is not UTF-8 (line 1, column 11 of the grammar)."},
      {"root ::= [\xC3]", "The text is not UTF-8 (line 1, column 11 of the grammar)."},
      {"root ::= [a", "The character class is not closed (line 1, column 10 of the grammar)."},
      // Everything but everything.
      {R"(root ::= [^\x00-\U0010FFFF])",
       "The character class is empty (line 1, column 10 of the grammar)."},
      {R"(root ::= "\x4")",
       "The escape needs 2 hexadecimal digits (line 1, column 11 of the grammar)."},
      {R"(root ::= "\u12g4")",
       "The escape needs 4 hexadecimal digits (line 1, column 11 of the grammar)."},
      {R"(root ::= "\U00110000")",
       "The escape is no Unicode character (line 1, column 11 of the grammar)."},
      {"root ::= \"\\", "The escape is not known (line 1, column 11 of the grammar)."},
      {R"(root ::= "a"{)", "A number is expected (line 1, column 14 of the grammar)."},
      {R"(root ::= "a"{,2})", "A number is expected (line 1, column 14 of the grammar)."},
      {R"(root ::= "a"{-1})", "A number is expected (line 1, column 14 of the grammar)."},
      {R"(root ::= "a"{1)",
       "The repetition is not of the form {m}, {m,}, {m,n} (line 1, column 13 of the grammar)."},
      {R"(root ::= "a"{1;2})",
       "The repetition is not of the form {m}, {m,}, {m,n} (line 1, column 13 of the grammar)."},
      {R"(root ::= "a"{100001})",
       "The repetition is over the limit of 100000 (line 1, column 14 of the grammar)."},
      {"root ::= \"a\"\n\nb ::= (\"x\"\n\n",
       "The group is not closed (line 3, column 7 of the grammar)."},
      {"root ::= a\na ::= b\n# c\n",
       "The rule 'b' is not defined (line 2, column 7 of the grammar)."},
      {"Root ::= \"a\"", "The grammar has no rule 'root'."},
      {"# only a comment", "The grammar has no rule 'root'."},
      {"root ::= root", "The rule 'root' of the grammar matches no finite text."},
      {"root ::= root \"a\" | \"b\"", "The grammar is left-recursive: root -> root."},
      // The rule comes first after something that may be empty, so no character need be read before
      // it.
      {"root ::= \"x\"? root \"a\" | \"b\"", "The grammar is left-recursive: root -> root."},
      {"root ::= a | \"x\"\na ::= (\"\" | \"y\") root",
       "The grammar is left-recursive: root -> a -> root."},
      // Recursion that reads characters is allowed, but here it never ends.
      {"root ::= a\na ::= \"x\" b\nb ::= \"y\" a",
       "The rule 'root' of the grammar matches no finite text."},
  };
  for (const auto& [gbnf, message] : cases) {
    const auto grammar = Grammar::parse(gbnf);
    ASSERT_FALSE(grammar) << gbnf;
    EXPECT_EQ(grammar.error().message, message) << gbnf;
    EXPECT_EQ(grammar.error().code, ErrorCode::kInvalidArgument) << gbnf;
  }
}

// Run under sanitizers this finds reads past the end: at each place the source is cut, and each
// place holds each of nine characters once, those that open something and a zero byte among them.
// Whatever is cut off or changed, parsing ends with a grammar or with an error that has a place.
TEST(GbnfTable, DamagedGrammarsAreHandled) {
  const std::string source =
      "root ::= (a | \"\\u00e9\"{1,3})* [^a-z\\n]? # end\na ::= \"x\" . (\"y\" | root2)+\n"
      "root2 ::= [0-9]{2,}\n";
  ASSERT_TRUE(Grammar::parse(source));
  size_t num_good = 0;
  for (size_t at = 0; at <= source.size(); ++at) {
    const auto cut = Grammar::parse(source.substr(0, at));
    num_good += cut ? 1 : 0;
    if (!cut) {
      EXPECT_NE(cut.error().message.find("grammar"), std::string::npos);
    }
    for (const char c : {'"', '[', '(', '\\', '{', '\xFF', '\0', '|', '\n'}) {
      std::string changed = source;
      if (at < source.size()) changed[at] = c;
      const auto result = Grammar::parse(changed);
      if (!result) {
        EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
      }
    }
  }
  EXPECT_GT(num_good, 0U);
}

// Tokens of a model often end inside a character.
// The matcher gives the same answer for a text in one piece and byte by byte.
TEST(GbnfTable, PiecesDoNotMatter) {
  const auto grammar = Grammar::parse("root ::= (\"日\" | [a-c]{2} | \"(\" root \")\")+");
  ASSERT_TRUE(grammar);
  for (const std::string text : {"日", "ab", "(日ab)", "a", "(((ab)))", "日日x", "(ab", ""}) {
    GrammarMatcher matcher(*grammar);
    bool fits = true;
    for (const char c : text) fits = *matcher.push({&c, 1}) && fits;
    EXPECT_EQ(fits && matcher.can_end(), *grammar->matches(text)) << text;
  }
}

}  // namespace
}  // namespace quern
