#include "text/grammar/grammar.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "text/grammar/gbnf_parser.h"
#include "text/grammar/grammar_automaton.h"
#include "text/utf8.h"

namespace quern {
namespace {

// Whether the whole text matches a grammar that must parse.
bool matches(const std::string& gbnf, std::string_view text) {
  const auto grammar = Grammar::parse(gbnf);
  EXPECT_TRUE(grammar) << gbnf << ": " << (grammar ? "" : grammar.error().message);
  if (!grammar) return false;
  const auto result = grammar->matches(text);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result && *result;
}

// Why the grammar does not parse.
std::string error_of(const std::string& gbnf) {
  const auto grammar = Grammar::parse(gbnf);
  return grammar ? "none" : grammar.error().message;
}

// A class with characters of two bytes must not be read as a class of single bytes: é to ü (E9 to
// FC) has ð (F0) inside and è (E8) just outside.
TEST(Gbnf, EscapesAndClassesStandForCodePoints) {
  EXPECT_TRUE(
      matches(R"(root ::= "\x41\u00e9\U0001F600\n\t\r\\\"\[\]")", "A\u00e9\U0001F600\n\t\r\\\"[]"));
  EXPECT_TRUE(matches(R"(root ::= [a-c\]\-x]+)", "abc]-x"));
  EXPECT_TRUE(matches("root ::= [a-]+", "a-a"));
  EXPECT_FALSE(matches("root ::= [a-]+", "b"));
  EXPECT_TRUE(matches("root ::= [\u00e9-\u00fc]", "\u00f0"));
  EXPECT_FALSE(matches("root ::= [\u00e9-\u00fc]", "\u00e8"));
  EXPECT_TRUE(matches("root ::= [^\\n]{2}", "\u65e5\U0001F600"));
  EXPECT_FALSE(matches("root ::= [^\\n]", "\n"));
}

// Comments where a rule's body begins, between its lines and at its end; a group over three lines.
TEST(Gbnf, LinesCommentsAndGroups) {
  EXPECT_TRUE(
      matches("# a comment\nroot ::= # another\n  a\n  | b # the rest\n\na ::= \"x\" (\n"
              "  \"y\"\n  | \"z\"\n)*\nb ::= \"b\"",
              "xyzzy"));
  EXPECT_TRUE(matches("root ::= \"a\" |", ""));
  EXPECT_TRUE(matches("root ::= (\"a\"{2} \"b\"?){1,2}", "aabaa"));
  EXPECT_TRUE(matches("root ::= \"a\"{0}", ""));
  EXPECT_FALSE(matches("root ::= \"a\"{0}", "a"));
}

TEST(Gbnf, ErrorsNameLineAndColumn) {
  EXPECT_EQ(error_of("root ::= \"a"),
            "The text in quotes is not closed (line 1, column 10 of the grammar).");
  EXPECT_EQ(error_of("root ::= a\n  b"),
            "'::=' is expected after the rule name 'b' (line 2, column 4 of the grammar).");
  EXPECT_EQ(error_of("root ::= a"),
            "The rule 'a' is not defined (line 1, column 10 of the grammar).");
  EXPECT_EQ(error_of("a ::= \"x\""), "The grammar has no rule 'root'.");
  EXPECT_EQ(error_of(""), "The grammar has no rule 'root'.");
  EXPECT_EQ(error_of("root ::= \"a\"\nroot ::= \"b\""),
            "The rule 'root' is defined twice (line 2, column 1 of the grammar).");
  EXPECT_EQ(error_of("root ::= [z-a]"),
            "The range ends before it begins (line 1, column 11 of the grammar).");
  EXPECT_EQ(error_of("root ::= []"),
            "The character class is empty (line 1, column 10 of the grammar).");
  EXPECT_EQ(error_of("root ::= \"\\q\""),
            "The escape is not known (line 1, column 11 of the grammar).");
  EXPECT_EQ(error_of("root ::= \"\\ud800\""),
            "The escape is no Unicode character (line 1, column 11 of the grammar).");
  EXPECT_EQ(error_of("root ::= \"a\"{3,2}"),
            "The repetition ends below its begin (line 1, column 13 of the grammar).");
  // Past 32 bits: a count that wrapped could be a small and valid one.
  EXPECT_EQ(error_of("root ::= \"a\"{999999999999}"),
            "The repetition is over the limit of 100000 (line 1, column 14 of the grammar).");
  EXPECT_EQ(error_of("root ::= (\"a\""),
            "The group is not closed (line 1, column 10 of the grammar).");
  EXPECT_EQ(error_of("root ::= *"),
            "The character '*' does not fit here (line 1, column 10 of the grammar).");
}

// Four limits against sources that are short and would cost much: the parser's recursion, the bytes
// of the source, the parts of the tree, and the instructions that repetitions multiply to. The last
// grammar is a line of source that would mean 10^15 copies of "abc".
TEST(Gbnf, DepthAndSizeAreLimited) {
  EXPECT_NE(error_of("root ::= " + std::string(100'000, '(')).find("nested over 200 deep"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(kMaxGrammarBytes + 1, ' ')).find("the limit is"),
            std::string::npos);
  std::string many = "root ::= ";
  for (int i = 0; i < 300'000; ++i) many += ". ";
  EXPECT_NE(error_of(many).find("over 200000 parts"), std::string::npos);
  EXPECT_NE(error_of("root ::= ((\"abc\"{100000}){100000} \"d\"){100000} [a-z]{100000} "
                     "[A-Z]{100000} \"x\"{100000,100000} \"y\"{0,100000} (. .){100000} "
                     "\"z\"{100000} \"w\"{100000} \"v\"{100000}")
                .find("instructions"),
            std::string::npos);
}

// A rule that begins with itself would be entered again and again without reading anything. The
// middle one is hidden behind what may be empty, and its chain goes over two rules.
TEST(Gbnf, LeftRecursionIsRefusedWithItsChain) {
  EXPECT_EQ(error_of("root ::= expr\nexpr ::= expr \"+\" \"1\" | \"1\""),
            "The grammar is left-recursive: expr -> expr.");
  EXPECT_EQ(error_of("root ::= a\na ::= \"\" b | \"x\"\nb ::= [x]? a"),
            "The grammar is left-recursive: a -> b -> a.");
  EXPECT_EQ(error_of("root ::= \"a\" root"),
            "The rule 'root' of the grammar matches no finite text.");
}

// A loop whose body may be empty could turn for ever on the spot.
TEST(Grammar, NullableLoopsEnd) {
  EXPECT_TRUE(matches("root ::= (\"a\"?)* (\"\")+ b{3}\nb ::= \"b\"*", "aaabb"));
  EXPECT_TRUE(matches("root ::= ((\"\" | \"a\"*)*)* \"c\"", "aac"));
}

// A call at the end of a rule leaves no frame behind; here there would be 200,000.
TEST(Grammar, RightRecursionNeedsNoStack) {
  const std::string gbnf = "root ::= \"a\" root | \"b\"";
  EXPECT_TRUE(matches(gbnf, std::string(200'000, 'a') + "b"));
}

// These calls do leave frames, 20,000 deep; one bracket too many must not match.
TEST(Grammar, DeepNestingIsFollowed) {
  const std::string gbnf = "root ::= \"(\" root? \")\"";
  EXPECT_TRUE(matches(gbnf, std::string(20'000, '(') + std::string(20'000, ')')));
  EXPECT_FALSE(matches(gbnf, std::string(20'000, '(') + std::string(20'001, ')')));
}

// Up to a thousand lines of a thousand parts are counted, and not written out one by one.
TEST(Grammar, LargeRepetitionsOfLongPartsAddUp) {
  const std::string gbnf = "root ::= ((\"ab\" [c-e]{1,3}){1000} \"\\n\"){0,1000}";
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "abcd";
  EXPECT_TRUE(matches(gbnf, line + "\n" + line + "\n"));
  EXPECT_FALSE(matches(gbnf, line + "abc\n"));
}

// After each x the matcher must remember which of three letters is to come, so n letters x stand
// for 3^n stacks.
TEST(Grammar, TooAmbiguousIsAnErrorAndNotAHang) {
  const auto grammar =
      Grammar::parse("root ::= s\ns ::= \"x\" s \"y\" | \"x\" s \"z\" | \"x\" s \"w\" | \"x\"");
  ASSERT_TRUE(grammar);
  const auto result = grammar->matches(std::string(100, 'x'));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kResourceExhausted);
}

// Within a character the text can neither end nor be wrong. After the end nothing more fits, and an
// empty text does not mend a matcher that has failed.
TEST(GrammarMatcher, CharactersMayComeByteByByte) {
  const auto grammar = Grammar::parse("root ::= [\u0100-\U00010000]{2} \"\u00e9\"");
  ASSERT_TRUE(grammar);
  GrammarMatcher matcher(*grammar);
  for (const char c : std::string("\u65e5\U00010000\u00e9")) {
    EXPECT_FALSE(matcher.can_end());
    EXPECT_TRUE(matcher.push({&c, 1}).value());
  }
  EXPECT_TRUE(matcher.can_end());
  EXPECT_TRUE(matcher.must_end());
  EXPECT_FALSE(matcher.push("x").value());
  EXPECT_FALSE(matcher.push("").value());
}

// Overlong forms, a surrogate, a value above U+10FFFF, a byte that only goes on, one that never
// occurs: '.' is any character, not any byte.
TEST(GrammarMatcher, BrokenUtf8NeverMatches) {
  for (const char* bytes : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xFF",
                            "\xE0\x80\x80", "\xF0\x80\x80\x80"}) {
    EXPECT_FALSE(matches("root ::= .*", bytes)) << bytes;
  }
  EXPECT_FALSE(matches("root ::= .*", "\xE6\x97"));  // cut inside
}

// All of the basic plane and one in 997 (a prime, so all last bytes occur) of the rest. The second
// list holds both sides of each change in the number of bytes and the ends of the surrogates' gap.
TEST(GrammarMatcher, EveryCodePointMatchesItsOwnClassOnly) {
  const auto any = Grammar::parse("root ::= .*");
  ASSERT_TRUE(any);
  GrammarMatcher matcher(*any);
  for (uint32_t c = 0; c <= kMaxCodePoint; c += c < 0x11000 ? 1 : 997) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(c, text);
    ASSERT_TRUE(matcher.push(text).value()) << c;
    ASSERT_TRUE(matcher.can_end()) << c;
  }
  for (const uint32_t c :
       {0x7FU, 0x80U, 0x7FFU, 0x800U, 0xD7FFU, 0xE000U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
    std::string text;
    std::string escape = fmt::format("\\U{:08X}", c);
    append_utf8(c, text);
    EXPECT_TRUE(matches("root ::= [" + escape + "]", text)) << c;
    EXPECT_FALSE(matches("root ::= [^" + escape + "]", text)) << c;
  }
}

// keep_only() drops all other states: so few are left each time, and the one that is kept still
// knows its four open brackets.
TEST(GrammarAutomaton, ForgettingKeepsTheState) {
  const auto grammar =
      Grammar::parse("root ::= value\nvalue ::= \"[\" (value (\",\" value)*)? \"]\" | [0-9]+");
  ASSERT_TRUE(grammar);
  GrammarAutomaton automaton(*grammar);
  auto state = automaton.start();
  std::string text = "[[1,[2,[";
  for (const char c : text) {
    state = automaton.step(state, static_cast<uint8_t>(c));
    state = automaton.keep_only(state);
    EXPECT_LE(automaton.num_states(), 3U);
  }
  state = automaton.walk(state, "3]],4],5]");
  EXPECT_TRUE(automaton.can_end(state));
  EXPECT_TRUE(automaton.must_end(state));
}

}  // namespace
}  // namespace quern
