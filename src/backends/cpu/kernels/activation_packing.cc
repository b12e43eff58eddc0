// Cuts quantising into rows.
#include "backends/cpu/kernels/activation_packing.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "base/fail.h"

namespace quern::cpu {
namespace {

// Elements that are worth a chunk: about 5 us of quantising.
constexpr int64_t kElementsPerChunk = 16384;

// f(begin, end, thread) over ranges of rows; small work stays on this thread.
template <class F>
void for_row_ranges(ThreadPool& pool, int64_t num_rows, int64_t columns, F&& f) {
  const int64_t step = std::max<int64_t>(1, kElementsPerChunk / std::max<int64_t>(1, columns));
  const int64_t chunks = ceil_divide(num_rows, step);
  pool.run(chunks, [&](int64_t chunk, int thread) {
    f(chunk * step, std::min(num_rows, (chunk + 1) * step), thread);
  });
}

PackToken token_pointers(const ActivationLayout& layout, std::byte* packed, int64_t token) {
  const int64_t planes = layout.num_planes();
  const int64_t full = layout.num_tokens / kTokenTile * kTokenTile;
  int64_t tile = std::min(token / kTokenTile * kTokenTile, full);
  int64_t width = tile_width(layout.num_tokens - tile);
  while (token >= tile + width) {
    tile += width;
    width = tile_width(layout.num_tokens - tile);
  }
  const int64_t t = token - tile;
  const int64_t k = layout.columns;
  PackToken out;
  out.columns = k;
  out.width = width;
  out.q = reinterpret_cast<int8_t*>(packed + layout.q) + (tile * k + t * 32) * planes;
  out.d = reinterpret_cast<float*>(packed + layout.d) + tile * (k / layout.block) + t;
  out.int_sums = reinterpret_cast<int32_t*>(packed + layout.int_sums) +
                 (tile * (k / layout.run()) + t) * planes;
  if (layout.block == 32) {
    out.sums = reinterpret_cast<float*>(packed + layout.sums) + tile * (k / 32) + t;
  } else {
    out.pairs_16 =
        reinterpret_cast<int16_t*>(packed + layout.pairs_16) + (tile * (k / 16) + t * 2) * planes;
    out.pairs_32 =
        reinterpret_cast<int16_t*>(packed + layout.pairs_32) + (tile * (k / 32) + t * 2) * planes;
  }
  return out;
}

// True if all of q lies in [-limit, limit].
template <class Integer>
bool is_within(const Integer* q, int64_t n, int limit) {
  bool is_inside = true;
  for (int64_t i = 0; i < n; ++i) is_inside &= q[i] >= -limit && q[i] <= limit;
  return is_inside;
}

}  // namespace

void pack_activation_rows(const ActivationLayout& layout, const KernelTable& kernels,
                          const ActivationRows& rows, std::byte* packed, ThreadPool& pool) {
  const auto pack = kernels.quantize.pack_floats[layout.num_planes() - 1][layout.block == 256];
  for_row_ranges(pool, layout.num_tokens, layout.columns,
                 [&](int64_t begin, int64_t end, int thread) {
                   for (int64_t t = begin; t < end; ++t) {
                     pack(rows(t, thread), token_pointers(layout, packed, t));
                   }
                 });
}

void pack_activations(const ActivationLayout& layout, const KernelTable& kernels, const float* x,
                      std::byte* packed, ThreadPool& pool) {
  const auto row = [&](int64_t token, int) { return x + token * layout.columns; };
  pack_activation_rows(layout, kernels, row, packed, pool);
}

Result<void> pack_plain_activations(const ActivationLayout& layout, const KernelTable& kernels,
                                    const void* q, const float* d, std::byte* packed,
                                    ThreadPool& pool) {
  const int64_t k = layout.columns;
  const int64_t planes = layout.num_planes();
  const auto pack = kernels.quantize.pack_integers[planes - 1][layout.block == 256];
  std::atomic<bool> is_valid{true};
  for_row_ranges(pool, layout.num_tokens, k, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      const auto* row = static_cast<const std::byte*>(q) + t * k * planes;
      const bool is_row_valid = planes == 1
                                    ? is_within(reinterpret_cast<const int8_t*>(row), k, 127)
                                    : is_within(reinterpret_cast<const int16_t*>(row), k, 32639);
      if (!is_row_valid) is_valid.store(false, std::memory_order_relaxed);
      pack(row, d + t * (k / layout.block), token_pointers(layout, packed, t));
    }
  });
  if (is_valid.load()) return {};
  return fail::invalid(
      "Quantised activations of {} bits hold an integer beyond {}; quant.dynamic gives none.",
      layout.bits, planes == 1 ? 127 : 32639);
}

void quantize_rows(const QuantizeRows& rows, const KernelTable& kernels, ThreadPool& pool) {
  const auto quantize = kernels.quantize.quantize_row[rows.bits / 8 - 1];
  const int64_t blocks = ceil_divide(rows.columns, rows.block);
  for_row_ranges(pool, rows.num_rows, rows.columns, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      auto* q = static_cast<std::byte*>(rows.q) + r * rows.columns * (rows.bits / 8);
      quantize(rows.x + r * rows.columns, rows.columns, rows.block, q, rows.d + r * blocks);
    }
  });
}

}  // namespace quern::cpu
