// Products with packed weights: what kernels need besides weights and activations, and the cut.
#include "backends/cpu/kernels/linear.h"

#include <algorithm>

#include "backends/cpu/kernels/block_packing.h"
#include "backends/cpu/kernels/float_activations.h"
#include "backends/cpu/kernels/product_split.h"
#include "base/checked_math.h"

namespace quern::cpu {
namespace {

using Form = PackedWeight::Form;

int planes_of(const PackedWeight& weight) {
  return weight.activations() == ActivationKind::kInt16 ? 2 : 1;
}

bool has_integer_activations(const PackedWeight& weight) {
  return weight.activations() == ActivationKind::kInt8 ||
         weight.activations() == ActivationKind::kInt16;
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

template <class T>
ProductOutput<T> output_of(const LinearCall& call) {
  return {.y = static_cast<T*>(call.y),
          .y_stride = call.weight->rows(),
          .rows = call.weight->rows(),
          .bias = static_cast<const T*>(call.bias),
          .scale = static_cast<T>(call.scale)};
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
  const ProductSplit split({.num_panels = weight.num_panels(),
                            .num_tokens = call.num_tokens,
                            .tile = kTokenTile,
                            .bytes_per_token = weight.columns() * planes * 5 / 4,
                            .bytes_per_panel = weight.panel_bytes(),
                            .products_per_panel = weight.columns() / 4 * planes},
                           pool.num_threads());
  const auto kernel = kernels.block_products[planes - 1][static_cast<int>(weight.scheme_id())];
  pool.run(split.num_chunks(), [&](int64_t chunk, int) { kernel(product, split.chunk(chunk)); });
}

template <class T>
FloatProductKernel<T> float_kernel(Form form, const LinearKernels& kernels) {
  if constexpr (sizeof(T) == 8) {
    return kernels.f64_product;
  } else {
    return form == Form::kF16 ? kernels.f16_product
                              : (form == Form::kBF16 ? kernels.bf16_product : kernels.f32_product);
  }
}

template <class T>
void linear_floats(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool) {
  const PackedWeight& weight = *call.weight;
  const int64_t k = weight.columns();
  const FloatProduct<T> product{
      .panels = weight.panels(),
      .panel_bytes = weight.panel_bytes(),
      .columns = k,
      .x = pack_float_activations(static_cast<const T*>(call.x), call.num_tokens, k,
                                  kernels.float_tile, reinterpret_cast<T*>(call.scratch), pool),
      .out = output_of<T>(call),
  };
  const ProductSplit split(
      float_product_size<T>(kernels, weight.num_panels(), weight.panel_bytes(), call.num_tokens, k),
      pool.num_threads());
  const auto kernel = float_kernel<T>(weight.form(), kernels);
  pool.run(split.num_chunks(), [&](int64_t chunk, int) { kernel(product, split.chunk(chunk)); });
}

// Panels of f32 that hold `weight` after dequantising.
int64_t num_float_panels(const PackedWeight& weight, const LinearKernels& kernels) {
  return ceil_divide(weight.rows(), kernels.float_panel_rows);
}
int64_t float_panel_bytes(const PackedWeight& weight, const LinearKernels& kernels) {
  return weight.columns() * kernels.float_panel_rows * int64_t{sizeof(float)};
}

// Room for pack_float_activations.
int64_t float_scratch_bytes(int64_t num_tokens, int64_t columns, int64_t element_bytes) {
  return num_tokens <= 1 ? 0 : round_up(num_tokens * columns * element_bytes, 64);
}

// Block-quantised weights with float activations: each chunk widens one float panel at a time
// into its thread's part of the scratch.
void linear_dequantized(const LinearCall& call, const LinearKernels& kernels, ThreadPool& pool) {
  const PackedWeight& weight = *call.weight;
  const int64_t k = weight.columns();
  const int64_t panel_bytes = float_panel_bytes(weight, kernels);
  const int64_t lanes = kernels.num_lanes;
  const int64_t parts = kernels.float_panel_rows / lanes;
  std::byte* panel_scratch = call.scratch + float_scratch_bytes(call.num_tokens, k, sizeof(float));
  FloatProduct<float> product{
      .columns = k,
      .x = pack_float_activations(static_cast<const float*>(call.x), call.num_tokens, k,
                                  kernels.float_tile, reinterpret_cast<float*>(call.scratch), pool),
      .out = output_of<float>(call),
  };
  const auto dequantize = kernels.dequantize_panel[static_cast<int>(weight.scheme_id())];
  const int64_t num_panels = num_float_panels(weight, kernels);
  pool.run(num_panels, [&](int64_t panel, int thread) {
    std::byte* room = panel_scratch + thread * panel_bytes;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t source = panel * parts + part;
      if (source >= weight.num_panels()) break;
      dequantize(weight.panels() + source * weight.panel_bytes(), k,
                 reinterpret_cast<float*>(room) + part * lanes, kernels.float_panel_rows);
    }
    FloatProduct<float> own = product;
    // The kernel finds panel `panel` where the scratch is.
    own.panels = room;
    own.panel_bytes = 0;
    kernels.f32_product(own, {.panel_begin = panel,
                              .panel_end = panel + 1,
                              .token_begin = 0,
                              .token_end = call.num_tokens});
  });
}

}  // namespace

int64_t linear_scratch_bytes(const PackedWeight& weight, const KernelTable& kernels,
                             int64_t num_tokens, int num_threads) {
  const int64_t k = weight.columns();
  if (has_integer_activations(weight)) {
    const int run = run_of(scheme(weight.scheme_id()));
    return level_offset(weight, kernels.linear) == 0
               ? 0
               : num_tokens * (k / run) * planes_of(weight) * int64_t{sizeof(int32_t)};
  }
  if (weight.form() == Form::kF64) {
    return float_scratch_bytes(num_tokens, k, sizeof(double));
  }
  const int64_t packed_x = float_scratch_bytes(num_tokens, k, sizeof(float));
  if (weight.form() != Form::kBlocks) return packed_x;
  return packed_x + num_threads * float_panel_bytes(weight, kernels.linear);
}

void linear(const LinearCall& call, const KernelTable& kernels, ThreadPool& pool) {
  if (call.num_tokens == 0 || call.weight->rows() == 0) return;
  if (has_integer_activations(*call.weight)) {
    linear_integers(call, kernels.linear, pool);
  } else if (call.weight->form() == Form::kF64) {
    linear_floats<double>(call, kernels.linear, pool);
  } else if (call.weight->form() == Form::kBlocks) {
    linear_dequantized(call, kernels.linear, pool);
  } else {
    linear_floats<float>(call, kernels.linear, pool);
  }
}

}  // namespace quern::cpu
