// What steps share: threads, scratch memory, and the kernels of the instruction set in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/thread_pool.h"
#include "quern/buffer.h"

namespace quern::cpu {

// Shared by a device and its executables. One thread only.
class Machine {
 public:
  Machine(int num_threads, const KernelTable& table) : pool(num_threads), kernels(table) {}

  // Memory of at least that size, 64-byte aligned, until the next call: what a step needs while it
  // runs. Its content is undefined. Errors: kResourceExhausted.
  Result<std::byte*> scratch(int64_t size_bytes) {
    if (scratch_.size_bytes() < size_bytes) {
      scratch_ = Buffer();
      QUERN_ASSIGN_OR_RETURN(scratch_, Buffer::allocate_host(size_bytes));
    }
    if (scratch_.is_empty()) return nullptr;
    QUERN_ASSIGN_OR_RETURN(const auto bytes, scratch_.mutable_host_view());
    return bytes.data();
  }
  // The most that was asked for so far.
  int64_t scratch_bytes() const { return scratch_.size_bytes(); }

  ThreadPool pool;
  const KernelTable& kernels;
  std::string pack_cache;  // folder for packed weights; empty: none

 private:
  Buffer scratch_;
};

}  // namespace quern::cpu
