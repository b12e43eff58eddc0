#include "text/wordpiece_tokenizer.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

using Ids = std::vector<int32_t>;

// A vocabulary of a few words and parts.
Vocabulary small() {
  Vocabulary v{.model = "bert",
               .tokens = {"[UNK]", "[CLS]", "[SEP]", "\u2581un", "aff", "able", "\u2581able", "a",
                          "\u2581,", "\u2581a"},
               .types = {TokenType::kUnknown, TokenType::kControl, TokenType::kControl}};
  v.types.resize(v.tokens.size(), TokenType::kNormal);
  v.special.unk = 0;
  v.special.cls = 1;
  v.special.sep = 2;
  return v;
}

// The tokenizer, which must be possible to make.
std::unique_ptr<Tokenizer> make(const Vocabulary& v) {
  auto tokenizer = make_tokenizer(v);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return std::move(*tokenizer);
}

// The ids of a text that must be possible to encode.
Ids encode(const Vocabulary& v, std::string_view text, const EncodeOptions& options = {}) {
  const auto ids = make(v)->encode(text, options);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids ? *ids : Ids{};
}

// Files write ▁ where a word begins, other than BERT's own ##, which marks where one goes on. The
// last "able" begins a word and is another token than the one in "unaffable".
TEST(WordPiece, TakesTheLongestTokenFromTheLeft) {
  EXPECT_EQ(encode(small(), "unaffable, able"), (Ids{1, 3, 4, 5, 8, 6, 2}));
  EXPECT_EQ(encode(small(), "UnAffable", {.add_special = false}), (Ids{3, 4, 5}));
  EXPECT_EQ(encode(small(), ""), (Ids{1, 2}));
}

// Although "un" and "aff" fit, the x spoils the whole word.
TEST(WordPiece, AWordWithoutACoverIsUnknownAsAWhole) {
  EXPECT_EQ(encode(small(), "unaffxable able", {.add_special = false}), (Ids{0, 6}));
  Vocabulary v = small();
  v.special.unk = kNoToken;
  const auto refused = make(v)->encode("able");  // the kind's own default, 100, is out of range
  ASSERT_TRUE(refused);
  EXPECT_FALSE(make(v)->encode("unknown"));
}

// max_input_chars_per_word of BERT. Token 9 begins the word and 99 times token 7 goes on with it.
TEST(WordPiece, AWordOfMoreThanAHundredCharactersIsUnknown) {
  EXPECT_EQ(encode(small(), std::string(100, 'a'), {.add_special = false}).size(), 100U);
  EXPECT_EQ(encode(small(), std::string(101, 'a'), {.add_special = false}), Ids{0});
}

// Decoding does not know where there was no space before a comma.
TEST(WordPiece, SpecialTokensAreReadOnDemand) {
  EXPECT_EQ(encode(small(), "able[SEP]able", {.parse_special = true}), (Ids{1, 6, 2, 6, 2}));
  EXPECT_EQ(make(small())->decode(Ids{1, 3, 4, 5, 8, 6, 2}), "unaffable , able");
}

// A vocabulary as it is published; files write ▁ before tokens that begin a word and leave out the
// ## of those that go on with one.
Vocabulary published() {
  const std::vector<std::string> tokens = {
      "[PAD]", "[UNK]",  "[CLS]", "[SEP]", "[MASK]", "a",    "b",     "c",
      "ab",    "abc",    "##a",   "##b",   "##c",    "##bc", "##cab", "un",
      "##aff", "##able", "##ed",  "hello", "wor",    "##ld", ",",     ".",
      "!",     "'",      "##s",   "日",    "本",     "é",    "e",     "##é"};
  Vocabulary v{.model = "bert"};
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool goes_on = tokens[i].starts_with("##");
    v.tokens.push_back(i < 5 ? tokens[i] : goes_on ? tokens[i].substr(2) : "\u2581" + tokens[i]);
    v.types.push_back(i == 1  ? TokenType::kUnknown
                      : i < 5 ? TokenType::kControl
                              : TokenType::kNormal);
  }
  v.special.unk = 1;
  v.special.cls = 2;
  v.special.sep = 3;
  v.strip_accents = false;
  return v;
}

// Ids of the Rust library `tokenizers` 0.23: WordPiece after BertNormalizer and BertPreTokenizer.
TEST(WordPiece, GivesTheIdsOfHuggingFace) {
  struct Case {
    std::string text;
    Ids ids;
  };
  const std::vector<Case> cases = {
      {"", {}},
      {"a", {5}},
      {"abc", {9}},
      {"abcabc", {9, 10, 13}},
      // Greedy from the left: "ab" and "##cab" would do with fewer tokens.
      {"abcab", {9, 10, 11}},
      {"cab", {7, 10, 11}},
      {"bca", {6, 12, 10}},
      {"unaffable", {15, 16, 17}},
      // There is "##ed", but "able" has taken the e.
      {"unaffabled", {1}},
      {"hello, world.", {19, 22, 20, 21, 23}},
      {"hello world!", {19, 20, 21, 24}},
      {"HELLO", {19}},
      {"helloa", {19, 10}},
      {"xyz", {1}},
      {"a xyz b", {5, 1, 6}},
      {"abcx", {1}},
      {"日本", {27, 28}},
      {"日a", {27, 5}},
      {"é", {29}},
      {"eé", {30, 31}},
      {"É", {29}},
      {"a'b", {5, 25, 6}},
      // Punctuation is a word of its own, and no token begins a word with s.
      {"'s", {25, 1}},
      {"it's", {1, 25, 1}},
      {"  a  b  ", {5, 6}},
      {"a\nb", {5, 6}},
      {"abcc", {9, 12}},
      {"aabbcc", {5, 10, 11, 13, 12}},
      {"!!", {24, 24}},
      {"un un", {15, 15}},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(encode(published(), test.text, {.add_special = false}), test.ids) << test.text;
  }
}

// One flag after the other on the same vocabulary. The last one has lost its tokens from 日 on and
// names no separator.
TEST(WordPiece, FlagsOfTheFileChangeTheFrameAndTheCleaning) {
  Vocabulary v = published();
  v.add_bos = false;
  EXPECT_EQ(encode(v, "a"), (Ids{5, 3}));
  v.add_sep = false;
  EXPECT_EQ(encode(v, "a"), Ids{5});
  v.lowercase = false;
  EXPECT_EQ(encode(v, "A"), Ids{1});
  v.strip_accents = true;
  EXPECT_EQ(encode(v, "é"), Ids{30});
  Vocabulary without = published();
  without.special.sep = kNoToken;
  without.tokens.resize(27);
  without.types.resize(27);
  EXPECT_EQ(make(without)->encode("a").error().message,
            "The model wants an end token, and its vocabulary names none.");
}

}  // namespace
}  // namespace quern
