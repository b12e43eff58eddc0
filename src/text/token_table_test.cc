#include "text/token_table.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// The table of a vocabulary that must be possible.
TokenTable table_of(Vocabulary v) {
  auto table = TokenTable::make(v);
  EXPECT_TRUE(table) << table.error().message;
  return std::move(*table);
}

// Why the vocabulary makes no table.
std::string error_of(Vocabulary v) {
  const auto table = TokenTable::make(v);
  return table ? "" : table.error().message;
}

// In ascending order.
std::vector<int32_t> ends(const TokenTable& table) {
  return {table.end_of_generation_ids().begin(), table.end_of_generation_ids().end()};
}

// Some files have a text twice; an empty text stands for ids that are left out and is found
// nowhere.
TEST(TokenTable, FindsTheLowestIdOfAText) {
  const TokenTable table = table_of({.model = "gpt2", .tokens = {"a", "b", "a", ""}});
  EXPECT_EQ(table.find("a"), 0);
  EXPECT_EQ(table.find("b"), 1);
  EXPECT_EQ(table.find(""), kNoToken);
  EXPECT_EQ(table.find("c"), kNoToken);
  EXPECT_EQ(table.type(2), TokenType::kNormal);
}

// Scores and types may be absent, but not too short. A token above 1 MiB is damage.
TEST(TokenTable, ListsOfUnequalLengthAreErrors) {
  EXPECT_EQ(error_of({.model = "llama"}), "The vocabulary has no tokens.");
  EXPECT_EQ(error_of({.tokens = {"a", "b"}, .scores = {1.0F}}),
            "The vocabulary has 2 tokens but only 1 scores.");
  EXPECT_EQ(error_of({.tokens = {"a", "b"}, .types = {TokenType::kNormal}}),
            "The vocabulary has 2 tokens but only 1 token types.");
  EXPECT_EQ(error_of({.tokens = {std::string((1 << 20) + 1, 'a')}}),
            "Token 0 has 1048577 bytes; the limit is 1048576.");
}

// SentencePiece's order is <unk>, <s>, </s>; a vocabulary of one token has no id 1. GPT-2's kind
// has no default of its own, although 20 tokens have room for the id 11, which llama.cpp assumes.
TEST(TokenTable, DefaultsAreThoseOfTheKindAndStayInRange) {
  const TokenTable llama = table_of({.model = "llama", .tokens = {"<unk>", "<s>", "</s>", "a"}});
  EXPECT_EQ(llama.special().unk, 0);
  EXPECT_EQ(llama.special().bos, 1);
  EXPECT_EQ(llama.special().eos, 2);
  EXPECT_EQ(ends(llama), (std::vector<int32_t>{2}));
  const TokenTable tiny = table_of({.model = "llama", .tokens = {"a"}});
  EXPECT_EQ(tiny.special().bos, kNoToken);
  const TokenTable gpt2 = table_of({.model = "gpt2", .tokens = std::vector<std::string>(20, "a")});
  EXPECT_EQ(gpt2.special().eos, kNoToken);
  EXPECT_TRUE(ends(gpt2).empty());
}

// Then the kind's default counts, where there is one.
TEST(TokenTable, AnIdOutsideTheVocabularyIsIgnored) {
  Vocabulary v{.model = "llama", .tokens = {"<unk>", "<s>", "</s>"}};
  v.special.bos = 99;
  v.special.pad = 99;
  const TokenTable table = table_of(v);
  EXPECT_EQ(table.special().bos, 1);
  EXPECT_EQ(table.special().pad, kNoToken);
}

// Files often name only one end token, and a chat model would go on for ever after its other ones.
// The tokens for filling in the middle are known by their texts, too, and end nothing.
TEST(TokenTable, WellKnownTextsEndTheGeneration) {
  Vocabulary v{.model = "gpt2", .tokens = {"a", "<|im_end|>", "<|endoftext|>", "<fim_prefix>"}};
  v.special.eos = 0;
  const TokenTable table = table_of(v);
  EXPECT_EQ(table.special().eot, 1);  // the first of the table's order
  EXPECT_EQ(table.special().fim_pre, 3);
  EXPECT_EQ(ends(table), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_TRUE(table.is_special(1));  // whatever the file says
  EXPECT_TRUE(table.is_end_of_generation(2));
  EXPECT_FALSE(table.is_end_of_generation(3));
  EXPECT_FALSE(table.is_end_of_generation(kNoToken));
}

// </s> ends strikethrough text in a page; only a control token of this text ends the generation.
TEST(TokenTable, OrdinaryHtmlEndsNothing) {
  const auto normal = TokenType::kNormal;
  Vocabulary v{.model = "gpt2", .tokens = {"a", "</s>"}, .types = {normal, normal}};
  EXPECT_TRUE(ends(table_of(v)).empty());
  v.types[1] = TokenType::kControl;
  EXPECT_EQ(ends(table_of(v)), (std::vector<int32_t>{1}));
}

// gpt-oss is known by <|return|> and <|call|>: its answer goes on with another message after
// <|end|>, and the texts of its messages' parts must be visible. Phi has the same text as its end.
TEST(TokenTable, InGptOssEndClosesAMessageOnly) {
  const TokenTable table =
      table_of({.model = "gpt2", .tokens = {"<|end|>", "<|return|>", "<|call|>", "<|channel|>"}});
  EXPECT_EQ(ends(table), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(table.type(0), TokenType::kUserDefined);
  EXPECT_EQ(table.type(3), TokenType::kUserDefined);
  const TokenTable phi = table_of({.model = "llama", .tokens = {"<|end|>", "a"}});
  EXPECT_EQ(ends(phi), (std::vector<int32_t>{0}));
}

}  // namespace
}  // namespace quern
