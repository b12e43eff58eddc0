// Products of two float matrices: both are packed for the call, then blocks of the result go over
// the threads.
#include <algorithm>

#include "backends/cpu/kernels/gemm_split.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/linear.h"
#include "base/checked_math.h"

namespace quern::cpu {
namespace {

// A small b stays in the second-level cache, and tall tiles hide that its columns lie apart there
// (Zen 4, 512 x 512: 5 % less time; with the 6 rows of 256-bit levels 5 to 30 % more). Up to 768 x
// 768 floats, measured.
constexpr int64_t kSmallBytes = int64_t{9} << 18;
constexpr int kTallTile = 16;

// Whole panels of b are read where they lie: by a single tile of rows, which reads b only once, and
// where b is small.
template <class T>
bool reads_in_place(const GemmFunctions<T, T>& f, int64_t m, int64_t k, int64_t n) {
  const bool is_small = n == 0 || k <= kSmallBytes / static_cast<int64_t>(sizeof(T)) / n;
  return m <= f.height || (f.height >= kTallTile && is_small);
}

// What is packed, and where.
template <class T>
struct PackedMatmul {
  PackedMatmul(const GemmFunctions<T, T>& f, int64_t m, int64_t k, int64_t n)
      : a_elements(gemm_padded_rows(m, f.height) * k),
        packed_columns(reads_in_place(f, m, k, n) ? n % f.width : n),
        b_elements(round_up(packed_columns, f.width) * k) {}

  int64_t a_elements;
  int64_t packed_columns;  // the last ones of b
  int64_t b_elements;
};

}  // namespace

template <class T>
int64_t matmul_scratch_bytes(const KernelTable& kernels, const MatmulSize& size, int num_threads) {
  const GemmFunctions<T, T>& f = functions_of<T>(kernels.gemm);
  const PackedMatmul<T> packed(f, size.m, size.k, size.n);
  const GemmSplit split(size.m, size.n, f.height, f.width, sizeof(T), num_threads);
  const auto element = static_cast<int64_t>(sizeof(T));
  return round_up(packed.a_elements * element, 64) + round_up(packed.b_elements * element, 64) +
         num_threads * split.fold_elements() * element;
}

template <class T>
void matmul(const MatmulCall<T>& call, const KernelTable& kernels, ThreadPool& pool) {
  if (call.m == 0 || call.n == 0) return;
  if (call.k == 0) {
    std::fill_n(call.c, call.m * call.n, T(0));
    if (call.finish != nullptr) (*call.finish)({0, call.m, 0, call.n, 0});
    return;
  }
  const GemmFunctions<T, T>& f = functions_of<T>(kernels.gemm);
  const auto kernel = call.fuses ? f.fused : f.separate;
  const PackedMatmul<T> packed(f, call.m, call.k, call.n);
  const auto element = static_cast<int64_t>(sizeof(T));
  T* a = reinterpret_cast<T*>(call.scratch);
  T* b = reinterpret_cast<T*>(call.scratch + round_up(packed.a_elements * element, 64));
  const int64_t first_packed = call.n - packed.packed_columns;

  // Packing: a chunk is one tile of a, or a few panels of b.
  const int64_t tiles = ceil_divide(call.m, int64_t{f.height});
  const int64_t column_runs = ceil_divide(packed.packed_columns, int64_t{kPackedRun} * f.width);
  pool.run(tiles + column_runs, [&](int64_t chunk, int) {
    const auto [is_tile, index] = packing_chunk(chunk, tiles, column_runs);
    if (is_tile) {
      const int64_t row = index * f.height, rows = std::min<int64_t>(f.height, call.m - row);
      f.pack_tile(call.a + row * call.k, call.k, rows, gemm_tile_height(call.m - row, f.height),
                  call.k, a + row * call.k);
      return;
    }
    const int64_t column = index * kPackedRun * f.width;
    const int64_t columns = std::min<int64_t>(kPackedRun * f.width, packed.packed_columns - column);
    f.pack_panels(call.b + first_packed + column, call.n, columns, f.width, call.k,
                  b + column * call.k);
  });

  // Each block goes through all of k, a fold at a time, so a result is written once and finished
  // while it is in a cache.
  const GemmSplit split(call.m, call.n, f.height, f.width, element, pool.num_threads());
  T* folds = b + round_up(packed.b_elements * element, 64) / element;
  const auto multiply = [&](int64_t row, int64_t rows, int64_t column, int64_t columns,
                            int thread) {
    // Columns of b as they lie in memory, or packed.
    const bool is_packed = column >= first_packed;
    kernel({.a = a + row * call.k,
            .b = is_packed ? b + (column - first_packed) * call.k : call.b + column,
            .b_k_stride = is_packed ? f.width : call.n,
            .b_panel_stride = is_packed ? f.width * call.k : f.width,
            .m = rows,
            .n = columns,
            .k = call.k,
            .c = call.c + row * call.n + column,
            .c_stride = call.n,
            .folds = folds + thread * split.fold_elements()});
  };
  pool.run(split.num_blocks(), [&](int64_t index, int thread) {
    const auto block = split.block(index);
    // Columns of b in place, then those that are packed.
    const int64_t border = std::clamp(first_packed, block.column, block.column + block.columns);
    if (border > block.column) {
      multiply(block.row, block.rows, block.column, border - block.column, thread);
    }
    const int64_t rest = block.column + block.columns - border;
    if (rest > 0) multiply(block.row, block.rows, border, rest, thread);
    if (call.finish == nullptr) return;
    (*call.finish)(
        {block.row, block.row + block.rows, block.column, block.column + block.columns, thread});
  });
}

template int64_t matmul_scratch_bytes<float>(const KernelTable&, const MatmulSize&, int);
template int64_t matmul_scratch_bytes<double>(const KernelTable&, const MatmulSize&, int);
template void matmul<float>(const MatmulCall<float>&, const KernelTable&, ThreadPool&);
template void matmul<double>(const MatmulCall<double>&, const KernelTable&, ThreadPool&);

}  // namespace quern::cpu
