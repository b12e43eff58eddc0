#include "text/bpe_tokenizer.h"

#include <gtest/gtest.h>

#include "text/byte_alphabet.h"
#include "text/utf8.h"

namespace quern {
namespace {

using Ids = std::vector<int32_t>;

// A byte's token has the byte as its id, so 'a' in an expected list is the token of the byte a;
// what is given begins at 256. A text that begins with < becomes a control token.
// 256 byte tokens, then what is given.
Vocabulary bytes_and(std::vector<std::string> more, std::vector<std::string> merges) {
  Vocabulary v{.model = "gpt2", .pre_tokenizer = "gpt-2", .merges = std::move(merges)};
  for (int b = 0; b < 256; ++b) {
    append_utf8(byte_to_letter(static_cast<uint8_t>(b)), v.tokens.emplace_back());
  }
  v.types.assign(256, TokenType::kNormal);
  for (std::string& text : more) {
    v.types.push_back(text.starts_with("<") ? TokenType::kControl : TokenType::kNormal);
    v.tokens.push_back(std::move(text));
  }
  return v;
}

// The tokenizer, which must be possible to make.
std::unique_ptr<Tokenizer> make(const Vocabulary& v) {
  auto tokenizer = make_tokenizer(v);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

// The ids of a text that must be possible to encode.
Ids encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
  const auto ids = tokenizer.encode(text, options);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids ? *ids : Ids{};
}

// Why the vocabulary makes no tokenizer.
std::string error_of(const Vocabulary& v) {
  const auto tokenizer = make_tokenizer(v);
  return tokenizer ? "" : tokenizer.error().message;
}

// Merging from left to right would give "ab" and "c", or "abc"; "b c" has the first rank and leaves
// nothing that "ab c" could join.
TEST(BpeTokenizer, MergesInTheOrderOfTheFile) {
  const auto tokenizer = make(bytes_and({"bc", "ab", "abc"}, {"b c", "a b", "ab c"}));
  EXPECT_EQ(encode(*tokenizer, "abc"), (Ids{'a', 256}));  // "b c" comes first
  EXPECT_EQ(encode(*tokenizer, "abab"), (Ids{257, 257}));
  EXPECT_EQ(encode(*tokenizer, ""), Ids{});
}

// "ignore_merges" of a tokenizer.json: a word that is a token is taken as it is, although its
// merges lead elsewhere. "abca" is no token, so its merges apply.
TEST(BpeTokenizer, WholeWordsAreNotMergedWhereTheModelSaysSo) {
  Vocabulary v = bytes_and({"bc", "ab", "abc"}, {"b c", "a b", "ab c"});
  v.pre_tokenizer = "llama-bpe";
  v.add_bos = false;
  EXPECT_EQ(encode(*make(v), "abc"), Ids{258});
  EXPECT_EQ(encode(*make(v), "abca"), (Ids{'a', 256, 'a'}));
}

// "xy" is no token, yet a step on the way to one: it must be kept while merging and come apart only
// if it is left at the end. "p q" leads to nothing at all.
TEST(BpeTokenizer, AMergeIntoNoTokenFallsBackToBytes) {
  const auto tokenizer = make(bytes_and({"xyz"}, {"x y", "xy z", "p q"}));
  EXPECT_EQ(encode(*tokenizer, "xyz"), Ids{256});
  EXPECT_EQ(encode(*tokenizer, "xy"), (Ids{'x', 'y'}));
  EXPECT_EQ(encode(*tokenizer, "pq"), (Ids{'p', 'q'}));
}

// A vocabulary of the token of one byte: b is then unknown, and an error while no token stands for
// unknown text.
TEST(BpeTokenizer, BytesWithoutATokenAreUnknownOrAnError) {
  Vocabulary v{.model = "gpt2", .pre_tokenizer = "gpt-2", .tokens = {"a", "[U]"}};
  const auto refused = make(v)->encode("ab");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message,
            "The vocabulary has no token for the byte 0x62 and none for unknown text.");
  v.special.unk = 1;
  EXPECT_EQ(encode(*make(v), "ab"), (Ids{0, 1}));
}

TEST(BpeTokenizer, AnyBytesComeBack) {
  const auto tokenizer = make(bytes_and({"\u0120t", "ab"}, {"\u0120 t", "a b"}));
  // Bytes that never occur, a character of three bytes that lacks its last, a surrogate, and a
  // character of four that lacks two at the very end.
  const std::string text = "ab t\xFF\xFE t\xE2\x82 ab\xED\xA0\x80\xF0\x9F";
  EXPECT_EQ(tokenizer->decode(encode(*tokenizer, text)), text);
  // Neither side of a broken byte merges over it, and each side is a text of its own.
  EXPECT_EQ(encode(*tokenizer,
                   "a\xFF"
                   "b"),
            (Ids{'a', 0xFF, 'b'}));
  EXPECT_EQ(encode(*tokenizer, "\xFF t"), (Ids{0xFF, 256}));
}

// The letters of the bytes FF and FE are U+00FF and U+00FE themselves; the token 256 is what the
// only merge makes of them.
TEST(BpeTokenizer, BrokenBytesInARunAreMergedAsOneWord) {
  Vocabulary v = bytes_and({}, {"\u00FF \u00FE"});
  v.tokens.push_back("\u00FF\u00FE");
  v.types.push_back(TokenType::kNormal);
  EXPECT_EQ(encode(*make(v),
                   "a\xFF\xFE"
                   "b"),
            (Ids{'a', 256, 'b'}));
}

// U+FFFD in UTF-8 is EF BF BD, which the two merges make token 256. Without a token for the byte
// F1, a whole character (F1 80 80 80) is one U+FFFD, while in a broken sequence each byte counts
// for itself.
TEST(BpeTokenizer, WhatHasNoTokenBecomesTheReplacementCharacter) {
  Vocabulary v = bytes_and({"\u00EF\u00BF\u00BD"}, {"\u00EF \u00BF", "\u00EF\u00BF \u00BD"});
  v.tokens[0xF1] = "(no F1)";
  v.tokens[0x03] = "(no 03)";
  // As in DeepSeek's files: U+00F8, the letter of the byte F8, is a user-defined token.
  v.types[0xF8] = TokenType::kUserDefined;
  const auto tokenizer = make(v);
  EXPECT_EQ(encode(*tokenizer, "a\xF1\x80\x80\x80z"), (Ids{'a', 256, 'z'}));
  EXPECT_EQ(encode(*tokenizer, "\xF1\x80"), (Ids{256, 0x80}));
  EXPECT_EQ(encode(*tokenizer, "a\x03"), (Ids{'a', 256}));
  EXPECT_EQ(encode(*tokenizer, "a\xF8"), (Ids{'a', 256}));
  EXPECT_EQ(tokenizer->decode(Ids{256}), "\uFFFD");
  EXPECT_EQ(encode(*tokenizer, "\u00F8"), Ids{0xF8});
  EXPECT_EQ(tokenizer->decode(Ids{0xF8}), "\u00F8");
}

// Text of a user must not be able to end a turn: unless asked for, the ten characters of <|im_end|>
// are ten byte tokens. Its text alone makes the token the end of a turn.
TEST(BpeTokenizer, SpecialTokensAreReadOnlyOnDemand) {
  Vocabulary v = bytes_and({"<|im_end|>"}, {});
  const auto tokenizer = make(v);
  EXPECT_EQ(encode(*tokenizer, "a<|im_end|>", {.parse_special = true}), (Ids{'a', 256}));
  EXPECT_EQ(encode(*tokenizer, "<|im_end|>").size(), 10U);
  EXPECT_EQ(tokenizer->decode(Ids{'a', 256}), "a");
  EXPECT_EQ(tokenizer->decode(Ids{'a', 256}, {.skip_special = false}), "a<|im_end|>");
  EXPECT_TRUE(tokenizer->is_end_of_generation(256));
  EXPECT_EQ(tokenizer->special_ids().eot, 256);
}

// The order of the three sources: the caller's option, the file's flag, the default of the
// pre-tokenizer's model.
TEST(BpeTokenizer, BeginAndEndAreAddedWhereTheFileOrTheModelSaysSo) {
  Vocabulary v = bytes_and({"<b>", "<e>"}, {});
  v.special.bos = 256;
  v.special.eos = 257;
  EXPECT_EQ(encode(*make(v), "a"), Ids{'a'});
  v.add_bos = v.add_eos = true;
  EXPECT_EQ(encode(*make(v), "a"), (Ids{256, 'a', 257}));
  EXPECT_EQ(encode(*make(v), ""), (Ids{256, 257}));
  EXPECT_EQ(encode(*make(v), "a", {.add_special = false}), Ids{'a'});
  v.add_bos = v.add_eos = std::nullopt;
  v.pre_tokenizer = "llama-bpe";  // this model begins with one unless told not to
  EXPECT_EQ(encode(*make(v), "a"), (Ids{256, 'a'}));
}

// Found on encoding and not when the tokenizer is made: such a file is still of use without special
// tokens.
TEST(BpeTokenizer, AMissingBeginTokenIsAnErrorWhenItIsWanted) {
  Vocabulary v = bytes_and({}, {});
  v.add_bos = true;
  const auto tokenizer = make(v);
  EXPECT_EQ(encode(*tokenizer, "a", {.add_special = false}), Ids{'a'});
  const auto refused = tokenizer->encode("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(refused.error().message,
            "The model wants a begin token, and its vocabulary names none.");
}

// The text of a token is in the letters of bytes, its bytes are what it stands for. Ids of no token
// (-1, one past the last, far outside) give nothing and must not be read from memory.
TEST(BpeTokenizer, TokensHaveATextAndBytes) {
  const auto tokenizer = make(bytes_and({"\u0120the", "<|x|>"}, {}));
  EXPECT_EQ(tokenizer->token_text(256), "\u0120the");
  EXPECT_EQ(tokenizer->token_bytes(256), " the");
  EXPECT_EQ(tokenizer->token_bytes('\n'), "\n");
  EXPECT_EQ(tokenizer->token_bytes(257), "<|x|>");
  EXPECT_EQ(tokenizer->token_text(258), "");
  EXPECT_EQ(tokenizer->token_bytes(-1), "");
  EXPECT_EQ(tokenizer->decode(Ids{-1, 'a', 258, 1 << 30}), "a");
  EXPECT_EQ(tokenizer->vocab_size(), 258);
  EXPECT_EQ(tokenizer->find_token("<|x|>"), 257);
}

TEST(BpeTokenizer, AnUnknownPreTokenizerIsAnErrorThatListsThoseKnown) {
  Vocabulary v = bytes_and({}, {});
  v.pre_tokenizer = "gpt-99";
  const std::string message = error_of(v);
  EXPECT_TRUE(message.starts_with("The pre-tokenizer 'gpt-99' is not known; known are: a.x-4.0, "))
      << message;
  EXPECT_NE(message.find("llama-bpe"), std::string::npos);
}

// The message names the merge by its place in the file's list, counted from 0.
TEST(BpeTokenizer, AMergeWithoutTwoSidesIsAnError) {
  const std::string expected = "; it needs two sides with a space between.";
  EXPECT_EQ(error_of(bytes_and({}, {"a b", "ab"})), "Merge 1 is 'ab'" + expected);
  EXPECT_EQ(error_of(bytes_and({}, {"a "})), "Merge 0 is 'a '" + expected);
  EXPECT_EQ(error_of(bytes_and({}, {""})), "Merge 0 is ''" + expected);
}

TEST(MakeTokenizer, AnUnknownKindIsAnErrorThatListsThoseKnown) {
  const auto tokenizer = make_tokenizer({.model = "rwkv", .tokens = {"a"}});
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(tokenizer.error().message,
            "The tokenizer kind 'rwkv' is not known; known are: llama, gpt2, gemma4, bert, t5.");
}

}  // namespace
}  // namespace quern
