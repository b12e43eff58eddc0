// The limits of this machine, probed in the same seconds as a measurement.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/thread_pool.h"
#include "quern/buffer.h"

namespace quern::cpu::bench {

inline double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Best of `repeats` times of f(), in seconds.
template <class F>
double best_time(int repeats, F&& f) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double start = seconds_now();
    f();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

// Of all threads of a pool together.
class MachineRoof {
 public:
  MachineRoof(const KernelTable& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}

  // int8 multiplications a second, from registers.
  double products_per_second() {
    constexpr int64_t kRounds = 20000;
    const double time = best_time(
        3, [&] { on_all_threads([&](int) { sink_ += kernels_.probe.dot_products(kRounds); }); });
    return static_cast<double>(kRounds * kernels_.probe.products_per_round * threads()) / time;
  }

  // f32 multiplications a second, each with an addition that rounds on its own.
  double multiply_adds_per_second() {
    constexpr int64_t kRounds = 200000;
    const double time = best_time(3, [&] {
      on_all_threads(
          [&](int) { sink_ += static_cast<int64_t>(kernels_.probe.multiply_adds(kRounds)); });
    });
    return static_cast<double>(kRounds * kernels_.probe.multiply_adds_per_round * threads()) / time;
  }

  // Bytes a second read from memory that no cache holds.
  double bytes_per_second() {
    if (memory_.is_empty()) memory_ = *Buffer::allocate_host(kMemoryBytes);
    const auto bytes = *memory_.mutable_host_view();
    if (bytes[1] == std::byte{0}) std::fill(bytes.begin(), bytes.end(), std::byte{1});
    const double time = best_time(3, [&] {
      pool_.run(kMemoryBytes / kChunkBytes, [&](int64_t chunk, int) {
        sink_ += kernels_.probe.read(bytes.data() + chunk * kChunkBytes, kChunkBytes);
      });
    });
    return static_cast<double>(kMemoryBytes) / time;
  }

 private:
  static constexpr int64_t kMemoryBytes = int64_t{192} << 20;
  static constexpr int64_t kChunkBytes = int64_t{1} << 20;

  int threads() const { return pool_.num_threads(); }
  template <class F>
  void on_all_threads(F&& f) {
    pool_.run(threads(), [&](int64_t, int thread) { f(thread); });
  }

  const KernelTable& kernels_;
  ThreadPool& pool_;
  Buffer memory_;
  std::atomic<int64_t> sink_{0};
};

}  // namespace quern::cpu::bench
