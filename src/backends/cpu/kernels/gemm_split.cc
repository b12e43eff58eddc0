// Sizes of blocks.
#include "backends/cpu/kernels/gemm_split.h"

#include <algorithm>

#include "base/checked_math.h"

namespace quern::cpu {
namespace {

// Bytes of one fold of the tiles, and of the panels, of one block: together half of a
// second-level cache of 1 MB. (512, 1,024 and 2,048: sizes from 128 to 256 KB are within 1 %.)
constexpr int64_t kOperandBytes = int64_t{240} << 10;
// Enough blocks for a thread that is slowed down by others to leave work to the rest.
constexpr int64_t kBlocksPerThread = 16;

}  // namespace

int64_t gemm_padded_rows(int64_t m, int64_t height) {
  const int64_t whole = m / height * height;
  return m == whole ? m : whole + gemm_tile_height(m - whole, height);
}

PackingChunk packing_chunk(int64_t chunk, int64_t tiles, int64_t runs) {
  const int64_t runs_before = chunk * runs / (tiles + runs);
  const bool is_run = (chunk + 1) * runs / (tiles + runs) > runs_before;
  if (is_run) return {false, runs_before};
  return {true, chunk - runs_before};
}

GemmSplit::GemmSplit(int64_t m, int64_t n, int64_t height, int64_t width, int64_t element_bytes,
                     int num_threads)
    : m_(m),
      n_(n),
      height_(height),
      width_(width),
      tiles_(ceil_divide(m, height)),
      panels_(ceil_divide(n, width)) {
  if (tiles_ == 0 || panels_ == 0) return;  // no blocks, no folds
  const int64_t fitting = kOperandBytes / (kGemmFold * element_bytes);
  row_blocks_ = ceil_divide(tiles_, std::max<int64_t>(1, fitting / height));
  column_blocks_ = ceil_divide(panels_, std::max<int64_t>(1, fitting / width));
  const int64_t wanted = num_threads == 1 ? 1 : kBlocksPerThread * num_threads;
  column_blocks_ = std::min(panels_, std::max(column_blocks_, ceil_divide(wanted, row_blocks_)));
  row_blocks_ = std::min(tiles_, std::max(row_blocks_, ceil_divide(wanted, column_blocks_)));
}

GemmSplit::Block GemmSplit::block(int64_t index) const {
  const int64_t row_index = index % row_blocks_, column_index = index / row_blocks_;
  const int64_t row = tiles_ * row_index / row_blocks_ * height_;
  const int64_t row_end = std::min(m_, tiles_ * (row_index + 1) / row_blocks_ * height_);
  const int64_t column = panels_ * column_index / column_blocks_ * width_;
  const int64_t column_end = std::min(n_, panels_ * (column_index + 1) / column_blocks_ * width_);
  return {row, row_end - row, column, column_end - column};
}

}  // namespace quern::cpu
