// The parts that grammars are made of, each against a plain model.
#include <gtest/gtest.h>

#include <bitset>
#include <random>
#include <set>

#include "text/grammar/code_set.h"
#include "text/grammar/grammar.h"
#include "text/grammar/grammar_automaton.h"
#include "text/grammar/integer_range.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/key_set.h"
#include "text/grammar/other_names.h"
#include "text/grammar/token_constraint.h"
#include "text/grammar/utf8_ranges.h"
#include "text/utf8.h"

namespace quern {
namespace {

constexpr uint32_t kModelSize = 64;
using Model = std::bitset<kModelSize>;

// A set of a few ranges, and the same as bits.
CodeSet random_set(std::mt19937& random, Model& model) {
  std::vector<CodeRange> ranges;
  for (uint32_t count = random() % 5; count > 0; --count) {
    const auto first = static_cast<uint32_t>(random() % kModelSize);
    const auto last = static_cast<uint32_t>(random() % kModelSize);  // may lie before first
    ranges.push_back({first, last});
    // A range that ends before it begins is empty on both sides.
    for (uint32_t c = first; c <= last; ++c) model.set(c);
  }
  return make_code_set(std::move(ranges));
}

// The set holds exactly the bits, in sorted ranges that do not touch.
void expect_is(const CodeSet& set, const Model& model) {
  for (uint32_t c = 0; c < kModelSize; ++c) EXPECT_EQ(contains(set, c), model.test(c)) << c;
  for (size_t i = 0; i < set.size(); ++i) {
    EXPECT_LE(set[i].first, set[i].last);
    if (i > 0) {
      EXPECT_GT(set[i].first, set[i - 1].last + 1);  // sorted, apart
    }
  }
}

// Against a bit set over the first code points.
TEST(CodeSet, ArithmeticIsThatOfBits) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    Model a_model;
    Model b_model;
    const CodeSet a = random_set(random, a_model);
    const CodeSet b = random_set(random, b_model);
    expect_is(a, a_model);
    expect_is(intersection(a, b), a_model & b_model);
    expect_is(difference(a, b), a_model & ~b_model);
    expect_is(complement(a), ~a_model);
    EXPECT_EQ(complement(complement(a)), a);
  }
}

// The first and the last code point, and the empty set.
TEST(CodeSet, EdgesOfUnicode) {
  const CodeSet all = {{0, kMaxCodePoint}};
  EXPECT_TRUE(complement(all).empty());
  EXPECT_EQ(complement({}), all);
  EXPECT_EQ(complement({{0, 0}}), (CodeSet{{1, kMaxCodePoint}}));
  EXPECT_EQ(complement({{kMaxCodePoint, kMaxCodePoint}}), (CodeSet{{0, kMaxCodePoint - 1}}));
  EXPECT_EQ(make_code_set({{3, 4}, {5, 6}}), (CodeSet{{3, 6}}));
  EXPECT_EQ(make_code_set({{3, 4}, {6, 7}}), (CodeSet{{3, 4}, {6, 7}}));
  EXPECT_EQ(make_code_set({{5, 3}}), CodeSet{});
  EXPECT_EQ(make_code_set({{1, 9}, {2, 3}}), (CodeSet{{1, 9}}));
}

// Whether the bytes are in the ranges of the sequence, byte by byte.
bool fits(const ByteSequence& sequence, std::string_view bytes) {
  if (bytes.size() != sequence.size) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte < sequence.ranges[i].first || byte > sequence.ranges[i].last) return false;
  }
  return true;
}

