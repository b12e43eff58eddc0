#include "text/utf8.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// All 1,112,064 scalar values: the code points but for the 2,048 surrogates.
TEST(Utf8, EveryCodePointSurvivesEncodingAndDecoding) {
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(c, text);
    const Utf8Step step = decode_utf8(text);
    ASSERT_EQ(step.status, Utf8Status::kValid) << c;
    ASSERT_EQ(step.code_point, c);
    ASSERT_EQ(step.size, text.size());
  }
}

TEST(Utf8, SurrogatesOverlongFormsAndLargeValuesAreInvalid) {
  // A surrogate; overlong forms of '/', 'A' and U+07FF; a byte that only goes on; a byte that never
  // occurs; U+110000, one past the last; a lead byte above the last. One byte is taken each time:
  // the next may begin a character.
  const char* texts[] = {"\xED\xA0\x80", "\xC0\xAF", "\xC1\x81",         "\xE0\x9F\xBF",
                         "\x80",         "\xFF",     "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"};
  for (const char* text : texts) {
    EXPECT_EQ(decode_utf8(text).status, Utf8Status::kInvalid) << text;
    EXPECT_EQ(decode_utf8(text).size, 1U) << text;
    EXPECT_EQ(valid_utf8_prefix(text), 0U) << text;
  }
}

// A stream waits on kTruncated for more bytes and not on kInvalid. A sequence that breaks off
// before other text takes up all its good bytes, as Unicode recommends (maximal subpart).
TEST(Utf8, AnUnfinishedSequenceIsTruncatedNotInvalid) {
  const std::string euro = "\xE2\x82\xAC";
  EXPECT_EQ(decode_utf8(euro.substr(0, 1)).status, Utf8Status::kTruncated);
  EXPECT_EQ(decode_utf8(euro.substr(0, 2)).status, Utf8Status::kTruncated);
  EXPECT_EQ(decode_utf8(euro.substr(0, 2)).size, 2U);
  EXPECT_EQ(decode_utf8(euro + "x").status, Utf8Status::kValid);
  EXPECT_EQ(decode_utf8("\xE2\x82x").status, Utf8Status::kInvalid);
  EXPECT_EQ(decode_utf8("\xE2\x82x").size, 2U);
}

// Expected values from Python: bytes.decode("utf-8", errors="replace").
TEST(Utf8, ReplacementIsThatOfPython) {
  EXPECT_EQ(replace_invalid_utf8(""), "");
  EXPECT_EQ(replace_invalid_utf8("plain ascii text"), "plain ascii text");
  EXPECT_EQ(replace_invalid_utf8("a\xFF\xFE z"), "a\uFFFD\uFFFD z");
  EXPECT_EQ(replace_invalid_utf8("\xE2\x82"), "\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98 ok"), "\uFFFD ok");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x80\x80\x41"), "\uFFFD\uFFFD\uFFFD\x41");
}

}  // namespace
}  // namespace quern
