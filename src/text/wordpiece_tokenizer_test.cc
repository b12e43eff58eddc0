#include "text/wordpiece_tokenizer.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

using Ids = std::vector<int32_t>;

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

std::unique_ptr<Tokenizer> make(const Vocabulary& v) {
  auto tokenizer = make_tokenizer(v);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return std::move(*tokenizer);
}

Ids encode(const Vocabulary& v, std::string_view text, const EncodeOptions& options = {}) {
  const auto ids = make(v)->encode(text, options);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids ? *ids : Ids{};
}

TEST(WordPiece, TakesTheLongestTokenFromTheLeft) {
  EXPECT_EQ(encode(small(), "unaffable, able"), (Ids{1, 3, 4, 5, 8, 6, 2}));
  EXPECT_EQ(encode(small(), "UnAffable", {.add_special = false}), (Ids{3, 4, 5}));
  EXPECT_EQ(encode(small(), ""), (Ids{1, 2}));
}

TEST(WordPiece, AWordWithoutACoverIsUnknownAsAWhole) {
  EXPECT_EQ(encode(small(), "unaffxable able", {.add_special = false}), (Ids{0, 6}));
  Vocabulary v = small();
  v.special.unk = kNoToken;
  const auto refused = make(v)->encode("able");  // the kind's own default, 100, is out of range
  ASSERT_TRUE(refused);
  EXPECT_FALSE(make(v)->encode("unknown"));
}

TEST(WordPiece, AWordOfMoreThanAHundredCharactersIsUnknown) {
  EXPECT_EQ(encode(small(), std::string(100, 'a'), {.add_special = false}).size(), 100U);
  EXPECT_EQ(encode(small(), std::string(101, 'a'), {.add_special = false}), Ids{0});
}

TEST(WordPiece, SpecialTokensAreReadOnDemand) {
  EXPECT_EQ(encode(small(), "able[SEP]able", {.parse_special = true}), (Ids{1, 6, 2, 6, 2}));
  EXPECT_EQ(make(small())->decode(Ids{1, 3, 4, 5, 8, 6, 2}), "unaffable , able");
}

}  // namespace
}  // namespace quern
