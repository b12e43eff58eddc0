#include "text/special_splitter.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

constexpr auto kControl = TokenType::kControl;
constexpr auto kUser = TokenType::kUserDefined;

// The hints are a copy of what was given: making the table may change the types of well-known
// tokens.
// Parts in one line: texts in quotes, tokens by id.
std::string split(Vocabulary v, std::string_view text, bool parse_special = true) {
  const Vocabulary hints = v;
  const auto table = TokenTable::make(v);
  EXPECT_TRUE(table) << table.error().message;
  std::string line;
  for (const TextPart& part : SpecialSplitter(*table, hints).split(text, parse_special)) {
    line +=
        part.id == kNoToken ? "'" + std::string(part.text) + "' " : std::to_string(part.id) + " ";
  }
  return line;
}

// Two control tokens and one that the user defined.
Vocabulary chat() {
  return {.model = "gpt2",
          .tokens = {"a", "<s>", "<s>x", "\n\n", "\n\n\n", "<|m|>"},
          .types = {TokenType::kNormal, kControl, kControl, kUser, kUser, kControl}};
}

TEST(SpecialSplitter, TextWithoutTokensIsOnePart) {
  EXPECT_EQ(split(chat(), ""), "");
  EXPECT_EQ(split(chat(), "a < b"), "'a < b' ");
}

// "<s>" begins "<s>x". Six line feeds are twice three, five are three and two. A token that is cut
// off by the end of the text is text.
TEST(SpecialSplitter, TheLongestTokenAtAPlaceWins) {
  EXPECT_EQ(split(chat(), "<s>a<s>xa"), "1 'a' 2 'a' ");
  EXPECT_EQ(split(chat(), "\n\n\n\n\n\n"), "4 4 ");
  EXPECT_EQ(split(chat(), "\n\n\n\n\n"), "4 3 ");
  EXPECT_EQ(split(chat(), "<|m|><|m"), "5 '<|m' ");
}

// Tokens that the user of the file defined are found in any text; they steer nothing.
TEST(SpecialSplitter, ControlTokensAreTextUnlessAskedFor) {
  EXPECT_EQ(split(chat(), "<s>a\n\nb", false), "'<s>a' 3 'b' ");
}

// It would match at each place without moving on.
TEST(SpecialSplitter, AnEmptyTokenIsNeverFound) {
  EXPECT_EQ(split({.tokens = {"", "b"}, .types = {kControl, kControl}}, "ab"), "'a' 1 ");
}

// "rstrip" of added tokens, which a GGUF file cannot say: llama.cpp knows such models by name, and
// <s> is no such token. Under another name all the text stays.
TEST(SpecialSplitter, Phi3TokensSwallowWhiteSpaceBehindThem) {
  Vocabulary v{.model = "llama",
               .tokens = {"<unk>", "<s>", "<|end|>", "<|user|>"},
               .types = {TokenType::kUnknown, kControl, kControl, kControl},
               .model_name = "Phi-3 mini"};
  EXPECT_EQ(split(v, "<s> a<|end|>\n \t<|user|>\n"), "1 ' a' 2 3 ");
  v.model_name = "other";
  EXPECT_EQ(split(v, "<s> a<|end|>\n<|user|>"), "1 ' a' 2 '\n' 3 ");
}

// "lstrip"; if nothing but white space stands before the token, no part is left.
TEST(SpecialSplitter, JinaMaskSwallowsWhiteSpaceBeforeIt) {
  const Vocabulary v{.model = "gpt2",
                     .pre_tokenizer = "jina-v2-code",
                     .tokens = {"<mask>", "a"},
                     .types = {kControl, TokenType::kNormal}};
  EXPECT_EQ(split(v, "a \n <mask> b"), "'a' 0 ' b' ");
  EXPECT_EQ(split(v, "  <mask>"), "0 ");
}

}  // namespace
}  // namespace quern