// Each code point of the set is in exactly one sequence, and no other is in any.
TEST(Utf8Sequences, MatchTheFormsOfTheSetOnly) {
  // Ranges over each change in the number of bytes (7F to 80, 7FF to 800, FFFF to 10000), over and
  // within the gap of the surrogates, at the end, of one value, and long ones whose first and last
  // bytes differ.
  const std::vector<CodeSet> sets = {{{0, kMaxCodePoint}},
                                     {{0x7E, 0x81}},
                                     {{0x7FE, 0x802}},
                                     {{0xD7FE, 0xE001}},
                                     {{0xFFFE, 0x10002}},
                                     {{0x10FFFE, 0x10FFFF}},
                                     {{0x41, 0x41}},
                                     {{0xD800, 0xDFFF}},
                                     {{0x3F, 0x4123}},
                                     {{0x1234, 0x1F234}},
                                     {{'a', 'c'}, {0xE9, 0xE9}, {0x4E00, 0x9FFF}}};
  for (const CodeSet& set : sets) {
    const auto sequences = utf8_sequences(set);
    // Every code point up to the begin of the four-byte forms; 61 is prime, so all last bytes occur
    // behind it.
    for (uint32_t c = 0; c <= kMaxCodePoint; c += c < 0x12000 ? 1 : 61) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      std::string bytes;
      append_utf8(c, bytes);
      const auto count = std::count_if(sequences.begin(), sequences.end(),
                                       [&](const ByteSequence& s) { return fits(s, bytes); });
      ASSERT_EQ(count, contains(set, c) ? 1 : 0) << std::hex << c;
    }
  }
  EXPECT_TRUE(utf8_sequences({{0xD800, 0xDFFF}}).empty());
  EXPECT_TRUE(utf8_sequences({}).empty());
}

// Against a set of the standard library, over many clears.
TEST(KeySet, ClearsAtNoCostAndGrows) {
  std::mt19937_64 random(2);
  KeySet set;
  for (int round = 0; round < 20; ++round) {
    std::set<uint64_t> model;
    for (int i = 0; i < 2000; ++i) {
      // The same number in both halves: a hash that folds them by xor would send all keys to one
      // place.
      const uint64_t key = random() % 1500 * 0x100000001ULL;
      EXPECT_EQ(set.insert(key), model.insert(key).second);
    }
    set.clear();
  }
  EXPECT_TRUE(set.insert(0));
  EXPECT_FALSE(set.insert(0));
}

// Sizes around the 64 ids of a word.
TEST(TokenMask, HoldsIdsOfTheVocabulary) {
  for (const int32_t size : {0, 1, 63, 64, 65, 1000}) {
    TokenMask mask(size);
    EXPECT_TRUE(mask.is_empty());
    EXPECT_FALSE(mask.contains(-1));
    EXPECT_FALSE(mask.contains(size));
    std::vector<int32_t> expected;
    for (int32_t id = 0; id < size; id += 7) {
      // Twice: count() is of ids, not of calls.
      mask.set(id);
      mask.set(id);
      expected.push_back(id);
    }
    EXPECT_EQ(mask.count(), static_cast<int64_t>(expected.size()));
    std::vector<int32_t> ids;
    mask.for_each([&](int32_t id) { ids.push_back(id); });
    EXPECT_EQ(ids, expected);
    EXPECT_EQ(mask.contains(1), false);
  }
}

// A token for each of a few letters, and more.
std::unique_ptr<Tokenizer> letters_tokenizer(std::vector<std::string> more) {
  Vocabulary v{.model = "llama", .tokens = {"<unk>", "<s>", "</s>"}};
  v.types = {TokenType::kUnknown, TokenType::kControl, TokenType::kControl};
  for (std::string& token : more) {
    v.tokens.push_back(std::move(token));
    v.types.push_back(TokenType::kNormal);
  }
  auto tokenizer = make_tokenizer(v);
  EXPECT_TRUE(tokenizer);
  return std::move(*tokenizer);
}

// Texts over two letters, so that many begin alike.
std::vector<std::string> random_tokens(std::mt19937& random, int count) {
  std::vector<std::string> tokens;
  for (int i = 0; i < count; ++i) {
    std::string token;
    for (uint32_t size = 1 + random() % 4; size > 0; --size) token += "abc"[random() % 3];
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// Control tokens and tokens without text are not in it.
TEST(TokenTrie, HoldsEachTextTokenAtItsPath) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    const auto tokenizer = letters_tokenizer(random_tokens(random, 40));
    const TokenTrie trie(*tokenizer);
    std::string path;
    size_t num_tokens = 0;
    for (size_t i = 0; i < trie.size(); ++i) {
      const auto& node = trie.node(i);
      path.resize(node.depth - 1U);
      path += static_cast<char>(node.byte);
      EXPECT_GT(node.end, i);
      EXPECT_LE(node.end, trie.size());
      for (const int32_t token : trie.tokens(i, i + 1)) {
        EXPECT_EQ(tokenizer->token_bytes(token), path);
        ++num_tokens;
      }
    }
    EXPECT_EQ(num_tokens, 40U);  // no control token is in it
    EXPECT_LE(trie.max_depth(), 4U);
  }
}

