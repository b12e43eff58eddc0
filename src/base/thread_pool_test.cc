#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

namespace quern {
namespace {

TEST(ThreadPool, RunsEachChunkOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const int64_t chunks : {0, 1, 2, 7, 1000}) {
      std::vector<int> hits(static_cast<size_t>(chunks), 0);
      pool.run(chunks, [&](int64_t chunk, int thread) {
        ASSERT_LT(thread, threads);
        ++hits[static_cast<size_t>(chunk)];
      });
      EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), int64_t{0}), chunks);
      for (const int hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

TEST(ThreadPool, ManyShortJobsKeepTheirResults) {
  ThreadPool pool(3);
  std::atomic<int64_t> total{0};
  for (int job = 0; job < 20000; ++job) {
    pool.run(4, [&, job](int64_t chunk, int) { total += job * chunk; });
  }
  EXPECT_EQ(total.load(), int64_t{6} * 20000 * 19999 / 2);
}

TEST(ThreadPool, WorkersWakeAfterSleeping) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> hits{0};
    pool.run(16, [&](int64_t, int) { ++hits; });
    EXPECT_EQ(hits.load(), 16);
  }
}

// What is expected changes nothing but speed, whatever it is and however often it changes.
TEST(ThreadPool, ExpectationsLeaveJobsAlone) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::vector<std::byte> bytes(100'000);
    int64_t total = 0;
    for (int job = 0; job < 2000; ++job) {
      switch (job % 4) {
        case 0:
          pool.expect(bytes);
          break;
        case 1:
          pool.expect({});
          break;
        case 2:
          pool.expect(std::span(bytes).first(static_cast<size_t>(job)));
          break;
        default:
          pool.expect(std::vector<std::byte>(5000));  // gone at once
      }
      std::atomic<int64_t> sum{0};
      pool.run(5, [&](int64_t chunk, int) { sum += chunk; });
      total += sum;
    }
    EXPECT_EQ(total, 2000 * 10);
  }
}

}  // namespace
}  // namespace quern
