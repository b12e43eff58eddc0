#include "text/character_map.h"

#include <gtest/gtest.h>

#include <random>

#include "text/unigram_test_data.h"

namespace quern {
namespace {

// The map of a model that SentencePiece trained.
std::string trained_bytes() {
  return unigram_vocabulary(unigram_test_data()["vocabularies"]["a"]).precompiled_charsmap;
}

// The header of a map is such a number, the size of its array in bytes, and the array's units are,
// too.
// Four bytes, little-endian.
std::string u32(uint32_t value) {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

// "e" followed by an accent has a rule while "e" alone has none; a zero byte must not count as the
// end of a rule's text.
TEST(CharacterMap, FindsTheLongestRule) {
  const auto map = CharacterMap::make(trained_bytes());
  ASSERT_TRUE(map) << map.error().message;
  const auto expect = [&](std::string_view text, size_t size, std::string_view replacement) {
    const auto match = map->match(text);
    EXPECT_EQ(match.size, size) << text;
    EXPECT_EQ(match.replacement, replacement) << text;
  };
  expect("\uFB01ne", 3, "fi");
  expect("\u00A0x", 2, " ");
  expect("e\u0301te", 3, "\u00E9");
  expect("\u200B", 3, "");  // deleted
  expect("\u2026", 3, "...");
  expect("ete", 0, "");  // begins like a rule and is none
  expect("plain", 0, "");
  expect("", 0, "");
  expect(std::string_view("\0", 1), 0, "");
  expect("\xFB", 0, "");
}

TEST(CharacterMap, WithoutBytesNothingMatches) {
  const auto map = CharacterMap::make("");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->match("\uFB01").size, 0U);
  EXPECT_EQ(CharacterMap().match("a").size, 0U);
  EXPECT_EQ(CharacterMap::make(u32(0))->match("a").size, 0U);  // an array of no units
}

// In order: no room for the header; an array that is longer than the rest; a size near 2^32 that
// would wrap if the header's four bytes were added; an array of broken units; replacements without
// a final zero; a replacement of exactly the limit and one byte more.
TEST(CharacterMap, RefusesWhatDoesNotFit) {
  EXPECT_EQ(CharacterMap::make("abc").error().message,
            "The character map has 3 bytes; its header needs 4.");
  EXPECT_EQ(CharacterMap::make(u32(8) + u32(0)).error().message,
            "The character map of 8 bytes says that its array has 8.");
  EXPECT_EQ(CharacterMap::make(u32(0xFFFFFFFF) + u32(0)).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(CharacterMap::make(u32(3) + "abc"));
  EXPECT_EQ(CharacterMap::make(u32(4) + u32(0) + "abc").error().message,
            "The last text of the character map has no end.");
  EXPECT_TRUE(CharacterMap::make(u32(4) + u32(0) + std::string(1024, 'x') + '\0'));
  EXPECT_EQ(CharacterMap::make(u32(4) + u32(0) + std::string(1025, 'x') + '\0').error().message,
            "A text of the character map has 1025 bytes; the limit is 1024.");
}

// Every unit of a map is read with every other content at some time.
TEST(CharacterMap, DamagedArraysAreHarmless) {
  const std::string good = trained_bytes();
  std::mt19937 random(11);
  size_t num_matches = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    // The low 16 bits of the header: the array is shorter than 64 KiB.
    const size_t array_bytes =
        static_cast<uint8_t>(bytes[0]) + 256U * static_cast<uint8_t>(bytes[1]);
    for (int i = 0; i < 8; ++i) {
      bytes[4 + random() % array_bytes] = static_cast<char>(random());
    }
    const auto map = CharacterMap::make(bytes);
    ASSERT_TRUE(map);
    std::string text;
    for (int i = 0; i < 20; ++i) text.push_back(static_cast<char>(random()));
    text += "\uFB01e\u0301\u2026";
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(1)) {
      const auto match = map->match(rest);
      EXPECT_LE(match.size, rest.size());
      num_matches += match.size > 0;
    }
  }
  EXPECT_GT(num_matches, 0U);
}

// Unit 97 is labelled 'a' and has the offset 97: 97 ^ 97 leads to node 0, and the next a from there
// to unit 97 again. Each step has a value (bit 8), so each is a match.
// A node that is its own child would be followed through the whole text.
TEST(CharacterMap, ALoopInTheArrayEndsAtTheLimit) {
  std::string bytes = u32(4 * 256);
  for (uint32_t i = 0; i < 256; ++i) {
    bytes += u32(i == 0 ? 0 : 'a' | 1U << 8 | uint32_t{'a'} << 10);  // offset 'a': back to itself
  }
  const auto map = CharacterMap::make(bytes + "x" + '\0');
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_LE(map->match(std::string(100'000, 'a')).size, CharacterMap::kMaxRuleBytes);
}

}  // namespace
}  // namespace quern
