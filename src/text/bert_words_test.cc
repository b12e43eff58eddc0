#include "text/bert_words.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// The words, end to end with spaces between them.
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

// A text and its words.
struct WordsCase {
  std::string text;
  std::vector<std::string> words;
};

// One comparison for each text.
void expect_words(const BertNormalization& options, const std::vector<WordsCase>& cases) {
  for (const WordsCase& test : cases) {
    EXPECT_EQ(bert_words(test.text, options), test.words) << test.text;
  }
}

// BertNormalizer and BertPreTokenizer of the Rust library `tokenizers` 0.23.
TEST(BertWords, AreThoseOfHuggingFace) {
  // lowercase true, strip_accents true
  expect_words({true, true}, {
                                 {"Hello, World!", {"hello", ",", "world", "!"}},
                                 {"It's $5.00", {"it", "'", "s", "$", "5", ".", "00"}},
                                 {"naïve Çédille ÅNGSTRÖM", {"naive", "cedille", "angstrom"}},
                                 {"日本語 text", {"日", "本", "語", "text"}},
                                 {"a\tb\nc\rd", {"a", "b", "c", "d"}},
                                 {std::string("x\0y", 3) + "�z", {"xyz"}},
                                 {"a\u200bb \u00adc", {"ab", "c"}},
                                 {"İstanbul", {"istanbul"}},
                                 {"ß straße", {"ß", "straße"}},
                                 {"«quote» — dash…", {"«", "quote", "»", "—", "dash", "…"}},
                                 {"①② ½", {"①②", "½"}},
                                 {"Ω Ǆ ǅ", {"ω", "ǆ", "ǆ"}},
                                 {"éë", {"ee"}},
                                 {"한국어", {"한국어"}},
                                 {"ا لعربية", {"ا", "لعربية"}},
                                 {"[CLS] token [SEP]", {"[", "cls", "]", "token", "[", "sep", "]"}},
                                 {"a_b-c", {"a", "_", "b", "-", "c"}},
                                 {"1,000.50", {"1", ",", "000", ".", "50"}},
                                 {"\u3000wide\u00a0nbsp", {"wide", "nbsp"}},
                                 {"ﬁ ﬂ", {"ﬁ", "ﬂ"}},
                                 {"👍🏽 ok", {"👍🏽", "ok"}},
                                 {"don't", {"don", "'", "t"}},
                                 {"ÀÉÎÕÜ", {"aeiou"}},
                                 {"Σίσυφος", {"σισυφος"}},
                             });
  // lowercase false, strip_accents false
  expect_words({false, false},
               {
                   {"Hello, World!", {"Hello", ",", "World", "!"}},
                   {"It's $5.00", {"It", "'", "s", "$", "5", ".", "00"}},
                   {"naïve Çédille ÅNGSTRÖM", {"naïve", "Çédille", "ÅNGSTRÖM"}},
                   {"日本語 text", {"日", "本", "語", "text"}},
                   {"a\tb\nc\rd", {"a", "b", "c", "d"}},
                   {std::string("x\0y", 3) + "�z", {"xyz"}},
                   {"a\u200bb \u00adc", {"ab", "c"}},
                   {"İstanbul", {"İstanbul"}},
                   {"ß straße", {"ß", "straße"}},
                   {"«quote» — dash…", {"«", "quote", "»", "—", "dash", "…"}},
                   {"①② ½", {"①②", "½"}},
                   {"Ω Ǆ ǅ", {"Ω", "Ǆ", "ǅ"}},
                   {"éë", {"éë"}},
                   {"한국어", {"한국어"}},
                   {"ا لعربية", {"ا", "لعربية"}},
                   {"[CLS] token [SEP]", {"[", "CLS", "]", "token", "[", "SEP", "]"}},
                   {"a_b-c", {"a", "_", "b", "-", "c"}},
                   {"1,000.50", {"1", ",", "000", ".", "50"}},
                   {"\u3000wide\u00a0nbsp", {"wide", "nbsp"}},
                   {"ﬁ ﬂ", {"ﬁ", "ﬂ"}},
                   {"👍🏽 ok", {"👍🏽", "ok"}},
                   {"don't", {"don", "'", "t"}},
                   {"ÀÉÎÕÜ", {"ÀÉÎÕÜ"}},
                   {"Σίσυφος", {"Σίσυφος"}},
               });
  // lowercase true, strip_accents false
  expect_words({true, false}, {
                                  {"naïve Çédille ÅNGSTRÖM", {"naïve", "çédille", "ångström"}},
                                  {"İstanbul", {"i̇stanbul"}},
                                  {"ß straße", {"ß", "straße"}},
                                  {"éë", {"éë"}},
                                  {"ÀÉÎÕÜ", {"àéîõü"}},
                                  {"Σίσυφος", {"σίσυφος"}},
                              });
  // lowercase false, strip_accents true
  expect_words({false, true}, {
                                  {"naïve Çédille ÅNGSTRÖM", {"naive", "Cedille", "ANGSTROM"}},
                                  {"İstanbul", {"Istanbul"}},
                                  {"ß straße", {"ß", "straße"}},
                                  {"éë", {"ee"}},
                                  {"ÀÉÎÕÜ", {"AEIOU"}},
                                  {"Σίσυφος", {"Σισυφος"}},
                              });
}

}  // namespace
}  // namespace quern
