// Products of quantised activations with block-quantised weights.
#include <algorithm>

#include "backends/cpu/kernels/block_packing.h"
#include "backends/cpu/kernels/linear_parts.h"
#include "backends/cpu/kernels/product_split.h"
#include "backends/cpu/kernels/wide_activations.h"
#include "base/checked_math.h"

namespace quern::cpu {
namespace {

int planes_of(const PackedWeight& weight) {
  return weight.activations() == ActivationKind::kInt16 ? 2 : 1;
}

// Elements that one exact integer sum covers.
int run_of(const WeightScheme& s) {
  return s.is_super() ? s.sub_block : s.term;
}

int level_offset(const PackedWeight& weight, const LinearKernels& kernels) {
  return code_offset(scheme(weight.scheme_id()), kernels.full_offset[planes_of(weight) - 1]);
}

// Correction arrays of a tile of W tokens, [K / run][W][plane], from the packed integers.
void sum_runs(const int8_t* q, int64_t width, int planes, int run, int64_t columns, int offset,
              int32_t* out) {
  const int64_t lines = width * planes;  // of 32 elements each
  for (int64_t b = 0; b < columns / 32; ++b) {
    for (int half = 0; half < 32 / run; ++half) {
      for (int64_t line = 0; line < lines; ++line) {
        const int8_t* from = q + (b * lines + line) * 32 + half * run;
        int32_t sum = 0;
        for (int i = 0; i < run; ++i) sum += from[i];
        *out++ = -offset * sum;
      }
    }
  }
}

// -offset * sum of the activations of each run, ordered as int_sums. `tokens` is a tile.
struct CorrectionMaker {
  const ActivationLayout& layout;
  const std::byte* packed;
  int run;
  int offset;
  int32_t* corrections;

  void make(int64_t tile, int64_t width) const {
    const int planes = layout.num_planes();
    const int64_t k = layout.columns;
    int32_t* out = corrections + tile * (k / run) * planes;
    const auto* sums = reinterpret_cast<const int32_t*>(packed + layout.int_sums) +
                       tile * (k / layout.run()) * planes;
    const int64_t count = width * (k / run) * planes;
    if (run == layout.run()) {
      for (int64_t i = 0; i < count; ++i) out[i] = -offset * sums[i];
    } else if (run == 2 * layout.run()) {
      const int64_t lines = width * planes;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t first = i / lines * 2 * lines + i % lines;
        out[i] = -offset * (sums[first] + sums[first + lines]);
      }
    } else {
      const auto* q = reinterpret_cast<const int8_t*>(packed + layout.q) + tile * k * planes;
      sum_runs(q, width, planes, run, k, offset, out);
    }
  }
};

// Calls f(tile, width) for every tile, in parallel when there are many.
template <class F>
void for_tiles(int64_t num_tokens, ThreadPool& pool, F&& f) {
  constexpr int64_t kTokensPerChunk = 8 * kTokenTile;
  pool.run(ceil_divide(num_tokens, kTokensPerChunk), [&](int64_t chunk, int) {
    const int64_t end = std::min(num_tokens, (chunk + 1) * kTokensPerChunk);
    for (int64_t tile = chunk * kTokensPerChunk; tile < end;) {
      const int64_t width = tile_width(end - tile);
      f(tile, width);
      tile += width;
    }
  });
}

bool is_wide(const PackedWeight& weight, const LinearKernels& kernels) {
  return uses_wide_activations(scheme(weight.scheme_id()), kernels.has_wide_activations);
}

// Bytes of the corrections; a multiple of 64, behind which wide activations begin.
int64_t correction_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                         int64_t num_tokens) {
  if (level_offset(weight, kernels) == 0) return 0;
  const int run = run_of(scheme(weight.scheme_id()));
  return round_up(num_tokens * (weight.columns() / run) * planes_of(weight) *
                      static_cast<int64_t>(sizeof(int32_t)),
                  64);
}

// Wide activations of 32 elements of one token from its planes: see wide_activations.h.
template <int kPlanes>
void widen_block(const int8_t* planes, int16_t* out) {
  for (int quad = 0; quad < 8; ++quad) {
    for (int i = 0; i < 4; ++i) {
      const int element = quad * 4 + i;
      int value = planes[element];
      if constexpr (kPlanes == 2) value = 256 * value + planes[32 + element];
      out[quad * 4 + (i % 2) * 2 + i / 2] = static_cast<int16_t>(value);
    }
  }
}

