// Cuts a product into ranges of panels and tokens for the thread pool.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/linear_kernels.h"

namespace quern::cpu {

struct ProductSize {
  int64_t num_panels = 0;
  int64_t num_tokens = 0;
  int64_t tile = 1;                // tokens of a full tile
  int64_t token_block_bytes = 0;   // most bytes of activations in a block of tokens
  int64_t bytes_per_token = 0;     // of packed activations
  int64_t bytes_per_panel = 0;     // of weights
  int64_t products_per_panel = 0;  // vector multiplications for one panel and token
  int64_t panels_at_once = 1;      // of a kernel: chunks begin at multiples of it
};

// Chunks [0, num_chunks()) cover the product once. Chunks of one token block follow one another,
// so that its activations stay in the second-level cache.
class ProductSplit {
 public:
  ProductSplit(const ProductSize& size, int num_threads);

  int64_t num_chunks() const { return num_token_blocks_ * num_panel_blocks_; }
  ProductRange chunk(int64_t index) const;

 private:
  int64_t num_panels_;
  int64_t num_tokens_;
  int64_t panels_at_once_;
  int64_t tokens_per_block_ = 1;
  int64_t num_token_blocks_ = 0;
  int64_t num_panel_blocks_ = 0;
};

}  // namespace quern::cpu
