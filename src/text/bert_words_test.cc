#include "text/bert_words.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

std::string words(std::string_view text, const BertNormalization& options = {}) {
  std::string line;
  for (const std::string& word : bert_words(text, options)) {
    line += (line.empty() ? "" : "|") + word;
  }
  return line;
}

// Expected words from Hugging Face tokenizers 0.23 (BertNormalizer, BertPreTokenizer).
TEST(BertWords, LowersAndTakesAccentsOff) {
  EXPECT_EQ(words("Füh\u0301rer ÉCOLE \u0130x"), "fuhrer|ecole|ix");
  EXPECT_EQ(words("Füh\u0301rer", {.lowercase = false, .strip_accents = false}), "Füh\u0301rer");
  EXPECT_EQ(words("\u0130x", {.lowercase = true, .strip_accents = false}), "i\u0307x");
  EXPECT_EQ(words("ÉCOLE", {.lowercase = false, .strip_accents = true}), "ECOLE");
}

TEST(BertWords, PunctuationAndIdeographsStandAlone) {
  EXPECT_EQ(words("don't $5.0 (a)\u3002"), "don|'|t|$|5|.|0|(|a|)|\u3002");
  EXPECT_EQ(words("ab漢字cd \uAC00\uAC01"), "ab|漢|字|cd|\u1100\u1161\u1100\u1161\u11A8");
}

TEST(BertWords, WhiteSpaceOfAllKindsSeparates) {
  EXPECT_EQ(words(" \t\r\n a\u00A0b\u3000c\u2028d\u0085e\vf"), "a|b|c|def");
  EXPECT_EQ(words(""), "");
  EXPECT_EQ(words(" \n"), "");
}

TEST(BertWords, ControlCharactersAndBrokenBytesVanish) {
  EXPECT_EQ(words(std::string_view("a\0b\x01"
                                   "c",
                                   5)),
            "abc");
  EXPECT_EQ(words("a\u200Bb\uFEFFc\uE000d\uFFFDe\xFF"
                  "f\xE2\x82"),
            "abcdef");
}

}  // namespace
}  // namespace quern
