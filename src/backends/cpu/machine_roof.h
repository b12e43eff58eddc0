// The limits of this machine, measured: rates that no kernel can pass.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/thread_pool.h"
#include "quern/buffer.h"

namespace quern::cpu {

// Of all threads of a pool together. Each call takes tens of milliseconds; one thread only.
class MachineRoof {
 public:
  MachineRoof(const KernelTable& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}

  // int8 multiplications a second, from registers.
  double products_per_second();
  // f32 multiplications a second, each with an addition that rounds on its own.
  double multiply_adds_per_second();
  // Bytes a second read from memory that no cache holds; 0 if there is no room to measure.
  double bytes_per_second();
  // Seconds to hand out work that is nothing and to see it done.
  double seconds_per_dispatch();

 private:
  int threads() const { return pool_.num_threads(); }

  const KernelTable& kernels_;
  ThreadPool& pool_;
  Buffer memory_;
  std::atomic<int64_t> sink_{0};
};

}  // namespace quern::cpu
