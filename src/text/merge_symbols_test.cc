#include "text/merge_symbols-inl.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace quern {
namespace {

using Table = std::map<std::pair<int32_t, int32_t>, Merge>;

// The definition: while any neighbours join, join the pair with the least priority, leftmost first.
std::vector<int32_t> merge_slowly(std::vector<int32_t> ids, const Table& table) {
  for (;;) {
    size_t best = ids.size();
    const Merge* best_merge = nullptr;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = table.find({ids[i], ids[i + 1]});
      if (found == table.end()) continue;
      if (best_merge && found->second.priority >= best_merge->priority) continue;
      best = i;
      best_merge = &found->second;
    }
    if (!best_merge) return ids;
    ids[best] = best_merge->merged;
    ids.erase(ids.begin() + static_cast<int64_t>(best) + 1);
  }
}

// The function under test: each id is a symbol of one byte, so a symbol's size is the number of ids
// that it took up. The list is followed by `next`, which must skip what was joined.
std::vector<int32_t> merge_fast(const std::vector<int32_t>& ids, const MergeTable& table) {
  MergeScratch scratch;
  for (const int32_t id : ids) scratch.push(id, 1);
  merge_symbols(scratch, [&](const Symbol& a, const Symbol& b) { return table.find(a.id, b.id); });
  std::vector<int32_t> merged;
  uint32_t end = 0;
  for (int32_t i = scratch.symbols.empty() ? -1 : 0; i >= 0;) {
    const Symbol& symbol = scratch.symbols[static_cast<size_t>(i)];
    EXPECT_EQ(symbol.begin, end);  // the symbols cover the text without gaps
    end += symbol.size;
    merged.push_back(symbol.id);
    i = symbol.next;
  }
  EXPECT_EQ(end, ids.size());
  return merged;
}

// Up to 30 merges with 20 priorities: some are equal, and then the left pair goes first. A merge of
// the m-th row may take what the rows before it made, so chains of merges occur, and a merge may
// have a better rank than those that lead to it. The map keeps the first of equal pairs, as the
// table must.
TEST(MergeSymbols, EqualsTheDefinitionOnRandomTables) {
  std::mt19937 random(1);
  const auto below = [&](uint32_t n) { return static_cast<int32_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    const int num_letters = 1 + below(4);
    const int num_merges = 1 + below(30);
    Table table;
    MergeTable fast(static_cast<size_t>(num_merges));
    for (int m = 0; m < num_merges; ++m) {
      const std::pair pair(below(static_cast<uint32_t>(num_letters + m)),
                           below(static_cast<uint32_t>(num_letters + m)));
      const Merge merge{static_cast<uint32_t>(below(20)), num_letters + m};  // with equal ranks
      table.insert({pair, merge});
      fast.insert(pair.first, pair.second, merge);
    }
    std::vector<int32_t> ids(static_cast<size_t>(below(60)));
    for (int32_t& id : ids) id = below(static_cast<uint32_t>(num_letters));
    ASSERT_EQ(merge_fast(ids, fast), merge_slowly(ids, table)) << "round " << round;
  }
}

TEST(MergeSymbols, NothingAndOneSymbolStay) {
  const MergeTable table;
  EXPECT_TRUE(merge_fast({}, table).empty());
  EXPECT_EQ(merge_fast({3}, table), std::vector<int32_t>{3});
}

// Not the better one: the order of the file decides, as in the libraries that wrote it.
TEST(MergeTable, TheFirstOfEqualPairsStays) {
  MergeTable table(2);
  table.insert(1, 2, {5, 10});
  table.insert(1, 2, {3, 11});
  ASSERT_NE(table.find(1, 2), nullptr);
  EXPECT_EQ(table.find(1, 2)->priority, 5U);
  EXPECT_EQ(table.find(2, 1), nullptr);
}

}  // namespace
}  // namespace quern
