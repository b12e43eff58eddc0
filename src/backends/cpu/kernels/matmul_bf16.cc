// Products of two bf16 matrices in pairs, sums in f32: for numerics that allow any order.
#include <algorithm>

#include "backends/cpu/kernels/gemm_split.h"
#include "backends/cpu/kernels/linear.h"
#include "base/checked_math.h"

namespace quern::cpu {
namespace {

using Functions = GemmFunctions<uint32_t, float>;

// Where the parts of the scratch lie, in bytes.
struct Layout {
  Layout(const Functions& f, const MatmulSize& size, int num_threads)
      : split(size.m, size.n, f.height, f.width, sizeof(uint32_t), num_threads),
        a_bytes(round_up(gemm_padded_rows(size.m, f.height) * size.k / 2 * 4, 64)),
        b_bytes(round_up(round_up(size.n, f.width) * size.k / 2 * 4, 64)),
        block_bytes(round_up(split.fold_elements() * 4, 64)) {}

  GemmSplit split;
  int64_t a_bytes;
  int64_t b_bytes;
  int64_t block_bytes;  // sums of a block, and its results: for each thread
};

}  // namespace

bool can_multiply_bf16(const KernelTable& kernels, const MatmulSize& size) {
  return kernels.gemm.bf16.fused != nullptr && size.k > 0 && size.k % 2 == 0;
}

int64_t matmul_bf16_scratch_bytes(const KernelTable& kernels, const MatmulSize& size,
                                  int num_threads) {
  const Layout layout(kernels.gemm.bf16, size, num_threads);
  return layout.a_bytes + layout.b_bytes + 2 * num_threads * layout.block_bytes;
}

void matmul_bf16(const Bf16MatmulCall& call, const KernelTable& kernels, ThreadPool& pool) {
  const auto [m, k, n] = call.size;
  if (m == 0 || n == 0) return;
  const Functions& f = kernels.gemm.bf16;
  const Layout layout(f, call.size, pool.num_threads());
  const int64_t pairs = k / 2;
  auto* a = reinterpret_cast<uint32_t*>(call.scratch);
  auto* b = reinterpret_cast<uint32_t*>(call.scratch + layout.a_bytes);
  std::byte* blocks = call.scratch + layout.a_bytes + layout.b_bytes;

  // A row of bf16 is a row of pairs.
  const auto* rows = reinterpret_cast<const uint32_t*>(call.a);
  const int64_t tiles = ceil_divide(m, int64_t{f.height});
  const int64_t run = kPackedRun * f.width;
  const int64_t runs = ceil_divide(n, run);
  pool.run(tiles + runs, [&](int64_t chunk, int) {
    const auto [is_tile, index] = packing_chunk(chunk, tiles, runs);
    if (is_tile) {
      const int64_t row = index * f.height, count = std::min<int64_t>(f.height, m - row);
      f.pack_tile(rows + row * pairs, pairs, count, gemm_tile_height(m - row, f.height), pairs,
                  a + row * pairs);
      return;
    }
    const int64_t column = index * run;
    kernels.gemm.zip_panels(call.b + column, n, std::min(run, n - column), f.width, pairs,
                            b + column * pairs);
  });
  pool.run(layout.split.num_blocks(), [&](int64_t index, int thread) {
    const auto block = layout.split.block(index);
    auto* folds = reinterpret_cast<float*>(blocks + 2 * thread * layout.block_bytes);
    auto* sums = reinterpret_cast<float*>(blocks + (2 * thread + 1) * layout.block_bytes);
    f.fused({.a = a + block.row * pairs,
             .b = b + block.column * pairs,
             .b_k_stride = f.width,
             .b_panel_stride = f.width * pairs,
             .m = block.rows,
             .n = block.columns,
             .k = pairs,
             .c = sums,
             .c_stride = block.columns,
             .folds = folds});
    for (int64_t r = 0; r < block.rows; ++r) {
      kernels.gemm.narrow_bf16(sums + r * block.columns, block.columns,
                               call.c + (block.row + r) * n + block.column);
    }
  });
}

}  // namespace quern::cpu
