// Tests of tiles of query rows: each token and head once, one sequence each, keys that all rows
// need.
#include "backends/cpu/steps/attention_tiles.h"

#include <gtest/gtest.h>

#include <map>

#include "backends/cpu/kernels/attention_kernels.h"

namespace quern::cpu {
namespace {

// Key 9 with a window of 4 sees 6, 7, 8, 9; a window wider than the past begins at 0.
TEST(VisibleKeys, AreAllUpToTheTokenOrAWindow) {
  EXPECT_EQ(visible_keys(0, 0).first, 0);
  EXPECT_EQ(visible_keys(0, 0).last, 1);
  EXPECT_EQ(visible_keys(9, 0).last, 10);
  EXPECT_EQ(visible_keys(9, 4).first, 6);
  EXPECT_EQ(visible_keys(9, 4).last, 10);
  EXPECT_EQ(visible_keys(2, 4).first, 0);
  EXPECT_EQ(visible_keys(9, 1).first, 9);
}

struct Case {
  std::vector<int32_t> positions;
  std::vector<int32_t> sequences;
  int64_t kv_heads;
  int64_t group;
  int64_t window;
};

class AttentionTiles : public testing::TestWithParam<Case> {};

// A row that no tile has would stay unwritten, one in two tiles would be written by two threads.
// Tiles may read more keys than a row sees, never fewer.
TEST_P(AttentionTiles, CoverEveryRowOnceAndItsKeys) {
  const Case& c = GetParam();
  const auto tokens = static_cast<int64_t>(c.positions.size());
  const auto tiles = cut_attention_tiles({c.positions.data(), c.sequences.data(), tokens},
                                         c.kv_heads, c.group, c.window);
  std::map<std::pair<int64_t, int64_t>, int> rows;  // by token and query head
  for (const AttentionTile& tile : tiles) {
    EXPECT_GE(tile.num_rows(), 1);
    EXPECT_LE(tile.num_rows(), kMaxTileRows);
    EXPECT_EQ(tile.first_head / c.group, tile.kv_head);
    EXPECT_EQ((tile.first_head + tile.num_heads - 1) / c.group, tile.kv_head);
    for (int64_t t = tile.first_token; t < tile.first_token + tile.num_tokens; ++t) {
      EXPECT_EQ(c.sequences[static_cast<size_t>(t)], tile.sequence);
      const KeyRange keys = visible_keys(c.positions[static_cast<size_t>(t)], c.window);
      EXPECT_LE(tile.keys.first, keys.first);
      EXPECT_GE(tile.keys.last, keys.last);
      for (int64_t h = tile.first_head; h < tile.first_head + tile.num_heads; ++h) ++rows[{t, h}];
    }
  }
  EXPECT_EQ(rows.size(), static_cast<size_t>(tokens * c.kv_heads * c.group));
  for (const auto& [row, count] : rows) EXPECT_EQ(count, 1) << row.first << " " << row.second;
}

// Parts of any size cover the pages of the keys in order, each inside one outer chunk.
TEST(TileParts, CoverThePagesInOrder) {
  // One key, a page, a page and one, the last key of a page, both sides of an outer chunk of 512
  // keys, several outer chunks.
  for (const KeyRange keys : {KeyRange{0, 1}, KeyRange{0, 64}, KeyRange{0, 65}, KeyRange{63, 64},
                              KeyRange{511, 513}, KeyRange{600, 2000}, KeyRange{0, 4096}}) {
    for (const int64_t pages_per_part : {int64_t{1}, int64_t{2}, kPagesPerOuter}) {
      AttentionTile tile;
      tile.keys = keys;
      const TileParts parts(tile, pages_per_part);
      ASSERT_GE(parts.count(), 1);
      int64_t next = keys.first / kInnerKeys;
      for (int64_t i = 0; i < parts.count(); ++i) {
        const PageRange pages = parts.pages(i);
        EXPECT_EQ(pages.first, next);
        EXPECT_GT(pages.last, pages.first);
        EXPECT_LE(pages.last - pages.first, pages_per_part);
        EXPECT_EQ(pages.first / kPagesPerOuter, parts.outer(i));
        EXPECT_EQ((pages.last - 1) / kPagesPerOuter, parts.outer(i));
        next = pages.last;
      }
      EXPECT_EQ(next, (keys.last + kInnerKeys - 1) / kInnerKeys);
    }
  }
}

std::vector<int32_t> counting(int32_t count) {
  std::vector<int32_t> values;
  for (int32_t i = 0; i < count; ++i) values.push_back(i);
  return values;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionTiles,
    testing::Values(Case{{}, {}, 1, 1, 0},                                          //
                    Case{{0}, {0}, 1, 1, 0},                                        //
                    Case{{7}, {3}, 2, 4, 0},                                        // decode
                    Case{counting(50), std::vector<int32_t>(50, 1), 2, 3, 0},       // prefill
                    Case{counting(50), std::vector<int32_t>(50, 1), 1, 1, 8},       // window
                    Case{counting(3), std::vector<int32_t>(3, 0), 1, 71, 0},        // large group
                    Case{{600, 5, 6, 700}, {0, 1, 1, 0}, 2, 2, 0},                  // mixed batch
                    Case{{4, 4, 4, 4}, {0, 1, 2, 3}, 1, 2, 3},                      // 4 decodes
                    Case{{9, 2, 1000, 0}, std::vector<int32_t>(4, 5), 1, 1, 10}));  // any order

}  // namespace
}  // namespace quern::cpu
