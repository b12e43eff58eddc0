// A sum over a large buffer, timed.
#include "hw/memory_roof.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "base/thread_pool.h"

namespace quern {
namespace {

// Eight independent 64-byte lanes; the compiler turns them into the widest loads there are.
// Reading must be all that takes time: one addition for each word.
uint64_t sum_words(const uint64_t* words, size_t count) {
  uint64_t lanes[8] = {};
  for (size_t i = 0; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += words[i + lane];
  }
  uint64_t total = 0;
  for (const uint64_t lane : lanes) total += lane;
  return total;
}

}  // namespace

double probe_read_bandwidth(int num_threads) {
  // Far beyond any last-level cache of today, so that every pass reads memory.
  constexpr size_t kBytes = size_t{256} << 20;
  // 1 MiB: long runs for the prefetcher, and 256 chunks that threads share evenly.
  constexpr size_t kChunk = size_t{1} << 20;
  void* memory =
      // Not from the allocator, whose memory may be cut into small pages.
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  // Fewer misses of the TLB, as for weights; a refusal only makes the number smaller.
  ::madvise(memory, kBytes, MADV_HUGEPAGE);
  // Touched before timing: the first access to a page costs a fault.
  std::memset(memory, 1, kBytes);
  const auto* words = static_cast<const uint64_t*>(memory);
  ThreadPool pool(num_threads);
  double best = 0;
  // The best of six: the probe asks what the machine can do, not what it does beside others.
  for (int pass = 0; pass < 6; ++pass) {
    // The sums are used, or the compiler would drop the reads.
    volatile uint64_t sink = 0;
    const auto start = std::chrono::steady_clock::now();
    pool.run(kBytes / kChunk, [&](int64_t chunk, int) {
      const uint64_t sum = sum_words(words + static_cast<size_t>(chunk) * (kChunk / 8), kChunk / 8);
      // Never true in practice; the compiler cannot know.
      if (sum == 1) sink = sum;
    });
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kBytes) / time.count());
  }
  ::munmap(memory, kBytes);
  return best;
}

}  // namespace quern
