// Classes and case against Python 3.11 (unicodedata 14.0).
#include "text/jinja/characters.h"

#include <gtest/gtest.h>

#include "text/jinja/special_case_table.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// All code points of the basic plane, as a list that Python printed.
TEST(Characters, SpacesAreThoseOfStrIsspace) {
  // [c for c in range(0x110000) if chr(c).isspace()]
  const std::vector<uint32_t> expected = {
      0x9,    0xa,    0xb,    0xc,    0xd,    0x1c,   0x1d,   0x1e,   0x1f,   0x20,
      0x85,   0xa0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
      0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};
  std::vector<uint32_t> spaces;
  for (uint32_t c = 0; c < 0x110000; ++c) {
    if (is_space(c)) spaces.push_back(c);
  }
  EXPECT_EQ(spaces, expected);
}

// One sample of each class, from several scripts.
TEST(Characters, ClassesOfSamples) {
  struct Sample {
    uint32_t code_point;
    const char* classes;  // p printable, l letter, d digit, c cased, U upper, L lower, w word
  };
  // To notice: U+00AD, the soft hyphen, is not printable in Python although it stands in texts;
  // U+01C5 is a title-case letter, cased and neither upper nor lower; U+2160, a Roman numeral, is a
  // number that has case; U+00B2 is a word character that int() does not take; the numbers with E
  // are private or tags.
  const Sample samples[] = {
      {'a', "plcLw"},   {'Z', "plcUw"},  {'0', "pdw"},    {'_', "pw"},      {' ', "p"},
      {'-', "p"},       {0x7f, ""},      {0x00, ""},      {0xa0, ""},       {0xad, ""},
      {0xe9, "plcLw"},  {0xc9, "plcUw"}, {0x1c5, "plcw"}, {0x4e00, "plw"},  {0x661, "pdw"},
      {0x2160, "pcUw"}, {0xb2, "pw"},    {0x301, "p"},    {0x200b, ""},     {0xe000, ""},
      {0x1f642, "p"},   {0xe0001, ""},   {0x2028, ""},    {0x3000, ""},     {0x10ffff, ""},
      {0x0e01, "plw"},  {0x20ac, "p"},   {0xdf, "plcLw"}, {0xfb01, "plcLw"}};
  for (const Sample& sample : samples) {
    const uint32_t c = sample.code_point;
    std::string classes;
    if (is_printable(c)) classes += 'p';
    if (is_letter(c)) classes += 'l';
    if (is_digit(c)) classes += 'd';
    if (is_cased(c)) classes += 'c';
    if (is_upper(c)) classes += 'U';
    if (is_lower(c)) classes += 'L';
    if (is_word(c)) classes += 'w';
    EXPECT_EQ(classes, sample.classes) << std::hex << c;
  }
}

// Sharp s, ligatures and letters with marks.
TEST(Characters, CaseMappingsMayChangeTheLength) {
  EXPECT_EQ(to_upper("straße ﬁ ŉ ΐ"), "STRASSE FI ʼN \xCE\x99\xCC\x88\xCC\x81");
  // Lower İ is i with a dot above, two characters.
  EXPECT_EQ(to_lower("İSTANBUL"), "i̇stanbul");
  // A sigma at the end of a word is ς, inside of it σ, and σ where no letter stands before it.
  EXPECT_EQ(to_lower("ΑΣ ΑΣΑ Σ"), "ας ασα σ");
  // The first character gets its title form, which for a few letters is not the upper one.
  EXPECT_EQ(capitalize("ǆUNGLA"), "ǅungla");
  EXPECT_EQ(capitalize("ßA"), "Ssa");
  EXPECT_EQ(title("ﬂ ab-cd éa"), "Fl Ab-Cd Éa");
  EXPECT_EQ(fold_case("Straße ΣΑΣ İ"), "strasse σασ i̇");
  EXPECT_EQ(to_upper(""), "");
}

// Bytes that are not UTF-8 pass through every mapping.
TEST(Characters, BrokenTextStaysAsItIs) {
  const std::string broken = "a\xFF\xC3 b\xE2\x82";
  EXPECT_EQ(to_upper(broken), "A\xFF\xC3 B\xE2\x82");
  EXPECT_EQ(to_lower(broken), broken);
  EXPECT_EQ(fold_case(broken), broken);
  // a, FF, C3, the space, b, and E2 82 as one: an unfinished sequence counts once.
  EXPECT_EQ(count_characters(broken), 6);
  EXPECT_EQ(split_characters(broken).size(), 6U);
  EXPECT_EQ(strip_right(broken), broken);
  EXPECT_EQ(strip_left("\x80 a"), "\x80 a");
}

// Three views of the same text, with bytes that are no UTF-8 in it.
TEST(Characters, CountOffsetAndSplitAgree) {
  for (const std::string text :
       {"", "a", "é", "日本語", "a🙂b", "e\u0301", "\xFF\xFE", "ab\xE2"}) {
    const auto parts = split_characters(text);
    EXPECT_EQ(count_characters(text), static_cast<int64_t>(parts.size())) << text;
    size_t offset = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(character_offset(text, static_cast<int64_t>(i)), offset);
      offset += parts[i].size();
    }
    EXPECT_EQ(offset, text.size());
    // Indices past the end or before the begin stop there, as the bounds of slices do.
    EXPECT_EQ(character_offset(text, 1000), text.size());
    EXPECT_EQ(character_offset(text, -1), 0U);
  }
}

// A set may hold characters of several bytes.
TEST(Characters, StripTakesWhiteSpaceOrASet) {
  EXPECT_EQ(strip_left(" \u3000\ta "), "a ");
  EXPECT_EQ(strip_right(" a\u2003\n"), " a");
  const std::string set = "é日";
  EXPECT_EQ(strip_left("é日aé", &set), "aé");
  EXPECT_EQ(strip_right("éaé日", &set), "éa");
  const std::string nothing;
  EXPECT_EQ(strip_left(" a", &nothing), " a");
  EXPECT_EQ(strip_right("   "), "");
}

// Mapping to upper case twice is mapping once, for every character but those that Unicode itself
// makes an exception of.
TEST(Characters, UpperCaseIsIdempotent) {
  for (uint32_t c = 0; c < 0x20000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(c, text);
    const std::string once = to_upper(text);
    ASSERT_EQ(to_upper(once), once) << std::hex << c;
    const std::string folded = fold_case(text);
    ASSERT_EQ(fold_case(folded), folded) << std::hex << c;
  }
}

// The table goes from ß (DF) to the last Armenian ligature (FB17).
// The search is binary: ends and gaps are where it can fail.
TEST(SpecialCases, AreFoundAtBothEndsOfTheTable) {
  EXPECT_EQ(find_special_case(0xDE), nullptr);
  ASSERT_NE(find_special_case(0xDF), nullptr);
  EXPECT_EQ(find_special_case(0xDF)->upper, "SS");
  EXPECT_EQ(find_special_case(0xDF)->title, "Ss");
  ASSERT_NE(find_special_case(0xFB17), nullptr);
  EXPECT_EQ(find_special_case(0xFB18), nullptr);
  EXPECT_EQ(find_special_case('a'), nullptr);
  EXPECT_EQ(find_special_case(0x10FFFF), nullptr);
}

}  // namespace
}  // namespace quern::jinja
