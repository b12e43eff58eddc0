// Float activations in the tiles of the float kernels.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/product_split.h"
#include "base/thread_pool.h"

namespace quern::cpu {

// x [num_tokens, columns] as tiles [columns][width] one after another, in `room` of the same size.
// Returns `room`, or x itself where that is its own tile. T: float or double.
template <class T>
const T* pack_float_activations(const T* x, int64_t num_tokens, int64_t columns, int64_t tile,
                                T* room, ThreadPool& pool);

// What ProductSplit needs to know of a product of T.
template <class T>
ProductSize float_product_size(const LinearKernels& kernels, int64_t num_panels,
                               int64_t panel_bytes, int64_t num_tokens, int64_t columns) {
  const int64_t rows = sizeof(T) == 8 ? kernels.double_panel_rows : kernels.float_panel_rows;
  const int64_t bytes_per_lane = sizeof(T) == 8 ? 2 : 1;
  return {.num_panels = num_panels,
          .num_tokens = num_tokens,
          .tile = kernels.float_tile,
          .token_block_bytes = kernels.token_block_bytes,
          .bytes_per_token = columns * static_cast<int64_t>(sizeof(T)),
          .bytes_per_panel = panel_bytes,
          .products_per_panel = columns * rows * bytes_per_lane / kernels.num_lanes};
}

}  // namespace quern::cpu
