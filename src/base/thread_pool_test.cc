// Tests of work sharing: every chunk once, on whichever thread, with results that the caller sees.
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

namespace quern {
namespace {

// For every number of threads.
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

// The result of a child whose address space is too small for the stacks of 64 threads: 0 where the
// pool says so and works all the same.
int run_with_little_memory() {
  const rlimit limit{300 << 20, 300 << 20};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) return 1;
  ThreadPool pool(64);
  if (pool.num_missing() == 0) return 2;
  std::atomic<int64_t> sum{0};
  pool.run(1000, [&](int64_t chunk, int) { sum += chunk; });
  return sum == 499'500 ? 0 : 3;
}

// It used to wait for ever for the threads that had been started.
TEST(ThreadPoolDeathTest, MissingThreadsAreCountedAndNotNeeded) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "Skipped: a sanitizer needs all of the address space.";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(::_exit(run_with_little_memory()), testing::ExitedWithCode(0), "");
}

// A late worker must not take the next job's chunks.
// Four chunks on three threads: some worker is late for most jobs. 0 + 1 + 2 + 3 = 6 times 0 + ...
// + 19,999.
TEST(ThreadPool, ManyShortJobsKeepTheirResults) {
  ThreadPool pool(3);
  std::atomic<int64_t> total{0};
  for (int job = 0; job < 20000; ++job) {
    pool.run(4, [&, job](int64_t chunk, int) { total += job * chunk; });
  }
  EXPECT_EQ(total.load(), int64_t{6} * 20000 * 19999 / 2);
}

// The futex path, not the spin.
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
        // Memory that is gone when a worker looks: a prefetch of any address is harmless.
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

// Work is stolen from the back.
// Would hang if chunks stayed with the thread that they were dealt to.
TEST(ThreadPool, AThreadThatIsStuckLeavesItsOtherChunksToTheRest) {
  ThreadPool pool(2);
  std::atomic<bool> is_released{false};
  std::atomic<int> others{0};
  // Chunk 0 waits until all others are done, so somebody else must take them.
  pool.run(100, [&](int64_t chunk, int) {
    if (chunk == 0) {
      while (!is_released.load()) std::this_thread::yield();
      return;
    }
    if (others.fetch_add(1) + 1 == 99) is_released.store(true);
  });
  EXPECT_EQ(others.load(), 99);
}

// Fields of 20 bits.
// 2^21 + 7 chunks make units of three, as two would be too many by a few.
TEST(ThreadPool, MoreChunksThanARangeHasUnits) {
  ThreadPool pool(3);
  constexpr int64_t kChunks = (int64_t{1} << 21) + 7;
  std::atomic<int64_t> count{0}, sum{0};
  pool.run(kChunks, [&](int64_t chunk, int) {
    count.fetch_add(1, std::memory_order_relaxed);
    sum.fetch_add(chunk, std::memory_order_relaxed);
  });
  EXPECT_EQ(count.load(), kChunks);
  EXPECT_EQ(sum.load(), kChunks * (kChunks - 1) / 2);
}

// Memory stays with its thread.
// Chunks 0 and 32 of 64 begin the two ranges; 32 taken by thread 0 would deadlock the wait.
TEST(ThreadPool, ThreadsBeginWithRangesOfNeighbours) {
  ThreadPool pool(2);
  // Both threads wait for each other at their first chunk, so each begins with its own.
  std::atomic<int> arrived{0};
  std::vector<int> thread_of(64, -1);
  pool.run(64, [&](int64_t chunk, int thread) {
    if (chunk == 0 || chunk == 32) {
      ++arrived;
      while (arrived.load() < 2) std::this_thread::yield();
    }
    thread_of[static_cast<size_t>(chunk)] = thread;
  });
  EXPECT_NE(thread_of[0], thread_of[32]);
}

// No threads are started.
TEST(ThreadPool, CountsBelowOneMeanTheCallerAlone) {
  for (const int threads : {-7, 0, 1}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), 1);
    const auto caller = std::this_thread::get_id();
    int hits = 0;
    pool.run(3, [&](int64_t, int thread) {
      EXPECT_EQ(thread, 0);
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ++hits;
    });
    EXPECT_EQ(hits, 3);
  }
}

// Zero and negative.
TEST(ThreadPool, NoChunksCallNothing) {
  ThreadPool pool(2);
  for (const int64_t chunks : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    pool.run(chunks, [](int64_t, int) { FAIL(); });
  }
}

// Kernels keep scratch memory by thread number: two chunks never run under one number at once.
TEST(ThreadPool, AThreadNumberRunsOneChunkAtATime) {
  constexpr int kThreads = 4;
  ThreadPool pool(kThreads);
  std::array<std::atomic<int>, kThreads> busy{};
  std::atomic<int> clashes{0};
  for (int job = 0; job < 200; ++job) {
    pool.run(64, [&](int64_t, int thread) {
      auto& mine = busy[static_cast<size_t>(thread)];
      if (mine.fetch_add(1) != 0) ++clashes;
      mine.fetch_sub(1);
    });
  }
  EXPECT_EQ(clashes.load(), 0);
}

// Plain memory, written by whichever thread, is visible to the caller and to the next job.
TEST(ThreadPool, ResultsAreVisibleAfterwards) {
  ThreadPool pool(3);
  std::vector<int64_t> values(1000, 0);
  for (int round = 1; round <= 50; ++round) {
    pool.run(1000, [&](int64_t chunk, int) { values[static_cast<size_t>(chunk)] += chunk; });
    ASSERT_EQ(values[999], 999 * round);
  }
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), int64_t{50} * 999 * 500);
}

// No statics.
TEST(ThreadPool, PoolsDoNotShareAnything) {
  ThreadPool outer(2);
  std::atomic<int64_t> total{0};
  outer.run(8, [&](int64_t chunk, int) {
    ThreadPool inner(2);  // a pool of its own may run inside a chunk
    inner.run(10, [&](int64_t inner_chunk, int) { total += chunk * 10 + inner_chunk; });
  });
  // chunk * 10 + inner counts 0 to 79.
  EXPECT_EQ(total.load(), 79 * 80 / 2);
}

// Right after a job, and without one.
TEST(ThreadPool, ThePoolMayEndAtAnyTime) {
  for (int i = 0; i < 10; ++i) {
    ThreadPool idle(3);
    ThreadPool used(3);
    used.run(5, [](int64_t, int) {});
  }
}

// What taskset leaves.
// Narrows this process to one CPU and back; hardware_concurrency() would not notice.
TEST(AvailableCpus, IsAtLeastOneAndTheAffinityMask) {
  EXPECT_GE(available_cpus(), 1);
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(available_cpus(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(available_cpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace quern
