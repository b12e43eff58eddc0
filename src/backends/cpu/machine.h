// What steps share: threads, and the kernels of the instruction set in use.
#pragma once

#include "backends/cpu/kernels/kernel_table.h"
#include "base/thread_pool.h"

namespace quern::cpu {

// Shared by a device and its executables. One thread only.
struct Machine {
  Machine(int num_threads, const KernelTable& table) : pool(num_threads), kernels(table) {}
  ThreadPool pool;
  const KernelTable& kernels;
};

}  // namespace quern::cpu
