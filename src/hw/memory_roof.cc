// A sum over a large buffer, timed.
#include "hw/memory_roof.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "base/thread_pool.h"
#include "quern/buffer.h"

namespace quern {
namespace {

// Eight independent 64-byte lanes; the compiler turns them into the widest loads there are.
uint64_t sum_words(const uint64_t* words, int64_t count) {
  uint64_t lanes[8] = {};
  for (int64_t i = 0; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += words[i + lane];
  }
  uint64_t total = 0;
  for (const uint64_t lane : lanes) total += lane;
  return total;
}

}  // namespace

double probe_read_bandwidth(int num_threads) {
  constexpr int64_t kBytes = int64_t{256} << 20;
  constexpr int64_t kChunk = int64_t{1} << 20;
  auto buffer = Buffer::allocate_host(kBytes);
  if (!buffer) return 0;
  auto bytes = buffer->mutable_host_view();
  if (!bytes) return 0;
  std::memset(bytes->data(), 1, bytes->size());
  const auto* words = reinterpret_cast<const uint64_t*>(bytes->data());
  ThreadPool pool(num_threads);
  double best = 0;
  for (int pass = 0; pass < 6; ++pass) {
    volatile uint64_t sink = 0;
    const auto start = std::chrono::steady_clock::now();
    pool.run(kBytes / kChunk, [&](int64_t chunk, int) {
      const uint64_t sum = sum_words(words + chunk * (kChunk / 8), kChunk / 8);
      if (sum == 1) sink = sum;
    });
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kBytes) / time.count());
  }
  return best;
}

}  // namespace quern
