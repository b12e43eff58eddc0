// Cuts loops over independent items into chunks for the thread pool.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "base/thread_pool.h"

namespace quern::cpu {

// Work below this many units runs on the calling thread: waking a sleeping thread costs about
// 20 us. A unit is about a quarter of a nanosecond: one element of a memory-bound vector loop.
inline constexpr int64_t kSmallWork = int64_t{1} << 17;

// Calls f(begin, end, thread) for ranges that cover [0, count). `cost` is the work of one item in
// units of kSmallWork. The ranges never change what is computed, only where.
template <class F>
void for_ranges(ThreadPool& pool, int64_t count, int64_t cost, F&& f) {
  if (count <= 0) return;
  const int64_t items_per_chunk = std::max<int64_t>(1, kSmallWork / 4 / std::max<int64_t>(1, cost));
  const bool is_small = cost == 0 || count < ceil_divide(kSmallWork, cost);
  const int64_t num_chunks =
      std::min<int64_t>(ceil_divide(count, items_per_chunk), int64_t{8} * pool.num_threads());
  if (is_small || num_chunks <= 1 || pool.num_threads() == 1) {
    f(int64_t{0}, count, 0);
    return;
  }
  pool.run(num_chunks, [&](int64_t chunk, int thread) {
    f(count * chunk / num_chunks, count * (chunk + 1) / num_chunks, thread);
  });
}

}  // namespace quern::cpu
