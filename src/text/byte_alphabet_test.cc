#include "text/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

#include "text/utf8.h"

namespace quern {
namespace {

// GPT-2's bytes_to_unicode: the 188 bytes that print in Latin-1 stand for themselves, and the other
// 68 get the code points from U+0100 on in the order of their values.
TEST(ByteAlphabet, IsABijectionOnTheBytes) {
  std::set<uint32_t> letters;
  for (int b = 0; b < 256; ++b) {
    const uint32_t letter = byte_to_letter(static_cast<uint8_t>(b));
    letters.insert(letter);
    ASSERT_EQ(letter_to_byte(letter), static_cast<uint8_t>(b));
  }
  EXPECT_EQ(letters.size(), 256U);
}

// The space is the 33rd byte that does not print (0x100 + 32), the line feed the eleventh, and the
// soft hyphen AD the last of the 68 (0x100 + 67). What is one past it belongs to no byte, nor does
// the space as a letter.
TEST(ByteAlphabet, KnownLetters) {
  EXPECT_EQ(byte_to_letter(' '), 0x120U);   // Ġ
  EXPECT_EQ(byte_to_letter('\n'), 0x10AU);  // Ċ
  EXPECT_EQ(byte_to_letter('a'), 'a');
  EXPECT_EQ(byte_to_letter(0xAD), 0x143U);  // the last one
  EXPECT_EQ(letter_to_byte(' '), std::nullopt);
  EXPECT_EQ(letter_to_byte(0x144), std::nullopt);
}

// One letter that is none spoils the whole text: a plain space, SentencePiece's ▁, broken UTF-8.
TEST(ByteAlphabet, TextOutsideTheAlphabetHasNoBytes) {
  EXPECT_EQ(letters_to_bytes("\u0120the"), " the");
  EXPECT_EQ(letters_to_bytes(""), "");
  EXPECT_EQ(letters_to_bytes("a b"), std::nullopt);
  EXPECT_EQ(letters_to_bytes("\u2581the"), std::nullopt);
  EXPECT_EQ(letters_to_bytes("\xFF"), std::nullopt);
}

}  // namespace
}  // namespace quern
