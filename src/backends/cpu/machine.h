// What steps share: threads, scratch memory, and the kernels of the instruction set in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/thread_pool.h"
#include "hw/cache_sizes.h"
#include "quern/buffer.h"

namespace quern::cpu {

// Shared by a device and its executables. One thread only.
class Machine {
 public:
  Machine(int num_threads, const KernelTable& table)
      : pool(num_threads), kernels(table), cache_bytes(query_cache_sizes().last_level) {}

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

  // Whether results of a step that reads and writes this many bytes go past the caches: inputs and
  // result together would not stay there anyway, and a plain store reads its line first. (Zen 4
  // with 32 MiB, one operand on 2 threads: 16 MiB in all 155 us plain, 169 us streamed; 32 MiB 462
  // to 566 and 354.)
  bool goes_past_caches(int64_t traffic_bytes) const {
    return kernels.elementwise.stream != nullptr && traffic_bytes > cache_bytes / 4 * 3;
  }

  ThreadPool pool;
  const KernelTable& kernels;
  std::string pack_cache;  // folder for packed weights; empty: none
  // Of the last level.
  const int64_t cache_bytes;

 private:
  Buffer scratch_;
};

}  // namespace quern::cpu
