// Tests that ranges cover every item once, whatever the cost, and stay on one thread where small.
#include "backends/cpu/work_split.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace quern::cpu {
namespace {

// Costs from nothing to 2^40: times a count of 4,097 they would pass 2^52, still no overflow.
TEST(ForRanges, CoverEveryItemOnce) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const int64_t count : {0, 1, 2, 3, 100, 1000, 4097}) {
      for (const int64_t cost :
           {int64_t{0}, int64_t{1}, int64_t{100}, kSmallWork, kSmallWork * 5, int64_t{1} << 40}) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
        for_ranges(pool, count, cost, [&](int64_t begin, int64_t end, int thread) {
          EXPECT_LT(begin, end);
          EXPECT_LT(thread, threads);
          for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
        });
        for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1) << count << " " << cost;
      }
    }
  }
}

// One item cannot be cut, however dear it is.
TEST(ForRanges, SmallWorkIsOneRangeOnTheCaller) {
  ThreadPool pool(4);
  for (const auto& [count, cost] : {std::pair<int64_t, int64_t>{100, 1},
                                    {kSmallWork - 1, 1},
                                    {1, kSmallWork * 100},
                                    {1000, 0}}) {
    int calls = 0;
    for_ranges(pool, count, cost, [&](int64_t begin, int64_t end, int thread) {
      ++calls;
      EXPECT_EQ(begin, 0);
      EXPECT_EQ(end, count);
      EXPECT_EQ(thread, 0);
    });
    EXPECT_EQ(calls, 1) << count << " " << cost;
  }
}

// At least a range for each thread, and not so many that handing them out costs.
TEST(ForRanges, LargeWorkIsCutForAllThreads) {
  ThreadPool pool(4);
  std::atomic<int> calls{0};
  for_ranges(pool, 1000, kSmallWork, [&](int64_t, int64_t, int) { ++calls; });
  EXPECT_GE(calls.load(), 4);
  EXPECT_LE(calls.load(), 32);
}

TEST(ForRanges, NegativeCountsAreNothing) {
  ThreadPool pool(2);
  for_ranges(pool, -5, 1, [](int64_t, int64_t, int) { FAIL(); });
}

}  // namespace
}  // namespace quern::cpu