// Nothing to walk, and no crash.
TEST(TokenTrie, AVocabularyWithoutTextIsEmpty) {
  const TokenTrie trie(*letters_tokenizer({}));
  EXPECT_EQ(trie.size(), 0U);
  EXPECT_EQ(trie.max_depth(), 0U);
}

// The mask is what trying each token on its own gives, along random walks.
TEST(TokenConstraint, AllowsWhatTheGrammarCanTake) {
  std::mt19937 random(4);
  const std::vector<std::string> grammars = {
      "root ::= \"ab\" root \"c\" | \"a\"", "root ::= [ab]* \"c\"",
      "root ::= (\"abc\" | \"ac\" | \"b\"){1,4}", "root ::= x\nx ::= \"a\" x | \"b\" | \"cc\""};
  for (const std::string& source : grammars) {
    const auto grammar = Grammar::parse(source);
    ASSERT_TRUE(grammar) << grammar.error().message;
    std::vector<std::string> tokens = random_tokens(random, 20);
    tokens.insert(tokens.end(), {"a", "b", "c"});
    const auto tokenizer = letters_tokenizer(tokens);
    const auto trie = std::make_shared<const TokenTrie>(*tokenizer);
    for (int walk = 0; walk < 10; ++walk) {
      TokenConstraint constraint(trie, *grammar);
      std::string text;
      for (int step = 0; step < 12 && !constraint.must_end(); ++step) {
        const auto mask = constraint.allowed();
        ASSERT_TRUE(mask) << mask.error().message;
        std::vector<int32_t> choices;
        for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
          GrammarMatcher matcher(*grammar);
          const bool is_text = id > 2;
          // A fresh matcher reads the whole text each time, so it owes nothing to the constraint's
          // state. Id 2 is </s>, allowed where the text may end.
          const bool can = is_text && *matcher.push(text + std::string(tokenizer->token_bytes(id)));
          const bool ends = id == 2 && constraint.can_end();
          ASSERT_EQ((*mask)->contains(id), can || ends) << text << " + " << id;
          if (can) choices.push_back(id);
          if (!can && !ends) {
            EXPECT_FALSE(constraint.accept(id)) << text << " + " << id;
          }
        }
        if (choices.empty()) break;
        const int32_t chosen = choices[random() % choices.size()];
        ASSERT_TRUE(constraint.accept(chosen));
        text += tokenizer->token_bytes(chosen);
      }
    }
  }
}

// After the end token nothing is allowed any more.
TEST(TokenConstraint, EndsOnceAndSaysSo) {
  const auto tokenizer = letters_tokenizer({"a", "b"});
  const auto trie = std::make_shared<const TokenTrie>(*tokenizer);
  const auto grammar = Grammar::parse("root ::= \"a\"");
  TokenConstraint constraint(trie, *grammar);
  EXPECT_FALSE(constraint.can_end());
  EXPECT_EQ(constraint.accept(2).error().message,
            "The grammar does not allow token 2 ('</s>') here.");
  EXPECT_EQ(constraint.accept(4).error().message, "The grammar does not allow token 4 ('b') here.");
  EXPECT_EQ(constraint.accept(99).error().message,
            "The grammar does not allow token 99 ('') here.");
  ASSERT_TRUE(constraint.accept(3));
  EXPECT_TRUE(constraint.can_end());
  EXPECT_TRUE(constraint.must_end());
  EXPECT_EQ((*constraint.allowed())->count(), 1);
  ASSERT_TRUE(constraint.accept(2));
  EXPECT_EQ(constraint.allowed().error().message, "The constrained text has ended.");
  EXPECT_EQ(constraint.accept(3).error().message, "The constrained text has ended.");
}

