// Gaps of caches: examples, every short pair against the definition, and length.
#include "generate/cache_gap.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace quern {
namespace {

using Tokens = std::vector<int32_t>;

// Straight from the definition: every gap, the shortest first.
CacheGap by_definition(const Tokens& cached, const Tokens& ids) {
  const auto start = static_cast<size_t>(common_prefix(cached, ids));
  for (size_t count = 1; start + count < cached.size(); ++count) {
    Tokens left = cached;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(start),
               left.begin() + static_cast<std::ptrdiff_t>(start + count));
    if (common_prefix(left, ids) == static_cast<int64_t>(left.size())) {
      return {static_cast<int64_t>(start), static_cast<int64_t>(count)};
    }
  }
  return {};
}

void expect_gap(const Tokens& cached, const Tokens& ids, int64_t start, int64_t count) {
  const CacheGap gap = find_cache_gap(cached, ids);
  EXPECT_EQ(gap.count, count);
  if (count > 0) {
    EXPECT_EQ(gap.start, start);
  }
}

// From 0 to the shorter length.
TEST(CommonPrefix, EndsAtTheFirstDifference) {
  EXPECT_EQ(common_prefix({}, {}), 0);
  EXPECT_EQ(common_prefix(Tokens{1, 2, 3}, Tokens{1, 2, 4}), 2);
  EXPECT_EQ(common_prefix(Tokens{1, 2}, Tokens{1, 2, 4}), 2);
  EXPECT_EQ(common_prefix(Tokens{1, 2, 4}, Tokens{1, 2}), 2);
  EXPECT_EQ(common_prefix(Tokens{5}, Tokens{6}), 0);
}

// The example of the header, and a turn that is dropped whole.
TEST(CacheGap, IsTheTurnThatWasDropped) {
  expect_gap({1, 2, 3, 4, 5}, {1, 4, 5, 6}, 1, 2);
  expect_gap({1, 2, 4, 5}, {4, 5, 6}, 0, 2);
  // Overlapping choices: the shortest gap keeps most.
  expect_gap({1, 2, 7, 7, 7}, {1, 7, 7, 7, 7}, 1, 1);
}

// The plain prefix does as well.
TEST(CacheGap, IsNoneWhereACutDoes) {
  expect_gap({}, {}, 0, 0);
  expect_gap({}, {1}, 0, 0);
  expect_gap({1, 2}, {}, 0, 0);
  expect_gap({1, 2}, {1, 2, 3}, 0, 0);
  expect_gap({1, 2, 3}, {1, 2}, 0, 0);
  expect_gap({1, 2, 3}, {1, 4, 5}, 0, 0);
  // The end survives in part only: it would be cut again.
  expect_gap({1, 2, 3, 4}, {1, 3}, 0, 0);
}

// All pairs of two tokens up to length 6, and longer ones of three.
TEST(CacheGap, IsThatOfTheDefinition) {
  std::vector<Tokens> all = {{}};
  for (size_t i = 0; i < all.size() && all[i].size() < 6; ++i) {
    for (const int32_t token : {0, 1}) {
      all.push_back(all[i]);
      all.back().push_back(token);
    }
  }
  ASSERT_EQ(all.size(), 127U);
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    Tokens& made = all.emplace_back();
    for (size_t n = random() % 30; n > 0; --n) made.push_back(static_cast<int32_t>(random() % 3));
  }
  for (const Tokens& cached : all) {
    for (const Tokens& ids : all) {
      const CacheGap wanted = by_definition(cached, ids), found = find_cache_gap(cached, ids);
      ASSERT_EQ(found.start, wanted.start) << testing::PrintToString(cached);
      ASSERT_EQ(found.count, wanted.count) << testing::PrintToString(ids);
    }
  }
}

// A million equal tokens behind one that differs: a search that begins anew at each place would
// take some 10^11 steps.
TEST(CacheGap, RepetitiveTextTakesLinearTime) {
  constexpr size_t kLength = 1'000'000;
  Tokens cached(kLength, 7), ids(kLength, 7);
  cached[0] = 1;
  cached[kLength - 1] = 8;
  expect_gap(cached, ids, 0, 0);
  cached[kLength - 1] = 7;
  expect_gap(cached, ids, 0, 1);
}

}  // namespace
}  // namespace quern
