#include "text/sentencepiece_tokenizer.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace quern {
namespace {

using Ids = std::vector<int32_t>;

// A token with its score and type.
struct Piece {
  std::string text;
  float score;
  TokenType type = TokenType::kNormal;
};

// <unk>, <s>, </s>, then what is given, from id 3 on.
Vocabulary vocabulary_of(const std::vector<Piece>& pieces) {
  Vocabulary v{.model = "llama"};
  const auto add = [&](const Piece& p) {
    v.tokens.push_back(p.text);
    v.scores.push_back(p.score);
    v.types.push_back(p.type);
  };
  add({"<unk>", 0, TokenType::kUnknown});
  add({"<s>", 0, TokenType::kControl});
  add({"</s>", 0, TokenType::kControl});
  for (const Piece& piece : pieces) add(piece);
  v.add_bos = false;
  return v;
}

// The tokenizer, which must be possible to make.
std::unique_ptr<Tokenizer> make(const Vocabulary& v) {
  auto tokenizer = make_tokenizer(v);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

// The ids of a text that must be possible to encode.
Ids encode(const Vocabulary& v, std::string_view text, const EncodeOptions& options = {}) {
  const auto ids = make(v)->encode(text, options);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids ? *ids : Ids{};
}

// a b c ▁ ab bc: ids 3 to 8.
std::vector<Piece> letters(float ab = -1, float bc = -2) {
  return {{"a", -10}, {"b", -11}, {"c", -12}, {"\u2581", -13}, {"ab", ab}, {"bc", bc}};
}

// "abc" is "ab" and "c" or "a" and "bc", with ▁ (6) before it. The scores are compared as sortable
// integers, so signs, both zeros and infinity are tried: zeros are equal, and the left pair wins.
TEST(SentencePiece, TheHighestScoreJoinsFirst) {
  EXPECT_EQ(encode(vocabulary_of(letters()), "abc"), (Ids{6, 7, 5}));
  EXPECT_EQ(encode(vocabulary_of(letters(-2, -1)), "abc"), (Ids{6, 3, 8}));
  EXPECT_EQ(encode(vocabulary_of(letters(-1, -1)), "abc"), (Ids{6, 7, 5}));  // the left one
  // Signs, zeros and infinities are in order, too.
  EXPECT_EQ(encode(vocabulary_of(letters(-0.5F, 0.5F)), "abc"), (Ids{6, 3, 8}));
  EXPECT_EQ(encode(vocabulary_of(letters(0.0F, -0.0F)), "abc"), (Ids{6, 7, 5}));
  EXPECT_EQ(encode(vocabulary_of(letters(-0.0F, 0.0F)), "abc"), (Ids{6, 7, 5}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(encode(vocabulary_of(letters(-infinity, -1e30F)), "abc"), (Ids{6, 3, 8}));
}

TEST(SentencePiece, ASpaceStandsBeforeTheTextAndAfterSpecialTokens) {
  Vocabulary v = vocabulary_of(letters());
  EXPECT_EQ(encode(v, "a b"), (Ids{6, 3, 6, 4}));
  EXPECT_EQ(encode(v, ""), Ids{});
  EXPECT_EQ(encode(v, "a<s>a", {.parse_special = true}), (Ids{6, 3, 1, 6, 3}));
  v.add_space_prefix = false;
  EXPECT_EQ(encode(v, "a b"), (Ids{3, 6, 4}));
  EXPECT_EQ(encode(v, "a<s>a", {.parse_special = true}), (Ids{3, 1, 3}));
}

// Only one, and only at the very beginning, before which a special token may stand. If the model
// adds no space, a space is the text's own.
TEST(SentencePiece, DecodingTakesTheSpaceOffAgain) {
  Vocabulary v = vocabulary_of(letters());
  const auto tokenizer = make(v);
  EXPECT_EQ(tokenizer->decode(Ids{6, 3, 6, 4}), "a b");
  EXPECT_EQ(tokenizer->decode(Ids{1, 6, 3}), "a");
  EXPECT_EQ(tokenizer->decode(Ids{6, 6, 3}), " a");
  EXPECT_EQ(tokenizer->decode(Ids{6, 3}, {.strip_space_prefix = false}), " a");
  EXPECT_EQ(tokenizer->decode(Ids{1, 6, 3}, {.skip_special = false}), "<s> a");
  v.add_space_prefix = false;
  EXPECT_EQ(make(v)->decode(Ids{6, 3}), " a");
}

// The end token is added only where the file asks for it; an empty text gets no space.
TEST(SentencePiece, BeginIsAddedUnlessTheFileSaysNo) {
  Vocabulary v = vocabulary_of(letters());
  v.add_bos = std::nullopt;
  EXPECT_EQ(encode(v, "a"), (Ids{1, 6, 3}));
  v.add_eos = true;
  EXPECT_EQ(encode(v, ""), (Ids{1, 2}));
}

// The pieces from "<" to "<0x0A" let both texts be joined up to their last character; the last join
// would make a token that plain text must not reach. Ids 13 and 14 are "<0x0A" and "<0x0A>".
TEST(SentencePiece, PlainTextNeverBecomesASpecialOrByteToken) {
  std::vector<Piece> pieces = {{"<", -1},   {"s", -2},     {">", -3},     {"<s", -4},
                               {"0", -5},   {"x", -6},     {"A", -7},     {"<0", -8},
                               {"<0x", -9}, {"<0x0", -10}, {"<0x0A", -11}};
  pieces.push_back({"<0x0A>", 0, TokenType::kByte});
  Vocabulary v = vocabulary_of(pieces);
  v.add_space_prefix = false;
  EXPECT_EQ(encode(v, "<s>"), (Ids{6, 5}));
  EXPECT_EQ(encode(v, "<0x0A>"), (Ids{13, 5}));
  EXPECT_EQ(encode(v, "\n"), Ids{14});
  EXPECT_EQ(encode(v, "<s>", {.parse_special = true}), Ids{1});
}

// The token of byte b is 3 + b. Broken bytes come back as they were; the space has become the three
// bytes of ▁, and bytes are not turned back.
TEST(SentencePiece, CharactersWithoutATokenBecomeBytes) {
  std::vector<Piece> pieces;
  for (int b = 0; b < 256; ++b)
    pieces.push_back({fmt::format("<0x{:02X}>", b), 0, TokenType::kByte});
  Vocabulary v = vocabulary_of(pieces);
  v.add_space_prefix = false;
  EXPECT_EQ(encode(v, "\u00E9"), (Ids{3 + 0xC3, 3 + 0xA9}));
  const std::string broken = "\xFF\xE2\x82 z\x80";
  EXPECT_EQ(make(v)->decode(encode(v, broken)).substr(0, 3), "\xFF\xE2\x82");
  EXPECT_EQ(make(v)->decode(encode(v, broken)), "\xFF\xE2\x82\xE2\x96\x81z\x80");  // ▁ has no token
}

TEST(SentencePiece, WithoutByteTokensACharacterIsOneUnknown) {
  Vocabulary v = vocabulary_of(letters());
  v.add_space_prefix = false;
  EXPECT_EQ(encode(v, "a\u00E9\U0001F600"), (Ids{3, 0, 0}));
  // Nor does half a set of bytes leave half a character.
  v.tokens.push_back("<0xC3>");
  v.scores.push_back(0);
  v.types.push_back(TokenType::kByte);
  EXPECT_EQ(encode(v, "a\u00E9"), (Ids{3, 0}));
}

// Pieces that reach over a space forbid cutting the text there; those that do not must not matter.
TEST(SentencePiece, PiecesMayReachOverSpaces) {
  std::vector<Piece> pieces = letters();
  pieces.push_back({"a\u2581", -0.5F});
  pieces.push_back({"a\u2581b", -0.25F});
  Vocabulary v = vocabulary_of(pieces);
  v.add_space_prefix = false;
  // 9 is "a▁" and 10 "a▁b".
  EXPECT_EQ(encode(v, "a b"), Ids{10});
  EXPECT_EQ(encode(v, "ba b"), (Ids{4, 10}));
  EXPECT_EQ(encode(v, "b b"), (Ids{4, 6, 4}));
  EXPECT_EQ(encode(v, "a a b"), (Ids{9, 10}));
}

// By their text, before any joining: a score of -1000 would lose to "ab" and "bc".
TEST(SentencePiece, UserDefinedTokensAreAlwaysFound) {
  std::vector<Piece> pieces = letters();
  pieces.push_back({"abc", -1000, TokenType::kUserDefined});
  Vocabulary v = vocabulary_of(pieces);
  v.add_space_prefix = false;
  EXPECT_EQ(encode(v, "aabcb"), (Ids{3, 9, 4}));
}

// NaN is in no order with other scores.
TEST(SentencePiece, AScoreThatIsNotANumberIsAnError) {
  const auto tokenizer =
      make_tokenizer(vocabulary_of({{"a", std::numeric_limits<float>::quiet_NaN()}}));
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().message, "The score of token 3 is not a number.");
}

// A vocabulary with a list of merges, and the ids that another library gives.
nlohmann::json text_merges_data() {
  std::ifstream stream(std::string(QUERN_TEST_DATA_DIR) + "/tokenizers/text_bpe.json");
  return nlohmann::json::parse(stream, nullptr, false);
}

// A vocabulary whose merges are texts, from the test data.
Vocabulary text_merges_vocabulary(const nlohmann::json& data) {
  Vocabulary v{.model = "gemma4"};
  v.tokens = data["tokens"].get<std::vector<std::string>>();
  v.merges = data["merges"].get<std::vector<std::string>>();
  v.types.assign(v.tokens.size(), TokenType::kNormal);
  std::fill_n(v.types.begin(), 3, TokenType::kControl);  // <pad>, <eos>, <bos>
  v.types[3] = TokenType::kUnknown;
  std::fill_n(v.types.begin() + 4, 256, TokenType::kByte);
  v.special = {.bos = 2, .eos = 1, .unk = 3};
  return v;
}

TEST(TextMerges, EncodesAsHuggingFace) {
  const nlohmann::json data = text_merges_data();
  const auto tokenizer = make(text_merges_vocabulary(data));
  ASSERT_NE(tokenizer, nullptr);
  for (const auto& item : data["cases"]) {
    const std::string text = item[0];
    // Special tokens in the text are text here, and tokens there.
    const bool has_special = text.find("<bos>") != std::string::npos;
    const auto ids = tokenizer->encode(text, {.add_special = false, .parse_special = has_special});
    ASSERT_TRUE(ids) << ids.error().message;
    if (!has_special) {
      EXPECT_EQ(*ids, item[1].get<Ids>()) << "'" << text << "'";
    }
    if (text.find("\u2581") == std::string::npos) {
      EXPECT_EQ(tokenizer->decode(*ids, {.skip_special = false}), text);
    }
  }
  EXPECT_GE(data["cases"].size(), 200U);
}

// The same merges under two names: Gemma 4 begins with <bos>, Sarvam adds nothing, and a flag of
// the file gives it the space of SentencePiece.
TEST(TextMerges, TheKindsDifferInTheBeginTokenAndTheSpace) {
  Vocabulary v = text_merges_vocabulary(text_merges_data());
  EXPECT_EQ(encode(v, "").front(), 2);
  v.model = "gpt2";
  v.pre_tokenizer = "sarvam-moe";
  EXPECT_EQ(encode(v, ""), Ids{});
  const Ids plain = encode(v, "a");
  EXPECT_EQ(make(v)->decode(plain), "a");
  v.add_space_prefix = true;
  EXPECT_EQ(make(v)->decode(encode(v, "a"), {.strip_space_prefix = false}), " a");
}

TEST(TextMerges, RefusesMergesOfNoTokens) {
  // No sides; one side; two empty ones; an empty right one; a right side that is no token; sides
  // that are none either.
  for (const char* merge : {"", "ab", " ", "a ", "a \u6F22", "zzz zzz"}) {
    Vocabulary v = text_merges_vocabulary(text_merges_data());
    v.merges.push_back(merge);
    const auto broken = make_tokenizer(v);
    ASSERT_FALSE(broken) << merge;
    EXPECT_EQ(broken.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(broken.error().message.find("it needs two tokens that join to a third"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace quern
