#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <set>

namespace quern {
namespace {

// Words with bars between.
std::string split(std::string_view name, std::string_view text) {
  const PreTokenizerSpec* spec = find_pre_tokenizer(name);
  if (!spec) return "unknown";
  const auto pre_tokenizer = PreTokenizer::make(*spec);
  EXPECT_TRUE(pre_tokenizer) << pre_tokenizer.error().message;
  PreTokenizerSession session(*pre_tokenizer);
  const auto words = session.split(text);
  EXPECT_TRUE(words) << words.error().message;
  std::string line;
  for (const std::string_view word : **words) line += (line.empty() ? "" : "|") + std::string(word);
  return line;
}

// The patterns are compiled when a model is loaded; one with an error in it would show only then. A
// file that names no pre-tokenizer gets "default".
TEST(PreTokenizer, NamesAreUniqueAndEachCompiles) {
  std::set<std::string_view> names;
  for (const PreTokenizerSpec& spec : pre_tokenizers()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    const auto made = PreTokenizer::make(spec);
    EXPECT_TRUE(made) << spec.name << ": " << made.error().message;
    EXPECT_EQ(find_pre_tokenizer(spec.name), &spec);
    EXPECT_EQ(split(spec.name, ""), "");
  }
  EXPECT_EQ(find_pre_tokenizer("no such name"), nullptr);
  ASSERT_NE(find_pre_tokenizer(""), nullptr);
  EXPECT_EQ(find_pre_tokenizer("")->name, "default");
  EXPECT_EQ(pre_tokenizer_names().substr(0, 16), "a.x-4.0, afmoe, ");
}

// Expected words from Hugging Face tokenizers 0.23 with each model's published patterns.
TEST(PreTokenizer, FamiliesDifferInContractionsNumbersAndSpaces) {
  const std::string text = "I'LL don't  12345 x1\n\n ok!";
  EXPECT_EQ(split("gpt-2", text), "I|'|LL| don|'t| | 12345| x|1|\n\n| ok|!");
  EXPECT_EQ(split("llama3", text), "I|'LL| don|'t| | |123|45| x|1|\n\n| ok|!");
  EXPECT_EQ(split("qwen2", text), "I|'LL| don|'t| | |1|2|3|4|5| x|1|\n\n| ok|!");
  EXPECT_EQ(split("gpt-4o", text), "I'LL| don't| | |123|45| x|1|\n\n| ok|!");
  EXPECT_EQ(split("smollm", text), "I|'|LL| don|'t|  |1|2|3|4|5| x|1|\n\n| ok|!");
  EXPECT_EQ(split("deepseek-llm", text), "I|'|LL| don|'|t|  |12345| x|1|\n|\n| ok|!");
}

// A word is capitals, if any, and then small letters: it ends before the next capital, and "ABCdef"
// is one.
TEST(PreTokenizer, WordsOfO200kChangeAtCapitals) {
  EXPECT_EQ(split("gpt-4o", "HelloWorld camelCase ABCdef"), "Hello|World| camel|Case| ABCdef");
  EXPECT_EQ(split("tekken", "HelloWorld 123"), "Hello|World| |1|2|3");
}

TEST(PreTokenizer, HanIsApartInKimiK2) {
  EXPECT_EQ(split("kimi-k2", "abc漢字def 漢A1234"), "abc|漢字|def| |漢|A|123|4");
}

// By a look-ahead that wants groups of three up to a word boundary; afmoe does it with digits of
// any script. superbpe takes several words at a time, with the space behind them.
TEST(PreTokenizer, DigitsAreGroupedFromTheEnd) {
  EXPECT_EQ(split("tiny_aya", "1234567 12 123"), "1|234|567| |12| |123");
  EXPECT_EQ(split("tiny_aya", "1234567x"), "123|456|7|x");  // no word boundary: from the begin
  EXPECT_EQ(split("afmoe", "1234567"), "1|234|567");
  EXPECT_EQ(split("afmoe", "٣٤٥٦"), "٣|٤٥٦");
  EXPECT_EQ(split("superbpe", "some words 1234 12"), "some words |1|234| |12");
}

// Nothing may be lost, whatever the patterns leave unmatched: rare spaces, marks, a joiner, a
// fraction, U+180E, which was a space in older versions of Unicode.
TEST(PreTokenizer, TheWordsAreTheText) {
  const std::string text = "\u00A0a\u0301 \t\r\n\u3000漢字 12½ '' \U0001F600\u200D x\u180E";
  for (const PreTokenizerSpec& spec : pre_tokenizers()) {
    const auto pre_tokenizer = PreTokenizer::make(spec);
    PreTokenizerSession session(*pre_tokenizer);
    const auto words = session.split(text);
    ASSERT_TRUE(words) << words.error().message;
    std::string joined;
    for (const std::string_view word : **words) {
      EXPECT_FALSE(word.empty());
      joined += word;
    }
    EXPECT_EQ(joined, text) << spec.name;
  }
}

// A search that reads on to the end at each place would take minutes here.
TEST(PreTokenizer, MonotonousTextTakesLinearTime) {
  for (const std::string unit : {" ", "a", "1", "\n", " \n", "\u00C9", "\u0301", "'"}) {
    std::string text;
    while (text.size() < 100'000) text += unit;
    text += "x";
    for (const PreTokenizerSpec& spec : pre_tokenizers()) {
      const auto pre_tokenizer = PreTokenizer::make(spec);
      PreTokenizerSession session(*pre_tokenizer);
      ASSERT_TRUE(session.split(text)) << spec.name;
    }
  }
}

}  // namespace
}  // namespace quern
