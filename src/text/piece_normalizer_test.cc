#include "text/piece_normalizer.h"

#include <gtest/gtest.h>

#include "text/unigram_test_data.h"

namespace quern {
namespace {

std::string normalize(std::string_view text, const PieceSpaces& spaces,
                      const CharacterMap& map = {}) {
  PieceNormalizer normalizer(map, spaces);
  normalizer.add_text(text);
  normalizer.finish();
  return normalizer.text();
}

// <sep>, foo and @@ are the user-defined tokens of the trained vocabularies.
// SentencePiece's own texts; those with user-defined tokens are in the test of the tokenizer.
TEST(PieceNormalizer, NormalisesAsSentencePiece) {
  const auto data = unigram_test_data();  // items() only refers to it
  for (const auto& [name, entry] : data["vocabularies"].items()) {
    const Vocabulary v = unigram_vocabulary(entry);
    const auto map = CharacterMap::make(v.precompiled_charsmap);
    ASSERT_TRUE(map);
    const PieceSpaces spaces{*v.add_space_prefix, *v.remove_extra_whitespaces};
    size_t num_cases = 0;
    for (const auto& item : entry["normalized"]) {
      const std::string text = item[0];
      if (text.find("<sep>") != std::string::npos || text.find("foo") != std::string::npos ||
          text.find("@@") != std::string::npos) {
        continue;
      }
      EXPECT_EQ(normalize(text, spaces, *map), item[1].get<std::string>()) << name << ": " << text;
      ++num_cases;
    }
    EXPECT_GE(num_cases, 25U);
  }
}

// At the beginning, at the end, and all but one in between; a tab counts only where a rule of the
// map turns it into a space.
TEST(PieceNormalizer, ExtraSpacesGo) {
  const PieceSpaces spaces{.add_prefix = false, .remove_extra = true};
  EXPECT_EQ(normalize("  a   b  ", spaces), "a\u2581b");
  EXPECT_EQ(normalize("   ", spaces), "");
  EXPECT_EQ(normalize("", spaces), "");
  EXPECT_EQ(normalize("a\tb", spaces), "a\tb");  // no rule makes it a space
}

// The prefix is itself one of the spaces that `remove_extra` collapses; an empty text, or one that
// has become empty, gets none.
TEST(PieceNormalizer, ThePrefixStandsBeforeTextOnly) {
  EXPECT_EQ(normalize("a", {true, true}), "\u2581a");
  EXPECT_EQ(normalize(" a", {true, true}), "\u2581a");
  EXPECT_EQ(normalize(" a", {true, false}), "\u2581\u2581a");
  EXPECT_EQ(normalize("   ", {true, true}), "");
  EXPECT_EQ(normalize(" ", {true, false}), "\u2581\u2581");
  EXPECT_EQ(normalize("", {true, false}), "");
}

// One for each broken byte: the two bytes of an unfinished character give two, other than in
// Python.
TEST(PieceNormalizer, BrokenUtf8BecomesReplacementCharacters) {
  EXPECT_EQ(normalize("a\xFF\xE6\xBC", {false, false}), "a\uFFFD\uFFFD\uFFFD");
}

// Places are in bytes of the normalised text, in which ▁ has three. Spaces beside a verbatim text
// collapse to one and do not go away, those at the very end do, and the spaces inside stay.
TEST(PieceNormalizer, VerbatimTextStays) {
  const CharacterMap map;
  PieceNormalizer normalizer(map, {true, true});
  normalizer.add_text(" a  ");
  EXPECT_EQ(normalizer.add_verbatim("<  x>"), 7U);  // behind ▁a▁
  normalizer.add_text("  b ");
  EXPECT_EQ(normalizer.add_verbatim("\u2581"), 19U);
  normalizer.add_text("  ");
  normalizer.finish();
  EXPECT_EQ(normalizer.text(), "\u2581a\u2581<  x>\u2581b\u2581\u2581");
}

}  // namespace
}  // namespace quern
