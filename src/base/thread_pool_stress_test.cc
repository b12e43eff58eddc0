// The pool under load: many sizes, many threads, pools beside each other and inside chunks, and
// chunks of very different length. Every chunk runs once, whatever happens.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

namespace quern {
namespace {

// Runs a job and counts each chunk.
void expect_each_once(ThreadPool& pool, int64_t num_chunks) {
  std::vector<std::atomic<int>> counts(static_cast<size_t>(num_chunks));
  pool.run(num_chunks, [&](int64_t chunk, int thread) {
    ASSERT_GE(thread, 0);
    ASSERT_LT(thread, pool.num_threads());
    counts[static_cast<size_t>(chunk)].fetch_add(1, std::memory_order_relaxed);
  });
  for (int64_t i = 0; i < num_chunks; ++i) {
    ASSERT_EQ(counts[static_cast<size_t>(i)], 1) << "chunk " << i << " of " << num_chunks;
  }
}

// Each chunk once, none twice.
// More threads than cores, and jobs with fewer chunks than threads.
TEST(ThreadPoolStress, EverySizeOnEveryNumberOfThreads) {
  for (int threads = 1; threads <= 9; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (int64_t chunks = 0; chunks <= 70; ++chunks) expect_each_once(pool, chunks);
    for (const int64_t chunks : {255, 256, 257, 1000, 4097}) expect_each_once(pool, chunks);
  }
}

// Chunks of random length: threads that finish early take from the others.
TEST(ThreadPoolStress, UnevenChunks) {
  ThreadPool pool(4);
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> work(200);
    for (int& w : work) w = random() % 20 == 0 ? 20'000 : 10;
    std::atomic<int64_t> total = 0;
    pool.run(200, [&](int64_t chunk, int) {
      volatile int64_t sum = 0;
      for (int i = 0; i < work[static_cast<size_t>(chunk)]; ++i) sum = sum + 1;
      total += sum;
    });
    EXPECT_EQ(total, std::accumulate(work.begin(), work.end(), int64_t{0}));
  }
}

// Jobs of one chunk and of many in turn, so that workers wake, find nothing, and sleep again.
TEST(ThreadPoolStress, ThousandsOfJobs) {
  ThreadPool pool(3);
  int64_t sum = 0, expected = 0;
  for (int64_t job = 0; job < 5000; ++job) {
    const int64_t chunks = job % 11;
    std::vector<int64_t> results(static_cast<size_t>(chunks));
    pool.run(chunks,
             [&](int64_t chunk, int) { results[static_cast<size_t>(chunk)] = chunk + job; });
    for (const int64_t r : results) sum += r;
    expected += chunks * job + chunks * (chunks - 1) / 2;
  }
  EXPECT_EQ(sum, expected);
}

// Pools of several models in one process.
// 0 + ... + 49 = 1,225 for each job.
TEST(ThreadPoolStress, PoolsBesideEachOther) {
  std::vector<std::jthread> callers;
  std::atomic<int64_t> total = 0;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&total] {
      ThreadPool pool(3);
      for (int job = 0; job < 200; ++job) {
        std::atomic<int64_t> sum = 0;
        pool.run(50, [&](int64_t chunk, int) { sum += chunk; });
        total += sum;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(total, int64_t{4} * 200 * 1225);
}

// A chunk may use another pool, even one that was made inside it.
// 9 chunks of 0 + ... + 19 = 190.
TEST(ThreadPoolStress, PoolsInsideChunks) {
  ThreadPool outer(3);
  std::atomic<int64_t> total = 0;
  outer.run(9, [&](int64_t, int) {
    ThreadPool inner(2);
    inner.run(20, [&](int64_t chunk, int) { total += chunk; });
  });
  EXPECT_EQ(total, 9 * 190);
}

// What a chunk wrote is there for the caller, and what the caller wrote before for the chunks.
// Plain memory without atomics: a missing acquire or release is what a thread sanitiser reports
// here.
TEST(ThreadPoolStress, MemoryIsHandedOver) {
  ThreadPool pool(4);
  std::vector<int64_t> a(1000), b(1000);
  for (int64_t round = 1; round <= 200; ++round) {
    for (int64_t& x : a) x = round;
    pool.run(100, [&](int64_t chunk, int) {
      for (int64_t i = chunk * 10; i < chunk * 10 + 10; ++i) {
        b[static_cast<size_t>(i)] = a[static_cast<size_t>(i)] * 2 + i;
      }
    });
    for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(b[static_cast<size_t>(i)], 2 * round + i);
  }
}

// One thread number never runs two chunks at a time: scratch memory by thread needs no lock.
// exchange() finds a second chunk under one thread number while the first still runs.
TEST(ThreadPoolStress, ScratchMemoryNeedsNoLock) {
  ThreadPool pool(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<int>> busy(5);
    std::atomic<int> clashes = 0;
    pool.run(200, [&](int64_t chunk, int thread) {
      if (busy[static_cast<size_t>(thread)].exchange(1) != 0) ++clashes;
      if (chunk % 17 == 0) std::this_thread::yield();
      busy[static_cast<size_t>(thread)].store(0);
    });
    ASSERT_EQ(clashes, 0);
  }
}

// Expectations may come at any time, of any memory, with jobs before, between and after.
// Sizes from 0 to 99,000 of 262,144 bytes, and nothing at all.
TEST(ThreadPoolStress, ExpectationsChangeNothing) {
  ThreadPool pool(3);
  std::vector<std::byte> weights(1 << 18);
  for (int round = 0; round < 100; ++round) {
    pool.expect(std::span(weights).first(static_cast<size_t>(round) * 1000));
    if (round % 3 == 0) pool.expect({});
    expect_each_once(pool, 64);
  }
}

// Longer than they spin.
// 5 ms is a hundred times what a worker spins.
TEST(ThreadPoolStress, WorkersComeBackAfterALongSleep) {
  ThreadPool pool(4);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    expect_each_once(pool, 100);
  }
}

// Threads that start while the pool ends.
// Workers may still be on their way into their loop when the destructor runs.
TEST(ThreadPoolStress, PoolsComeAndGo) {
  for (int round = 0; round < 200; ++round) {
    ThreadPool pool(1 + round % 5);
    if (round % 3 != 0) expect_each_once(pool, round % 7);
  }
}

}  // namespace
}  // namespace quern
