// Tests of the placement of values in the arena.
#include "passes/arena_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace quern {
namespace {

// Not even one alignment.
TEST(ArenaLayout, NoRequestsTakeNoMemory) {
  const ArenaLayout layout = lay_out_arena({});
  EXPECT_EQ(layout.size_bytes, 0);
  EXPECT_TRUE(layout.offsets.empty());
}

// The point of an arena.
TEST(ArenaLayout, ValuesThatNeverLiveTogetherShareMemory) {
  const std::vector<ArenaRequest> requests = {{1000, 0, 1}, {1024, 2, 3}, {960, 4, 9}};
  const ArenaLayout layout = lay_out_arena(requests);
  EXPECT_EQ(layout.offsets, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(layout.size_bytes, 1024);
}

// Lifetimes include both ends.
TEST(ArenaLayout, AValueReadByTheStepThatWritesAnotherDoesNotShareWithIt) {
  const std::vector<ArenaRequest> requests = {{64, 0, 1}, {64, 1, 2}};
  const ArenaLayout layout = lay_out_arena(requests);
  EXPECT_EQ(layout.size_bytes, 128);
  EXPECT_NE(layout.offsets[0], layout.offsets[1]);
}

// First fit among those alive.
TEST(ArenaLayout, ASmallValueFillsAGapOfTheRightLifetime) {
  // 0 and 1 lie side by side; 2 lives after 0 and fits in its place.
  const std::vector<ArenaRequest> requests = {{256, 0, 1}, {128, 0, 5}, {192, 2, 5}};
  const ArenaLayout layout = lay_out_arena(requests);
  EXPECT_EQ(layout.offsets[2], layout.offsets[0]);
  EXPECT_EQ(layout.size_bytes, 384);
}

// Null means absent.
TEST(ArenaLayout, EmptyValuesHaveAddressesOfTheirOwn) {
  const std::vector<ArenaRequest> requests = {{0, 0, 3}, {0, 0, 3}};
  const ArenaLayout layout = lay_out_arena(requests);
  EXPECT_NE(layout.offsets[0], layout.offsets[1]);
}

// Every pair that lives together, checked.
TEST(ArenaLayout, RandomValuesNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaRequest> requests;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<int32_t>(random() % 40);
      requests.push_back({static_cast<int64_t>(random() % 5000), first,
                          first + static_cast<int32_t>(random() % 10)});
    }
    const ArenaLayout layout = lay_out_arena(requests);
    for (size_t a = 0; a < requests.size(); ++a) {
      EXPECT_EQ(layout.offsets[a] % kArenaAlignment, 0);
      EXPECT_LE(layout.offsets[a] + requests[a].size_bytes, layout.size_bytes);
      for (size_t b = 0; b < a; ++b) {
        if (requests[a].last < requests[b].first || requests[b].last < requests[a].first) continue;
        const bool is_apart = layout.offsets[a] + requests[a].size_bytes <= layout.offsets[b] ||
                              layout.offsets[b] + requests[b].size_bytes <= layout.offsets[a];
        EXPECT_TRUE(is_apart) << a << " and " << b;
      }
    }
  }
}

}  // namespace
}  // namespace quern
