// Cuts a product of matrices into blocks for the thread pool.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/gemm_kernels.h"
#include "base/checked_math.h"

namespace quern::cpu {

// Panels of b that one packing chunk makes.
inline constexpr int64_t kPackedRun = 4;

// One chunk of packing: tile `index` of a, or run `index` of panels of b.
struct PackingChunk {
  bool is_tile = false;
  int64_t index = 0;
};
// Chunk `chunk` of tiles + runs. Both kinds are spread evenly, so that a thread that takes the
// first half of the chunks packs the first half of the columns, which it multiplies later: panels
// then need not come from another core's cache.
PackingChunk packing_chunk(int64_t chunk, int64_t tiles, int64_t runs);

// Rows of `a` with the zeros that fill the last tile up.
int64_t gemm_padded_rows(int64_t m, int64_t height);

// Blocks cover c [m, n] once: whole tiles by whole panels, of sizes that keep a fold of both
// operands in a second-level cache, and enough of them for threads of unequal speed. The split
// never changes a result.
class GemmSplit {
 public:
  struct Block {
    int64_t row = 0;
    int64_t rows = 0;
    int64_t column = 0;
    int64_t columns = 0;
  };

  GemmSplit(int64_t m, int64_t n, int64_t height, int64_t width, int64_t element_bytes,
            int num_threads);

  int64_t num_blocks() const { return row_blocks_ * column_blocks_; }
  // The most elements that GemmBlock::folds needs.
  int64_t fold_elements() const {
    if (num_blocks() == 0) return 0;
    return ceil_divide(tiles_, row_blocks_) * height_ * ceil_divide(panels_, column_blocks_) *
           width_;
  }
  // Blocks of the same columns follow one another.
  Block block(int64_t index) const;

 private:
  int64_t m_;
  int64_t n_;
  int64_t height_;
  int64_t width_;
  int64_t tiles_;
  int64_t panels_;
  int64_t row_blocks_ = 0;
  int64_t column_blocks_ = 0;
};

}  // namespace quern::cpu
