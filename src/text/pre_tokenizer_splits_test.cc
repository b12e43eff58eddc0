// The words of each family of pre-tokenizers, as the Rust library `tokenizers` 0.23 splits with the
// published patterns (isolated matches).
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "text/pre_tokenizer.h"

namespace quern {
namespace {

// Each row: the words, which together are the text.
void expect_words(std::string_view name, std::vector<std::vector<std::string>> rows) {
  const PreTokenizerSpec* spec = find_pre_tokenizer(name);
  ASSERT_NE(spec, nullptr) << name;
  const auto pre_tokenizer = PreTokenizer::make(*spec);
  ASSERT_TRUE(pre_tokenizer) << pre_tokenizer.error().message;
  PreTokenizerSession session(*pre_tokenizer);
  for (const std::vector<std::string>& expected : rows) {
    std::string text;
    for (const std::string& word : expected) text += word;
    const auto words = session.split(text);
    ASSERT_TRUE(words) << words.error().message;
    EXPECT_EQ(std::vector<std::string>((*words)->begin(), (*words)->end()), expected)
        << name << ": " << text;
  }
}

// The twenty texts are the same in every family, so that two lists show how families differ. Row by
// row they are about:
//    1  a space goes with the word behind it; punctuation stands alone
//    2  contractions, in capitals too, and an apostrophe that begins a word
//    3  several spaces: the last goes with the word, those at the end stay together
//    4  line breaks of each kind and a tab, which some families join with what follows
//    5  digits, a decimal point, thousands
//    6  operators of a program without spaces
//    7  changes between capitals and small letters
//    8  accents in one code point
//    9  ideographs and Kana
//   10  Cyrillic letters with digits behind them
//   11  symbols outside the basic plane, with a modifier
//   12  slashes, which some families take with the letter behind them
//   13  signs before numbers and names
//   14  typographic quotes, an ellipsis and a dash
//   15  a mark of its own, which is no letter
//   16  digits of other scripts, fractions, Roman and raised numbers
//   17  spaces other than the ASCII one
//   18  contractions with nothing before them
//   19  line breaks alone
//   20  an indented call
// Words as `tokenizers` splits them by the pattern of the model's tokenizer.json.
TEST(PreTokenizerSplits, Gpt2) {
  expect_words("gpt-2", {
                            {"Hello", ",", " world", "!"},
                            {"it", "'s", " I", "'", "LL", " we", "'ve", " '", "twas", " don", "'t"},
                            {" ", " two", " ", " spaces", "  ", " end", "  "},
                            {"line", "\n", "break", "\r\n\r\n ", " next", "\n", "\t", "tab"},
                            {"12345", " 3", ".", "14", " 1", ",", "000", ",", "000"},
                            {"x", "=", "1", ";", "y", "+=", "2", " //", " z"},
                            {"CamelCase", " HTTPServer", " iPhone"},
                            {"naïve", " café", " Ünïcode"},
                            {"日本語テスト", " と漢字"},
                            {"Привет", " мир", "123"},
                            {"🙂👍🏽", " emoji"},
                            {"a", "/", "b", "/", "c", "\\", "d"},
                            {"$", "100", " 50", "%", " #", "tag", " @", "me"},
                            {"…‘", "quotes", "’—", "dash"},
                            {"e", "́", " combining"},
                            {"١٢٣", " ½", " Ⅷ", " x", "²"},
                            {"\u00a0", "nbsp", "\u3000", "wide"},
                            {"'s", " '", "S", " '", "Re"},
                            {"\n\n\n"},
                            {"   ", " indented", "(", "code", ")"},
                        });
}

// Digits stand alone.
TEST(PreTokenizerSplits, Smollm) {
  expect_words("smollm",
               {
                   {"Hello", ",", " world", "!"},
                   {"it", "'s", " I", "'", "LL", " we", "'ve", " '", "twas", " don", "'t"},
                   {" ", " two", " ", " spaces", "  ", " end", "  "},
                   {"line", "\n", "break", "\r\n\r\n ", " next", "\n", "\t", "tab"},
                   {"1", "2", "3", "4", "5", " ", "3", ".", "1", "4",
                    " ", "1", ",", "0", "0", "0", ",", "0", "0", "0"},
                   {"x", "=", "1", ";", "y", "+=", "2", " //", " z"},
                   {"CamelCase", " HTTPServer", " iPhone"},
                   {"naïve", " café", " Ünïcode"},
                   {"日本語テスト", " と漢字"},
                   {"Привет", " мир", "1", "2", "3"},
                   {"🙂👍🏽", " emoji"},
                   {"a", "/", "b", "/", "c", "\\", "d"},
                   {"$", "1", "0", "0", " ", "5", "0", "%", " #", "tag", " @", "me"},
                   {"…‘", "quotes", "’—", "dash"},
                   {"e", "́", " combining"},
                   {"١", "٢", "٣", " ", "½", " ", "Ⅷ", " x", "²"},
                   {"\u00a0", "nbsp", "\u3000", "wide"},
                   {"'s", " '", "S", " '", "Re"},
                   {"\n\n\n"},
                   {"   ", " indented", "(", "code", ")"},
               });
}

// Digits by three, contractions in any case.
TEST(PreTokenizerSplits, LlamaBpe) {
  expect_words("llama-bpe",
               {
                   {"Hello", ",", " world", "!"},
                   {"it", "'s", " I", "'LL", " we", "'ve", " '", "twas", " don", "'t"},
                   {" ", " two", " ", " spaces", "  ", " end", "  "},
                   {"line", "\n", "break", "\r\n\r\n", " ", " next", "\n", "\ttab"},
                   {"123", "45", " ", "3", ".", "14", " ", "1", ",", "000", ",", "000"},
                   {"x", "=", "1", ";y", "+=", "2", " //", " z"},
                   {"CamelCase", " HTTPServer", " iPhone"},
                   {"naïve", " café", " Ünïcode"},
                   {"日本語テスト", " と漢字"},
                   {"Привет", " мир", "123"},
                   {"🙂👍🏽", " emoji"},
                   {"a", "/b", "/c", "\\d"},
                   {"$", "100", " ", "50", "%", " #", "tag", " @", "me"},
                   {"…‘", "quotes", "’—", "dash"},
                   {"e", "́", " combining"},
                   {"١٢٣", " ", "½", " ", "Ⅷ", " x", "²"},
                   {"\u00a0nbsp", "\u3000wide"},
                   {"'s", " '", "S", " '", "Re"},
                   {"\n\n\n"},
                   {"   ", " indented", "(code", ")"},
               });
}

// Digits one by one.
TEST(PreTokenizerSplits, Qwen2) {
  expect_words("qwen2", {
                            {"Hello", ",", " world", "!"},
                            {"it", "'s", " I", "'LL", " we", "'ve", " '", "twas", " don", "'t"},
                            {" ", " two", " ", " spaces", "  ", " end", "  "},
                            {"line", "\n", "break", "\r\n\r\n", " ", " next", "\n", "\ttab"},
                            {"1", "2", "3", "4", "5", " ", "3", ".", "1", "4",
                             " ", "1", ",", "0", "0", "0", ",", "0", "0", "0"},
                            {"x", "=", "1", ";y", "+=", "2", " //", " z"},
                            {"CamelCase", " HTTPServer", " iPhone"},
                            {"naïve", " café", " Ünïcode"},
                            {"日本語テスト", " と漢字"},
                            {"Привет", " мир", "1", "2", "3"},
                            {"🙂👍🏽", " emoji"},
                            {"a", "/b", "/c", "\\d"},
                            {"$", "1", "0", "0", " ", "5", "0", "%", " #", "tag", " @", "me"},
                            {"…‘", "quotes", "’—", "dash"},
                            {"e", "́", " combining"},
                            {"١", "٢", "٣", " ", "½", " ", "Ⅷ", " x", "²"},
                            {"\u00a0nbsp", "\u3000wide"},
                            {"'s", " '", "S", " '", "Re"},
                            {"\n\n\n"},
                            {"   ", " indented", "(code", ")"},
                        });
}

// Words end where the case changes.
TEST(PreTokenizerSplits, Gpt4o) {
  expect_words("gpt-4o", {
                             {"Hello", ",", " world", "!"},
                             {"it's", " I'LL", " we've", " '", "twas", " don't"},
                             {" ", " two", " ", " spaces", "  ", " end", "  "},
                             {"line", "\n", "break", "\r\n\r\n", " ", " next", "\n", "\ttab"},
                             {"123", "45", " ", "3", ".", "14", " ", "1", ",", "000", ",", "000"},
                             {"x", "=", "1", ";y", "+=", "2", " //", " z"},
                             {"Camel", "Case", " HTTPServer", " i", "Phone"},
                             {"naïve", " café", " Ünïcode"},
                             {"日本語テスト", " と漢字"},
                             {"Привет", " мир", "123"},
                             {"🙂👍🏽", " emoji"},
                             {"a", "/b", "/c", "\\d"},
                             {"$", "100", " ", "50", "%", " #", "tag", " @", "me"},
                             {"…‘", "quotes", "’—", "dash"},
                             {"é", " combining"},
                             {"١٢٣", " ", "½", " ", "Ⅷ", " x", "²"},
                             {"\u00a0nbsp", "\u3000wide"},
                             {"'s", " '", "S", " '", "Re"},
                             {"\n\n\n"},
                             {"   ", " indented", "(code", ")"},
                         });
}

// The same without contractions.
TEST(PreTokenizerSplits, Tekken) {
  expect_words("tekken", {
                             {"Hello", ",", " world", "!"},
                             {"it", "'s", " I", "'LL", " we", "'ve", " '", "twas", " don", "'t"},
                             {" ", " two", " ", " spaces", "  ", " end", "  "},
                             {"line", "\n", "break", "\r\n\r\n", " ", " next", "\n", "\ttab"},
                             {"1", "2", "3", "4", "5", " ", "3", ".", "1", "4",
                              " ", "1", ",", "0", "0", "0", ",", "0", "0", "0"},
                             {"x", "=", "1", ";y", "+=", "2", " //", " z"},
                             {"Camel", "Case", " HTTPServer", " i", "Phone"},
                             {"naïve", " café", " Ünïcode"},
                             {"日本語テスト", " と漢字"},
                             {"Привет", " мир", "1", "2", "3"},
                             {"🙂👍🏽", " emoji"},
                             {"a", "/b", "/c", "\\d"},
                             {"$", "1", "0", "0", " ", "5", "0", "%", " #", "tag", " @", "me"},
                             {"…‘", "quotes", "’—", "dash"},
                             {"é", " combining"},
                             {"١", "٢", "٣", " ", "½", " ", "Ⅷ", " x", "²"},
                             {"\u00a0nbsp", "\u3000wide"},
                             {"'s", " '", "S", " '", "Re"},
                             {"\n\n\n"},
                             {"   ", " indented", "(code", ")"},
                         });
}

// Chinese and Japanese runs are words.
TEST(PreTokenizerSplits, DeepseekV3) {
  expect_words("deepseek-v3",
               {
                   {"Hello", ",", " world", "!"},
                   {"it", "'s", " I", "'LL", " we", "'ve", " '", "twas", " don", "'t"},
                   {" ", " two", " ", " spaces", "  ", " end", "  "},
                   {"line", "\n", "break", "\r\n\r\n", " ", " next", "\n", "\ttab"},
                   {"123", "45", " ", "3", ".", "14", " ", "1", ",", "000", ",", "000"},
                   {"x", "=", "1", ";y", "+=", "2", " //", " z"},
                   {"CamelCase", " HTTPServer", " iPhone"},
                   {"naïve", " café", " Ünïcode"},
                   {"日本語テスト", " ", "と漢字"},
                   {"Привет", " мир", "123"},
                   {"🙂👍🏽", " emoji"},
                   {"a", "/b", "/c", "\\d"},
                   {"$", "100", " ", "50", "%", " #", "tag", " @", "me"},
                   {"…‘", "quotes", "’—", "dash"},
                   {"é", " combining"},
                   {"١٢٣", " ", "½", " ", "Ⅷ", " x", "²"},
                   {"\u00a0nbsp", "\u3000wide"},
                   {"'s", " '", "S", " '", "Re"},
                   {"\n\n\n"},
                   {"   ", " indented", "(code", ")"},
               });
}

// One pattern for everything that is no space.
TEST(PreTokenizerSplits, Bloom) {
  expect_words("bloom", {
                            {"Hello", ",", " world", "!"},
                            {"it's", " I'LL", " we've", " 'twas", " don't"},
                            {" ", " two", " ", " spaces", "  ", " end", "  "},
                            {"line", "\n", "break", "\r\n\r\n ", " next", "\n\t", "tab"},
                            {"12345", " 3", ".", "14", " 1", ",", "000", ",", "000"},
                            {"x=1;y+=2", " //", " z"},
                            {"CamelCase", " HTTPServer", " iPhone"},
                            {"naïve", " café", " Ünïcode"},
                            {"日本語テスト", " と漢字"},
                            {"Привет", " мир123"},
                            {"🙂👍🏽", " emoji"},
                            {"a/b/c\\d"},
                            {"$100", " 50%", " #tag", " @me"},
                            {"…", "‘quotes’—dash"},
                            {"é", " combining"},
                            {"١٢٣", " ½", " Ⅷ", " x²"},
                            {"\u00a0", "nbsp", "\u3000", "wide"},
                            {"'s", " 'S", " 'Re"},
                            {"\n\n\n"},
                            {"   ", " indented", "(", "code", ")"},
                        });
}

// Names that share their rules give the same words.
TEST(PreTokenizerSplits, AliasesAgree) {
  const std::string text = "It's 1234 CamelCase\n\n  naïve (x+=1)";
  const auto words_of = [&](std::string_view name) {
    const auto pre_tokenizer = PreTokenizer::make(*find_pre_tokenizer(name));
    PreTokenizerSession session(*pre_tokenizer);
    const auto words = session.split(text);
    return std::vector<std::string>((*words)->begin(), (*words)->end());
  };
  EXPECT_EQ(words_of("llama3"), words_of("llama-bpe"));
  EXPECT_EQ(words_of("falcon3"), words_of("llama-bpe"));
  EXPECT_EQ(words_of("stablelm2"), words_of("qwen2"));
  EXPECT_EQ(words_of("llama4"), words_of("gpt-4o"));
  EXPECT_EQ(words_of("starcoder"), words_of("smollm"));
  EXPECT_EQ(words_of(""), words_of("default"));
}

}  // namespace
}  // namespace quern
