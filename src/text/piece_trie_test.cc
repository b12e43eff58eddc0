#include "text/piece_trie.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

namespace quern {
namespace {

using Found = std::vector<std::pair<size_t, int32_t>>;

// All pieces that the text begins with.
Found prefixes(const PieceTrie& trie, std::string_view text) {
  Found found;
  trie.for_each_prefix(text, [&](size_t size, int32_t id) { found.emplace_back(size, id); });
  return found;
}

// Pieces come shortest first. FF is a byte like any other; a signed one would index before the
// table.
TEST(PieceTrie, FindsAllPiecesThatATextBeginsWith) {
  const PieceTrie trie({{"abc", 0}, {"a", 1}, {"ab", 2}, {"b", 3}, {"abd", 4}, {"\xFF", 5}});
  EXPECT_EQ(prefixes(trie, "abcd"), (Found{{1, 1}, {2, 2}, {3, 0}}));
  EXPECT_EQ(prefixes(trie, "ab"), (Found{{1, 1}, {2, 2}}));
  EXPECT_EQ(prefixes(trie, "b"), (Found{{1, 3}}));
  EXPECT_EQ(prefixes(trie, "\xFF\xFF"), (Found{{1, 5}}));
  EXPECT_EQ(prefixes(trie, "c"), Found{});
  EXPECT_EQ(prefixes(trie, ""), Found{});
}

TEST(PieceTrie, EmptyTreesFindNothing) {
  EXPECT_EQ(prefixes(PieceTrie(), "a"), Found{});
}

TEST(PieceTrie, OfEqualTextsTheLowestIdCounts) {
  EXPECT_EQ(prefixes(PieceTrie({{"a", 9}, {"a", 3}, {"a", 5}}), "a"), (Found{{1, 3}}));
}

// 500 draws from four letters repeat many texts, so the rule of the lowest id is at work, too:
// std::find stops at the first of the list. The letters 80 and FE have their top bit set.
// Against a search through a list.
TEST(PieceTrie, AgreesWithAPlainSearch) {
  std::mt19937 random(5);
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (size_t n = 1 + random() % 6; n > 0; --n) text.push_back("ab\x80\xFE"[random() % 4]);
    texts.push_back(text);
  }
  std::vector<PieceTrie::Piece> pieces;
  for (size_t i = 0; i < texts.size(); ++i) pieces.push_back({texts[i], static_cast<int32_t>(i)});
  const PieceTrie trie(pieces);
  for (const std::string& text : texts) {
    Found expected;
    for (size_t size = 1; size <= text.size(); ++size) {
      const auto at = std::find(texts.begin(), texts.end(), text.substr(0, size));
      if (at != texts.end()) expected.emplace_back(size, static_cast<int32_t>(at - texts.begin()));
    }
    EXPECT_EQ(prefixes(trie, text), expected);
  }
}

}  // namespace
}  // namespace quern
