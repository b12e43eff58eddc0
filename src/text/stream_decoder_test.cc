#include "text/stream_decoder.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <random>

#include "text/utf8.h"

namespace quern {
namespace {

// Ids 0 to 255 are the bytes; 256 is control, 257 "▁a", 258 a token that ends inside a character.
std::unique_ptr<Tokenizer> byte_tokenizer() {
  Vocabulary v{.model = "llama"};
  for (int b = 0; b < 256; ++b) v.tokens.push_back(fmt::format("<0x{:02X}>", b));
  v.types.assign(256, TokenType::kByte);
  v.tokens.insert(v.tokens.end(), {"<s>", "\u2581a", "x\xF0\x9F"});
  v.types.insert(v.types.end(), {TokenType::kControl, TokenType::kNormal, TokenType::kNormal});
  auto tokenizer = make_tokenizer(std::move(v));
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return std::move(*tokenizer);
}

// E2 82 AC is the euro sign. Token 258 ends with the first two bytes of U+1F600 (F0 9F 98 80): its
// x is shown at once, the rest waits for the tokens of the other two.
TEST(StreamDecoder, HoldsACharacterUntilItIsWhole) {
  const auto tokenizer = byte_tokenizer();
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.push(0xE2), "");
  EXPECT_EQ(decoder.push(0x82), "");
  EXPECT_EQ(decoder.push(0xAC), "\u20AC");
  EXPECT_EQ(decoder.push(258), "x");
  EXPECT_EQ(decoder.push(0x98), "");
  EXPECT_EQ(decoder.push(0x80), "\U0001F600");
  EXPECT_EQ(decoder.flush(), "");
}

// As soon as the next byte cannot go on with it: holding it longer would delay good text. A second
// F0 replaces the first and is held itself, until flush() ends the stream.
TEST(StreamDecoder, WhatCannotBecomeACharacterIsReplacedAtOnce) {
  const auto tokenizer = byte_tokenizer();
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push(0xE2), "");
  EXPECT_EQ(decoder.push('b'), "\uFFFDb");
  EXPECT_EQ(decoder.push(0xFF), "\uFFFD");
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0xF0), "\uFFFD");
  EXPECT_EQ(decoder.flush(), "\uFFFD");
  EXPECT_EQ(decoder.flush(), "");
}

// SentencePiece puts a space before a text, which is not part of it; a control token before it does
// not count. flush() makes the decoder as new.
TEST(StreamDecoder, OnlyTheFirstSpaceIsTakenOff) {
  const auto tokenizer = byte_tokenizer();
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push(256), "");
  EXPECT_EQ(decoder.push(257), "a");
  EXPECT_EQ(decoder.push(257), " a");
  EXPECT_EQ(decoder.flush(), "");
  EXPECT_EQ(decoder.push(257), "a");  // begins anew
  StreamDecoder going_on(*tokenizer, {.strip_space_prefix = false});
  EXPECT_EQ(going_on.push(257), " a");
}

// A sampler that returns an id outside the vocabulary must not end the program.
TEST(StreamDecoder, SpecialTokensAppearOnDemandAndUnknownIdsNever) {
  const auto tokenizer = byte_tokenizer();
  StreamDecoder decoder(*tokenizer, {.skip_special = false});
  EXPECT_EQ(decoder.push(256), "<s>");
  EXPECT_EQ(decoder.push(-1), "");
  EXPECT_EQ(decoder.push(1 << 20), "");
}

// The definition: what decoding all ids at once gives, with invalid bytes replaced. Two thirds of
// the ids are from a list of bytes of real characters, so that characters often become whole or
// nearly so; ED begins surrogates, which UTF-8 forbids.
TEST(StreamDecoder, PiecesAreValidAndTogetherTheReplacedText) {
  const auto tokenizer = byte_tokenizer();
  std::mt19937 random(7);
  const int32_t likely[] = {0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80, 'a', 257, 258, 256, 0xED};
  for (int round = 0; round < 2'000; ++round) {
    std::vector<int32_t> ids(random() % 12);
    for (int32_t& id : ids) id = random() % 3 ? likely[random() % 12] : random() % 259;
    StreamDecoder decoder(*tokenizer);
    std::string all;
    for (const int32_t id : ids) {
      const std::string piece = decoder.push(id);
      ASSERT_EQ(valid_utf8_prefix(piece), piece.size());
      all += piece;
    }
    all += decoder.flush();
    ASSERT_EQ(all, replace_invalid_utf8(tokenizer->decode(ids)));
  }
}

}  // namespace
}  // namespace quern
