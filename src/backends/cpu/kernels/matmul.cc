// Products of two float matrices: the second is packed for the call.
#include <algorithm>

#include "backends/cpu/kernels/float_activations.h"
#include "backends/cpu/kernels/linear.h"
#include "base/checked_math.h"

namespace quern::cpu {
namespace {

template <class T>
int64_t panel_rows(const LinearKernels& kernels) {
  return sizeof(T) == 8 ? kernels.double_panel_rows : kernels.float_panel_rows;
}

// Columns of b from `first` on as a panel [k][rows], zeros past n.
template <class T>
void pack_columns(const MatmulCall<T>& call, int64_t first, int64_t rows, T* out) {
  const int64_t count = std::min(rows, call.n - first);
  for (int64_t k = 0; k < call.k; ++k) {
    std::copy_n(call.b + k * call.n + first, count, out + k * rows);
    std::fill_n(out + k * rows + count, rows - count, T(0));
  }
}

}  // namespace

template <class T>
int64_t matmul_scratch_bytes(const KernelTable& kernels, int64_t m, int64_t k, int64_t n) {
  const auto element = static_cast<int64_t>(sizeof(T));
  const int64_t packed_a = m <= 1 ? 0 : round_up(m * k * element, 64);
  return packed_a + round_up(n, panel_rows<T>(kernels.linear)) * k * element;
}

template <class T>
void matmul(const MatmulCall<T>& call, const KernelTable& kernels, ThreadPool& pool) {
  if (call.m == 0 || call.n == 0) return;
  const LinearKernels& linear = kernels.linear;
  const auto element = static_cast<int64_t>(sizeof(T));
  const int64_t rows = panel_rows<T>(linear);
  const int64_t num_panels = ceil_divide(call.n, rows);
  const int64_t panel_bytes = call.k * rows * element;
  std::byte* panels = call.scratch + (call.m <= 1 ? 0 : round_up(call.m * call.k * element, 64));
  pool.run(num_panels, [&](int64_t panel, int) {
    pack_columns(call, panel * rows, rows, reinterpret_cast<T*>(panels + panel * panel_bytes));
  });
  const FloatProduct<T> product{
      .panels = panels,
      .panel_bytes = panel_bytes,
      .columns = call.k,
      .x = pack_float_activations(call.a, call.m, call.k, linear.float_tile,
                                  reinterpret_cast<T*>(call.scratch), pool),
      .out = {.y = call.c, .y_stride = call.n, .rows = call.n},
  };
  const ProductSplit split(float_product_size<T>(linear, num_panels, panel_bytes, call.m, call.k),
                           pool.num_threads());
  const auto run = [&](auto kernel) {
    pool.run(split.num_chunks(), [&](int64_t chunk, int thread) {
      const ProductRange range = split.chunk(chunk);
      kernel(product, range);
      if (call.finish == nullptr) return;
      (*call.finish)({range.token_begin, range.token_end, range.panel_begin * rows,
                      std::min(call.n, range.panel_end * rows), thread});
    });
  };
  if constexpr (sizeof(T) == 8) {
    run(linear.f64_product);
  } else {
    run(linear.f32_product);
  }
}

template int64_t matmul_scratch_bytes<float>(const KernelTable&, int64_t, int64_t, int64_t);
template int64_t matmul_scratch_bytes<double>(const KernelTable&, int64_t, int64_t, int64_t);
template void matmul<float>(const MatmulCall<float>&, const KernelTable&, ThreadPool&);
template void matmul<double>(const MatmulCall<double>&, const KernelTable&, ThreadPool&);

}  // namespace quern::cpu