// A grammar whose next character no token can write must not hang.
TEST(TokenConstraint, AGrammarPastTheVocabularyIsAnError) {
  const auto tokenizer = letters_tokenizer({"a"});
  const auto trie = std::make_shared<const TokenTrie>(*tokenizer);
  TokenConstraint constraint(trie, *Grammar::parse("root ::= \"ab\""));
  ASSERT_TRUE(constraint.accept(3));
  const auto mask = constraint.allowed();
  ASSERT_FALSE(mask);
  EXPECT_EQ(mask.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(mask.error().message,
            "The grammar can go on here, but with no token of the vocabulary.");
}

// Compiles the expression as the root.
Result<Grammar> grammar_of(GrammarAst& ast, ExprId body) {
  ast.define(ast.root(), body);
  return Grammar::compile(ast);
}

// A tree that waits for the body of its root.
GrammarAst with_root() {
  GrammarAst ast;
  ast.set_root(ast.declare("root"));
  return ast;
}

// Bounds of 19 digits, digit by digit.
TEST(IntegerRange, LargeBoundsAreExact) {
  const int64_t big = 9'000'000'000'000'000'000;
  GrammarAst ast = with_root();
  const auto grammar = grammar_of(ast, integer_range(ast, big - 5, big));
  ASSERT_TRUE(grammar);
  for (int64_t i = big - 9; i <= big + 9; ++i) {
    EXPECT_EQ(*grammar->matches(std::to_string(i)), i >= big - 5 && i <= big) << i;
  }
  // The same digits with a sign.
  EXPECT_FALSE(*grammar->matches("-9000000000000000000"));
}

// Without a bound, numbers that any JSON reader holds exactly.
TEST(IntegerRange, OpenSidesTakeSixteenDigits) {
  GrammarAst ast = with_root();
  const auto grammar = grammar_of(ast, integer_range(ast, -3, std::nullopt));
  ASSERT_TRUE(grammar);
  EXPECT_TRUE(*grammar->matches("9999999999999999"));
  EXPECT_FALSE(*grammar->matches("10000000000000000"));
  EXPECT_TRUE(*grammar->matches("-3"));
  EXPECT_FALSE(*grammar->matches("-4"));
  GrammarAst below = with_root();
  const auto negative = grammar_of(below, integer_range(below, std::nullopt, -10));
  ASSERT_TRUE(negative);
  EXPECT_TRUE(*negative->matches("-10"));
  EXPECT_TRUE(*negative->matches("-9999999999999999"));
  EXPECT_FALSE(*negative->matches("-9"));
  EXPECT_FALSE(*negative->matches("0"));
}

// A bound of more digits opens its side for as many: 2e16 alone would be one number.
TEST(IntegerRange, OpenSidesTakeAsManyDigitsAsTheBound) {
  GrammarAst ast = with_root();
  const auto grammar =
      grammar_of(ast, integer_range(ast, int64_t{20'000'000'000'000'000}, std::nullopt));
  ASSERT_TRUE(grammar);
  EXPECT_FALSE(*grammar->matches("19999999999999999"));
  EXPECT_TRUE(*grammar->matches("20000000000000000"));
  EXPECT_TRUE(*grammar->matches("20000000000000001"));
  EXPECT_TRUE(*grammar->matches("99999999999999999"));
  EXPECT_FALSE(*grammar->matches("100000000000000000"));
  GrammarAst below = with_root();
  const auto negative = grammar_of(below, integer_range(below, std::nullopt, INT64_MIN));
  ASSERT_TRUE(negative);
  EXPECT_FALSE(*negative->matches("-9223372036854775807"));
  EXPECT_TRUE(*negative->matches("-9223372036854775808"));
  EXPECT_TRUE(*negative->matches("-9999999999999999999"));
  EXPECT_FALSE(*negative->matches("-10000000000000000000"));
}

// 38 digits are the widest.
TEST(IntegerRange, BoundsPastSixtyFourBits) {
  WideInteger ten37 = 1;
  for (int i = 0; i < 37; ++i) ten37 *= 10;
  GrammarAst ast = with_root();
  const auto grammar = grammar_of(ast, integer_range(ast, -ten37, ten37 + 1));
  ASSERT_TRUE(grammar);
  const std::string zeros(36, '0');
  EXPECT_TRUE(*grammar->matches("1" + zeros + "0"));
  EXPECT_TRUE(*grammar->matches("1" + zeros + "1"));
  EXPECT_FALSE(*grammar->matches("1" + zeros + "2"));
  EXPECT_TRUE(*grammar->matches("-1" + zeros + "0"));
  EXPECT_FALSE(*grammar->matches("-1" + zeros + "1"));
  EXPECT_TRUE(*grammar->matches("0"));
  EXPECT_FALSE(*grammar->matches("-0"));
}

// Names that begin alike, and the empty name.
TEST(OtherName, IsEveryNameButThoseGiven) {
  const std::vector<std::string> names = {"", "a", "ab", "abc", "é", "\"q", "a\nb"};
  GrammarAst ast = with_root();
  const auto grammar = grammar_of(ast, other_name(ast, names));
  ASSERT_TRUE(grammar) << grammar.error().message;
  for (const std::string& name : names) {
    EXPECT_FALSE(*grammar->matches(json_quoted(name))) << name;
  }
  for (const std::string name : {"b", "aa", "abcd", "abd", "e", "éa", "ba", " "}) {
    EXPECT_TRUE(*grammar->matches(json_quoted(name))) << name;
  }
}

// Quotes, backslashes and controls; other characters stay.
TEST(JsonQuoted, EscapesWhatMustBe) {
  EXPECT_EQ(json_quoted(""), "\"\"");
  EXPECT_EQ(json_quoted("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
  EXPECT_EQ(json_quoted("\b\f\n\r\t\x01\x1f"), "\"\\b\\f\\n\\r\\t\\u0001\\u001f\"");
  EXPECT_EQ(json_quoted("é日🙂\x7f"), "\"é日🙂\x7f\"");
  EXPECT_EQ(json_quoted("\xFF"), "\"\uFFFD\"");
}

// A rule of JSON with texts that it takes and texts that it does not.
struct RuleCase {
  const char* rule;
  ExprId (JsonRules::*make)();
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

// Texts at the edges of each rule of JSON.
TEST(JsonRules, TakeJsonAndNothingElse) {
  const std::vector<RuleCase> cases = {
      {"space", &JsonRules::space, {"", " ", "\n", "\n  \t"}, {"  ", "\n\n", "\t", "\r"}},
      {"boolean", &JsonRules::boolean, {"true", "false"}, {"True", "tru", "", "truefalse"}},
      {"null", &JsonRules::null, {"null"}, {"nul", "Null", ""}},
      {"integer",
       &JsonRules::integer,
       {"0", "-1", "10", "9999999999999999"},
       {"-0", "00", "01", "+1", "1.0", "1e3", "", "-", "10000000000000000"}},
      {"number",
       &JsonRules::number,
       {"0", "-0", "-0.5", "1.25", "1e5", "1E+10", "1e-99", "1e289", "0.0", "-12.5e3"},
       {"", ".5", "5.", "1e", "1e+", "01", "1e999", "1e290", "+1", "0x1", "NaN", "Infinity"}},
      {"non-negative", &JsonRules::non_negative_number, {"0", "0.5", "7e1"}, {"-1", "-0", ""}},
      {"value",
       &JsonRules::value,
       {"{}", "[]", "[1, 2]", "{\"a\": [null, {\"b\": \"c\"}]}", "\"\\u00e9\"", "-1.5", "[[[]]]"},
       {"", "[1,]", "{\"a\"}", "{a: 1}", "[1 2]", "'a'", "{\"a\": 1,}", "nan", "[", "{\"a\":}"}},
  };
  for (const RuleCase& test : cases) {
    GrammarAst ast = with_root();
    JsonRules rules(ast);
    const auto grammar = grammar_of(ast, (rules.*test.make)());
    ASSERT_TRUE(grammar) << test.rule << grammar.error().message;
    for (const std::string& text : test.good) {
      EXPECT_TRUE(*grammar->matches(text)) << test.rule << ": " << text;
    }
    for (const std::string& text : test.bad) {
      EXPECT_FALSE(*grammar->matches(text)) << test.rule << ": " << text;
    }
  }
}

// Plain, \n, \u0041 and pairs of surrogates all count as one.
TEST(JsonRules, StringCharIsOneCodePointInAnySpelling) {
  GrammarAst ast = with_root();
  JsonRules rules(ast);
  const auto grammar = grammar_of(ast, rules.string_char());
  ASSERT_TRUE(grammar);
  for (const std::string text : {"a", "é", "🙂", "\\n", "\\/", "\\\"", "\\u0000", "\\uFFFF",
                                 "\\ud83d\\ude42", "\\uD7ff", "\\ue000", "\x7f"}) {
    EXPECT_TRUE(*grammar->matches(text)) << text;
  }
  for (const std::string text : {"", "ab", "\"", "\\", "\n", "\x1f", "\\x41", "\\u12", "\\ud83d",
                                 "\\ude42", "\\ud83d\\u0041", "\\ude42\\ud83d", "\\U0041"}) {
    EXPECT_FALSE(*grammar->matches(text)) << text;
  }
}

// Callers build sequences without looking at how many parts there are.
TEST(GrammarAst, SingleItemsStayWhatTheyAre) {
  GrammarAst ast;
  const ExprId text = ast.text("a");
  EXPECT_EQ(ast.sequence({text}), text);
  EXPECT_EQ(ast.choice({text}), text);
  EXPECT_NE(ast.sequence({text, text}), text);
  EXPECT_EQ(ast.expr(ast.optional(text)).max, 1U);
  // Surrogates have no UTF-8 form.
  EXPECT_TRUE(ast.expr(ast.char_class({{0xD800, 0xDFFF}})).set.empty());
}

// What lets a walk over a large vocabulary skip most of it.
TEST(GrammarAutomaton, TheMainStepInsideAStringIsTheStateItself) {
  const auto grammar = Grammar::parse("root ::= \"\\\"\" [a-z]* \"\\\"\"");
  ASSERT_TRUE(grammar);
  GrammarAutomaton automaton(*grammar);
  const auto inside = automaton.walk(automaton.start(), "\"q");
  const GrammarAutomaton::MainStep main = automaton.main_step(inside);
  EXPECT_EQ(main.target, inside);
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(main.bytes.test(static_cast<size_t>(byte)), byte >= 'a' && byte <= 'z') << byte;
  }
  EXPECT_EQ(automaton.walk(automaton.start(), "x"), GrammarAutomaton::kDead);
  EXPECT_EQ(automaton.keep_only(GrammarAutomaton::kDead), GrammarAutomaton::kDead);
}

// Each character counts, so no state leads to itself.
TEST(GrammarAutomaton, TheMainStepInACountedStringIsOneCharacterFurther) {
  const auto grammar = Grammar::parse("root ::= [a-z]{4} [0-9]");
  ASSERT_TRUE(grammar);
  GrammarAutomaton automaton(*grammar);
  auto state = automaton.start();
  for (const char* text : {"q", "qx", "qxy", "qxyz"}) {
    const auto next = automaton.walk(automaton.start(), text);
    EXPECT_EQ(automaton.main_step(state).target, next);
    EXPECT_EQ(automaton.main_step(state).bytes.count(), 26U);
    state = next;
  }
  EXPECT_EQ(automaton.main_step(state).bytes.count(), 10U);
  state = automaton.walk(automaton.start(), "qxyz5");
  EXPECT_EQ(automaton.main_step(state).target, GrammarAutomaton::kDead);
  EXPECT_TRUE(automaton.main_step(state).bytes.none());
}

// A state must know which of the last six letters were an a: 2^6 states and more.
TEST(GrammarAutomaton, LimitsGiveTooLargeAndNothingElse) {
  const auto grammar = Grammar::parse("root ::= [ab]* \"a\" [ab] [ab] [ab] [ab] [ab]");
  ASSERT_TRUE(grammar);
  GrammarAutomaton small(*grammar, {.states = 8});
  std::mt19937 random(5);
  bool was_too_large = false;
  for (int round = 0; round < 50; ++round) {
    auto state = small.start();
    for (int i = 0; i < 12; ++i) state = small.step(state, random() % 2 == 0 ? 'a' : 'b');
    was_too_large = was_too_large || state == GrammarAutomaton::kTooLarge;
  }
  EXPECT_TRUE(was_too_large);
  // The limit held all the time, and is_filling() tells the owner to forget states.
  EXPECT_LE(small.num_states(), 8U);
  EXPECT_TRUE(small.is_filling());
}

}  // namespace
}  // namespace quern
