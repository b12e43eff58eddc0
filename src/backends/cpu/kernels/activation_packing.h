// Quantises activations (`quant.dynamic`) into the packed form of the products, or in plain form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "backends/cpu/kernels/activation_layout.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "base/thread_pool.h"
#include "quern/error.h"

namespace quern::cpu {

// Gives row `token` of activations on `thread`: `columns` floats, valid until the thread's next
// call.
using ActivationRows = std::function<const float*(int64_t token, int thread)>;

// The rows to `packed`, layout.size_bytes bytes aligned to 64; each is asked for once.
void pack_activation_rows(const ActivationLayout& layout, const KernelTable& kernels,
                          const ActivationRows& rows, std::byte* packed, ThreadPool& pool);

// x [num_tokens, columns] to `packed`, layout.size_bytes bytes aligned to 64.
void pack_activations(const ActivationLayout& layout, const KernelTable& kernels, const float* x,
                      std::byte* packed, ThreadPool& pool);

// The same from integers in plain form: q [num_tokens, columns] int8 or int16 by layout.bits,
// d [num_tokens, columns / block].
// Errors: kInvalidArgument for an integer that quant.dynamic never gives (past 127 or 32,639).
Result<void> pack_plain_activations(const ActivationLayout& layout, const KernelTable& kernels,
                                    const void* q, const float* d, std::byte* packed,
                                    ThreadPool& pool);

// `quant.dynamic` in plain form, for any columns and block >= 1: q [num_rows, columns] int8 or
// int16 by `bits`, d [num_rows, ceil(columns / block)].
struct QuantizeRows {
  const float* x = nullptr;
  int64_t num_rows = 0;
  int64_t columns = 0;
  int64_t block = 32;
  int bits = 8;
  void* q = nullptr;
  float* d = nullptr;
};
void quantize_rows(const QuantizeRows& rows, const KernelTable& kernels, ThreadPool& pool);

}  // namespace quern::cpu
