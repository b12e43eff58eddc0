// How a table is put together; included by the list of tables of each architecture.
#pragma once

#include "backends/cpu/kernels/kernel_table.h"

namespace quern::cpu {

template <Isa kIsa>
KernelTable make_kernel_table() {
  return {.isa = kIsa,
          .attention = attention_kernels<kIsa>(),
          .convolution = convolution_kernels<kIsa>(),
          .elementwise = elementwise_kernels<kIsa>(),
          .fft = fft_kernels<kIsa>(),
          .gemm = gemm_kernels<kIsa>(),
          .integer_keys = integer_key_kernels<kIsa>(),
          .linear = linear_kernels<kIsa>(),
          .loss = loss_kernels<kIsa>(),
          .norm = norm_kernels<kIsa>(),
          .optimizer = optimizer_kernels<kIsa>(),
          .probe = probe_kernels<kIsa>(),
          .quantize = quantize_kernels<kIsa>(),
          .reduce = reduce_kernels<kIsa>(),
          .rope = rope_kernels<kIsa>(),
          .softmax = softmax_kernels<kIsa>()};
}

// A level that has other integer products than the one below, and otherwise its kernels.
template <Isa kIsa, Isa kBelow>
KernelTable make_integer_table() {
  KernelTable table = make_kernel_table<kBelow>();
  table.isa = kIsa;
  table.integer_keys = integer_key_kernels<kIsa>();
  add_term_products<kIsa>(table.linear);
  add_super_products<kIsa>(table.linear);
  table.probe = probe_kernels<kIsa>();
  return table;
}

}  // namespace quern::cpu
