// Unigram tokenizers: against SentencePiece itself on three vocabularies, and rule by rule.
#include "text/unigram_tokenizer.h"

#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "text/unigram_test_data.h"
#include "text/utf8.h"

namespace quern {
namespace {

using Ids = std::vector<int32_t>;

// The tokenizer, which must be possible to make.
std::unique_ptr<Tokenizer> make(const Vocabulary& v) {
  auto tokenizer = make_tokenizer(v);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

// A token with its score and type.
struct Piece {
  std::string text;
  float score;
  TokenType type = TokenType::kNormal;
};

// <pad>, </s>, <unk>, then what is given, from id 3 on. Adds nothing around a text.
Vocabulary vocabulary_of(const std::vector<Piece>& pieces) {
  Vocabulary v{.model = "t5",
               .tokens = {"<pad>", "</s>", "<unk>"},
               .scores = {0, 0, 0},
               .types = {TokenType::kControl, TokenType::kControl, TokenType::kUnknown}};
  for (const Piece& piece : pieces) {
    v.tokens.push_back(piece.text);
    v.scores.push_back(piece.score);
    v.types.push_back(piece.type);
  }
  v.add_eos = false;
  v.add_space_prefix = false;
  return v;
}

// The ids of a text that must be possible to encode.
Ids encode(const Vocabulary& v, std::string_view text, const EncodeOptions& options = {}) {
  const auto ids = make(v)->encode(text, options);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids ? *ids : Ids{};
}

// Two hundred texts and more for each of the vocabularies a, b and c.
TEST(Unigram, EncodesAsSentencePiece) {
  const nlohmann::json data = unigram_test_data();
  size_t num_cases = 0;
  for (const auto& [name, entry] : data["vocabularies"].items()) {
    const auto tokenizer = make(unigram_vocabulary(entry));
    ASSERT_NE(tokenizer, nullptr);
    for (const auto& item : entry["cases"]) {
      const std::string text = item[0];
      const auto ids = tokenizer->encode(text, {.add_special = false});
      ASSERT_TRUE(ids) << ids.error().message;
      EXPECT_EQ(*ids, item[1].get<Ids>()) << name << ": '" << text << "'";
      ++num_cases;
    }
  }
  EXPECT_GE(num_cases, 600U);
}

// a b c ab bc abc: ids 3 to 8.
std::vector<Piece> letters(float ab, float bc, float abc) {
  return {{"a", -2}, {"b", -2}, {"c", -2}, {"ab", ab}, {"bc", bc}, {"abc", abc}};
}

// Sums: ab|c -5 and a|bc -5.5; the reverse; abc -4.5 against -5; a|b|c -6 against -9 and -11.
TEST(Unigram, TheBestSumWins) {
  EXPECT_EQ(encode(vocabulary_of(letters(-3, -3.5F, -9)), "abc"), (Ids{6, 5}));
  EXPECT_EQ(encode(vocabulary_of(letters(-3.5F, -3, -9)), "abc"), (Ids{3, 7}));
  EXPECT_EQ(encode(vocabulary_of(letters(-3, -3, -4.5F)), "abc"), (Ids{8}));
  EXPECT_EQ(encode(vocabulary_of(letters(-9, -9, -9)), "abc"), (Ids{3, 4, 5}));
  // Positive scores are scores, too.
  EXPECT_EQ(encode(vocabulary_of(letters(7, -9, -9)), "abc"), (Ids{6, 5}));
}

// Of equal sums, the last piece is the one that begins first.
TEST(Unigram, TiesGoToTheLongerLastPiece) {
  // All four segmentations have the sum -6.
  EXPECT_EQ(encode(vocabulary_of(letters(-4, -4, -6)), "abc"), (Ids{8}));
  // Three have -6: of the last pieces c, c and bc, bc begins first.
  EXPECT_EQ(encode(vocabulary_of(letters(-4, -4, -7)), "abc"), (Ids{3, 7}));
}

// Even where a later one has a better score.
TEST(Unigram, OfEqualTextsTheLowestIdCounts) {
  EXPECT_EQ(encode(vocabulary_of({{"a", -2}, {"a", -1}}), "aa"), (Ids{3, 3}));
}

TEST(Unigram, WithoutScoresFewPiecesWinNothing) {
  Vocabulary v = vocabulary_of(letters(0, 0, 0));
  v.scores.clear();
  EXPECT_EQ(encode(v, "abc"), (Ids{8}));  // all sums are 0
}

// SentencePiece joins neighbours that are unknown; decoding has nothing to show for them.
TEST(Unigram, RunsOfUnknownCharactersAreOneToken) {
  const Vocabulary v = vocabulary_of(letters(-3, -3, -3));
  EXPECT_EQ(encode(v, "xyz"), (Ids{2}));
  EXPECT_EQ(encode(v, "axyzb"), (Ids{3, 2, 4}));
  EXPECT_EQ(encode(v, "\u6F22\u5B57"), (Ids{2}));
  EXPECT_EQ(encode(v, "\xFF\xFE"), (Ids{2}));  // no UTF-8
  EXPECT_EQ(make(v)->decode(Ids{3, 2, 4}), "ab");
}

// An unknown character costs the lowest score of all pieces less 10. The lowest is the long piece's
// own in the first two, so a|unknown|b sums to -29.9 and -31 against -15.9 and -17. With the lowest
// score of the letters, -2, it would be -16 and win the second.
TEST(Unigram, AnUnknownCharacterLosesToAPieceThatCoversIt) {
  EXPECT_EQ(encode(vocabulary_of({{"a", -2}, {"axb", -15.9F}, {"b", -2}}), "axb"), (Ids{4}));
  EXPECT_EQ(encode(vocabulary_of({{"a", -2}, {"axb", -17}, {"b", -2}}), "axb"), (Ids{4}));
  // -46 against -32; the z is as low as the piece was before and must not be the lowest any more.
  EXPECT_EQ(encode(vocabulary_of({{"a", -2}, {"axb", -32}, {"b", -2}, {"z", -17}}), "axb"),
            (Ids{4}));
}

// The token of byte b is 4 + b. With the last one gone a character could lose bytes, so none is
// used.
TEST(Unigram, BytesStandForUnknownCharactersWhereAllAreThere) {
  std::vector<Piece> pieces = {{"a", -1}};
  for (int b = 0; b < 256; ++b) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    const auto digit = [&](int d) { return std::string(1, kHex[static_cast<size_t>(d)]); };
    pieces.push_back({"<0x" + digit(b / 16) + digit(b % 16) + ">", 0, TokenType::kByte});
  }
  const Vocabulary v = vocabulary_of(pieces);
  EXPECT_EQ(encode(v, "a\u00E9"), (Ids{3, 4 + 0xC3, 4 + 0xA9}));
  EXPECT_EQ(make(v)->decode(Ids{3, 4 + 0xC3, 4 + 0xA9}), "a\u00E9");
  // Text that looks like a byte token is text.
  EXPECT_EQ(make(v)->decode(encode(v, "<0x41>")), "<0x41>");
  pieces.pop_back();
  EXPECT_EQ(encode(vocabulary_of(pieces), "a\u00E9"), (Ids{3, 2}));
}

// An unused token never occurs in a text, though its score would win; </s> as text is unknown.
TEST(Unigram, ControlUnusedAndUnknownTokensAreNoText) {
  Vocabulary v = vocabulary_of({{"a", -1}, {"aa", 5, TokenType::kUnused}});
  EXPECT_EQ(encode(v, "aa"), (Ids{3, 3}));
  EXPECT_EQ(encode(v, "</s>"), (Ids{2}));
  EXPECT_EQ(encode(v, "a</s>a", {.parse_special = true}), (Ids{3, 1, 3}));
}

// They are found before the pieces, whatever their score, and the text on both sides is normalised
// as one text: spaces collapse beside them and only the very first gets a prefix.
TEST(Unigram, UserDefinedTokensArePartOfTheText) {
  Vocabulary v =
      vocabulary_of({{"\u2581", -1}, {"a", -1}, {"<x>", -50, TokenType::kUserDefined}, {"x", -1}});
  EXPECT_EQ(encode(v, "a<x>a"), (Ids{4, 5, 4}));
  EXPECT_EQ(encode(v, "a  <x>  a "), (Ids{4, 3, 5, 3, 4}));
  EXPECT_EQ(encode(v, "<x><x>"), (Ids{5, 5}));
  v.add_space_prefix = true;
  EXPECT_EQ(encode(v, "<x>a"), (Ids{3, 5, 4}));  // one prefix for the whole
}

// T5 ends each text with </s>, even an empty one. A begin token that a file wants must be named:
// this kind has none by default, and id 0 is <pad> here.
TEST(Unigram, TheEndTokenIsTheDefault) {
  Vocabulary v = vocabulary_of({{"\u2581", -1}, {"a", -1}});
  v.add_eos.reset();
  v.add_space_prefix.reset();
  EXPECT_EQ(encode(v, "a"), (Ids{3, 4, 1}));
  EXPECT_EQ(encode(v, ""), (Ids{1}));
  EXPECT_EQ(encode(v, "a", {.add_special = false}), (Ids{3, 4}));
  EXPECT_EQ(make(v)->decode(Ids{3, 4, 1}), "a");
  v.add_bos = true;
  EXPECT_EQ(make(v)->encode("a").error().code, ErrorCode::kFailedPrecondition);  // none is named
  v.special.bos = 0;
  EXPECT_EQ(encode(v, "a"), (Ids{0, 3, 4, 1}));
}

// Infinite scores would make sums equal or NaN. The limit on a piece bounds the search at each
// place of a text. Whatever the type of <unk>, its id is what stands for unknown text.
TEST(Unigram, RefusesBrokenVocabularies) {
  for (const float score :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    const auto broken = make_tokenizer(vocabulary_of({{"a", score}}));
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().message, "The score of token 3 is not a finite number.");
  }
  const std::string longest(kMaxPieceBytes, 'a');
  EXPECT_EQ(encode(vocabulary_of({{longest, -1}}), longest), (Ids{3}));
  const auto too_long = make_tokenizer(vocabulary_of({{longest + "a", -1}}));
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().message, "Token 3 has 1025 bytes; the limit of this kind is 1024.");
  Vocabulary v = vocabulary_of({{"a", -1}});
  v.precompiled_charsmap = "\x10";
  EXPECT_EQ(make_tokenizer(v).error().code, ErrorCode::kInvalidArgument);
  v.precompiled_charsmap = "";
  v.types[2] = TokenType::kControl;  // still <unk> by its id
  EXPECT_EQ(encode(v, "x"), (Ids{2}));
}

// All pieces of 1 to 200 letters begin at each place: 40 million steps. Looking back over the whole
// text at each place would be 20 thousand million.
TEST(Unigram, TimeIsLinearInTheText) {
  std::vector<Piece> pieces;
  for (size_t size = 1; size <= 200; ++size) {
    pieces.push_back({std::string(size, 'a'), -static_cast<float>(size)});
  }
  const auto tokenizer = make(vocabulary_of(pieces));
  const std::clock_t begin = std::clock();
  const auto ids = tokenizer->encode(std::string(200'000, 'a'), {});
  ASSERT_TRUE(ids);
  EXPECT_EQ(tokenizer->decode(*ids).size(), 200'000U);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 20.0);  // 0.2 s is usual
}

}  // namespace
}  // namespace quern