// The blocks of all tokens, one after another as the planes are.
template <int kPlanes>
void widen_activations(const int8_t* planes, int64_t num_tokens, int64_t columns, int16_t* out,
                       ThreadPool& pool) {
  constexpr int64_t kBlocksPerChunk = 4096;
  const int64_t blocks = num_tokens * (columns / 32);
  pool.run(ceil_divide(blocks, kBlocksPerChunk), [&](int64_t chunk, int) {
    const int64_t end = std::min(blocks, (chunk + 1) * kBlocksPerChunk);
    for (int64_t b = chunk * kBlocksPerChunk; b < end; ++b) {
      widen_block<kPlanes>(planes + 32 * kPlanes * b, out + 32 * b);
    }
  });
}

int64_t wide_bytes(const PackedWeight& weight, const LinearKernels& kernels, int64_t num_tokens) {
  return is_wide(weight, kernels) ? round_up(2 * num_tokens * weight.columns(), 64) : 0;
}

}  // namespace

int64_t integer_scratch_bytes(const PackedWeight& weight, const LinearKernels& kernels,
                              int64_t num_tokens, int num_threads) {
  return correction_bytes(weight, kernels, num_tokens) + wide_bytes(weight, kernels, num_tokens) +
         made_panels_bytes(weight, kernels, num_threads);
}

void linear_integers(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool) {
  const PackedWeight& weight = *call.weight;
  const WeightScheme& s = scheme(weight.scheme_id());
  const int planes = planes_of(weight);
  const ActivationLayout layout = make_activation_layout(call.num_tokens, weight.columns(),
                                                         weight.activation_block(), 8 * planes);
  const std::byte* x = call.packed_x;
  BlockProduct product{
      .panels = weight.panels(),
      .panel_bytes = weight.panel_bytes(),
      .columns = weight.columns(),
      .q = reinterpret_cast<const int8_t*>(x + layout.q),
      .d = reinterpret_cast<const float*>(x + layout.d),
      .sums = reinterpret_cast<const float*>(x + layout.sums),
      .corrections = reinterpret_cast<const int32_t*>(call.scratch),
      .pairs = reinterpret_cast<const int16_t*>(
          x + (s.sub_block == 16 ? layout.pairs_16 : layout.pairs_32)),
      .out = output_of<float>(call),
  };
  const int offset = level_offset(weight, kernels);
  if (offset != 0) {
    const CorrectionMaker maker{layout, x, run_of(s), offset,
                                reinterpret_cast<int32_t*>(call.scratch)};
    for_tiles(call.num_tokens, pool, [&](int64_t tile, int64_t width) { maker.make(tile, width); });
  }
  if (is_wide(weight, kernels)) {
    auto* wide = reinterpret_cast<int16_t*>(call.scratch +
                                            correction_bytes(weight, kernels, call.num_tokens));
    const auto widen = planes == 2 ? widen_activations<2> : widen_activations<1>;
    widen(product.q, call.num_tokens, weight.columns(), wide, pool);
    product.q = reinterpret_cast<const int8_t*>(wide);
  }
  const int64_t bytes_of_activation = is_wide(weight, kernels) ? 2 : planes;
  const ProductSplit split({.num_panels = weight.num_panels(),
                            .num_tokens = call.num_tokens,
                            .tile = kTokenTile,
                            .token_block_bytes = kernels.token_block_bytes,
                            .bytes_per_token = weight.columns() * bytes_of_activation * 5 / 4,
                            .bytes_per_panel = weight.panel_bytes(),
                            .products_per_panel = weight.columns() / 4 * planes,
                            .panels_at_once = kernels.panels_at_once},
                           pool.num_threads());
  ProductPair<BlockProduct, BlockProductKernel> pair{
      .call = call,
      .kernels = kernels,
      .kernel = kernels.block_products[planes - 1][static_cast<int>(weight.scheme_id())],
      .first = product,
      .second = product,
      .room = call.scratch + correction_bytes(weight, kernels, call.num_tokens) +
              wide_bytes(weight, kernels, call.num_tokens)};
  if (call.second.weight != nullptr) {
    pair.second.panels = call.second.weight->panels();
    pair.second.out = second_output_of<float>(call);
  }
  pool.run(split.num_chunks(),
           [&](int64_t chunk, int thread) { pair.run(split.chunk(chunk), thread); });
}

}  // namespace quern::cpu
