// Patterns with wildcards against their definition.
#include "base/glob.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace quern {
namespace {

// None too; nothing else is special.
TEST(Glob, StarsStandForAnyText) {
  struct {
    const char* name;
    const char* pattern;
    bool matches;
  // Each row pins a case where simple matchers go wrong: a star at either end, in the middle,
  // taking nothing, taken back, doubled, or too few characters left for the rest.
  } rows[] = {
      {"", "", true},
      {"", "*", true},
      {"", "a", false},
      {"a", "", false},
      {"layers.0.q", "layers.0.q", true},
      {"layers.0.q", "layers.0", false},
      {"layers.0", "layers.0.q", false},
      {"layers.0.q", "layers.*", true},
      {"layers.0.q", "*.q", true},
      {"layers.0.q", "*.k", false},
      {"layers.0.q", "layers.*.q", true},
      {"layers.q", "layers.*.q", false},  // both dots must be there
      {"layers..q", "layers.*.q", true},  // the star may take nothing
      {"a.b.c", "a*c", true},
      {"a.b.c", "a*b", false},
      {"abab", "*ab", true},  // the first "ab" is not the last
      {"aab", "*ab*", true},
      {"ab", "a*b*c", false},
      {"abc", "**", true},
      {"abc", "a**c", true},
      {"abc", "***d", false},
      {"a.c", "a?c", false},  // no other character is special
      {"a*c", "a*c", true},
      {"[x]", "[x]", true},
      {"A", "a", false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(matches_glob(row.pattern, row.name, 0), row.matches)
        << "'" << row.name << "' and '" << row.pattern << "'";
  }
}

// The definition: a star takes nothing, or one character and then again.
bool matches_by_definition(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    return matches_by_definition(name, pattern.substr(1)) ||
           (!name.empty() && matches_by_definition(name.substr(1), pattern));
  }
  return !name.empty() && name[0] == pattern[0] &&
         matches_by_definition(name.substr(1), pattern.substr(1));
}

// 20,000 pairs over two letters and stars.
// Two letters make many near matches; doubled stars in the alphabet make stars half of a pattern.
// Fixed seed; at least 1,000 of the pairs must match, or the test would prove little.
TEST(Glob, AgreesWithTheDefinition) {
  std::mt19937 random(1);
  const auto text = [&](std::string_view letters) {
    std::string made(random() % 8, ' ');
    for (char& c : made) c = letters[random() % letters.size()];
    return made;
  };
  int matches = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string name = text("ab"), pattern = text("ab**");
    const bool expected = matches_by_definition(name, pattern);
    matches += expected;
    ASSERT_EQ(matches_glob(pattern, name, 0), expected) << name << " and " << pattern;
  }
  EXPECT_GT(matches, 1000);
}

// Trying every split of the name among the stars would take longer than anyone waits.
// The definition would try about C(200, 40) splits; the matcher's bound is 200 * 80 steps.
TEST(Glob, ManyStarsTakeNoTime) {
  const std::string name(200, 'a');
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_TRUE(matches_glob(pattern, name, 0));
  EXPECT_FALSE(matches_glob(pattern + "b", name));
}

// Exactly one byte, and a star may give it up again.
// With '?' by default, another character, or none.
TEST(Glob, OneCharacterStandsForAnyOneByte) {
  EXPECT_TRUE(matches_glob("a?c", "abc"));
  EXPECT_TRUE(matches_glob("a?c", "a?c"));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
  EXPECT_FALSE(matches_glob("a?c", "abbc"));
  EXPECT_FALSE(matches_glob("?", ""));
  EXPECT_TRUE(matches_glob("*?", "a"));
  EXPECT_FALSE(matches_glob("*?", ""));
  EXPECT_TRUE(matches_glob("blk.?.attn_*", "blk.7.attn_q.weight"));
  EXPECT_FALSE(matches_glob("blk.?.attn_*", "blk.17.attn_q.weight"));
  EXPECT_TRUE(matches_glob("a#c", "abc", '#'));
  EXPECT_FALSE(matches_glob("a#c", "abc"));
}

}  // namespace
}  // namespace quern
