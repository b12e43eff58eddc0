// Products of many float activations: activations become tiles and weights panels of the gemm
// kernels, fold by fold, so that a panel's part lies in the first-level cache when tiles meet it.
//
//   a chunk, tokens x panels:    for each fold of k, for each packed panel:
//                                  widen the fold to panels of the gemm kernels,
//                                  multiply all tiles of the tokens
#include <algorithm>

#include "backends/cpu/kernels/gemm_split.h"
#include "backends/cpu/kernels/linear_parts.h"
#include "backends/cpu/kernels/product_split.h"
#include "base/checked_math.h"

namespace quern::cpu {
namespace {

using Form = PackedWeight::Form;

// From here on a panel is widened once for enough tokens (Zen 4: 84 GFLOP/s of f16 and 80 of bf16
// where each tile widens, 97 here).
constexpr int64_t kTokensWorthTiles = 48;

// Rows that one call of make_panels() below makes: a packed panel, or what makes one for the gemm
// kernels.
int64_t unit_rows(const PackedWeight& weight, int64_t width) {
  return std::max<int64_t>(weight.panel_rows(), width);
}

// One fold of the tokens of a chunk: with panels and sums it stays in a second-level cache of 512
// KB or 1 MB (Zen 4, 1 MB: 512 KB of it cost 6 %).
constexpr int64_t kTokenBytes = int64_t{240} << 10;

// Sums of a group of units that stay in the second-level cache beside the activations.
constexpr int64_t kFoldBytes = int64_t{136} << 10;

// f32 operands, and pairs of bf16 along k: how each is made of activations and packed weights.
struct FloatOperands {
  using Element = float;
  static constexpr int kColumns = 1;  // of K in one element
  static const GemmFunctions<float, float>& functions(const KernelTable& kernels) {
    return kernels.gemm.f32;
  }
  static int64_t row_bytes(int64_t, const KernelTable&) { return 0; }
  static void pack_tile(const KernelTable& kernels, const float* x, int64_t rows, int64_t height,
                        int64_t columns, std::byte*, float* out) {
    kernels.gemm.f32.pack_tile(x, columns, rows, height, columns, out);
  }
  // Columns [begin, begin + count) of a unit of rows, as panels of the gemm kernels.
  static void make_panels(const PackedWeight& weight, const KernelTable& kernels, int64_t unit,
                          int64_t begin, int64_t count, float* out);
};

struct PairOperands {
  using Element = uint32_t;
  static constexpr int kColumns = 2;
  static const GemmFunctions<uint32_t, float>& functions(const KernelTable& kernels) {
    return kernels.gemm.bf16;
  }
  // Rows of a tile as bf16, before they are interleaved.
  static int64_t row_bytes(int64_t columns, const KernelTable& kernels) {
    return round_up(kernels.gemm.bf16.height * columns * 2, 64);
  }
  static void pack_tile(const KernelTable& kernels, const float* x, int64_t rows, int64_t height,
                        int64_t columns, std::byte* room, uint32_t* out) {
    auto* narrow = reinterpret_cast<uint16_t*>(room);
    kernels.gemm.narrow_bf16(x, rows * columns, narrow);
    const int64_t pairs = columns / 2;
    kernels.gemm.bf16.pack_tile(reinterpret_cast<const uint32_t*>(narrow), pairs, rows, height,
                                pairs, out);
  }
  static void make_panels(const PackedWeight& weight, const KernelTable& kernels, int64_t unit,
                          int64_t begin, int64_t count, uint32_t* out) {
    const int64_t rows = weight.panel_rows();
    const auto* codes =
        reinterpret_cast<const uint16_t*>(weight.panels() + unit * weight.panel_bytes());
    // The rows of a packed panel are the columns that zip_panels() cuts into panels.
    kernels.gemm.zip_panels(codes + 2 * begin * rows, rows, rows, kernels.gemm.bf16.width, count,
                            out);
  }
};

// A panel of a block-quantised weight is one vector of rows, one of the gemm kernels one or two.
void dequantize_unit(const PackedWeight& weight, const KernelTable& kernels, int64_t unit,
                     int64_t begin, int64_t count, float* out) {
  const WeightScheme& s = scheme(weight.scheme_id());
  const int64_t width = kernels.gemm.f32.width, parts = width / weight.panel_rows();
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t source = unit * parts + part;
    if (source >= weight.num_panels()) return;
    const std::byte* from = weight.panels() + source * weight.panel_bytes() +
                            begin / s.record_size() * s.record_bytes(weight.panel_rows());
    kernels.linear.dequantize_panel[static_cast<int>(weight.scheme_id())](
        from, count, out + part * weight.panel_rows(), width);
  }
}

void FloatOperands::make_panels(const PackedWeight& weight, const KernelTable& kernels,
                                int64_t unit, int64_t begin, int64_t count, float* out) {
  if (weight.form() == Form::kBlocks) {
    return dequantize_unit(weight, kernels, unit, begin, count, out);
  }
  const bool is_f32 = weight.form() == Form::kF32;
  const auto widen =
      is_f32 ? kernels.linear.widen_f32
             : (weight.form() == Form::kF16 ? kernels.linear.widen_f16 : kernels.linear.widen_bf16);
  const int64_t rows = weight.panel_rows(), bytes = is_f32 ? 4 : 2;
  widen(weight.panels() + unit * weight.panel_bytes() + begin * rows * bytes, count, rows,
        kernels.gemm.f32.width, out);
}

// Chunks of the product, and where the parts of the scratch lie: tiles of all activations, then for
// each thread a fold of a unit's panels, and the sums of a group of units or rows before they are
// tiles.
template <class Operands>
struct TileLayout {
  TileLayout(const PackedWeight& weight, const KernelTable& kernels, int64_t num_tokens,
             int num_threads)
      : height(Operands::functions(kernels).height),
        width(Operands::functions(kernels).width),
        unit(unit_rows(weight, width)),
        k(weight.columns() / Operands::kColumns),
        split(size_of(weight, kernels, num_tokens), num_threads) {
    int64_t most_tokens = 1;
    for (int64_t i = 0; i < split.num_chunks(); ++i) {
      const ProductRange range = split.chunk(i);
      most_tokens = std::max(most_tokens, range.token_end - range.token_begin);
    }
    const int64_t unit_bytes = gemm_padded_rows(most_tokens, height) * unit * 4;
    group_units = std::max<int64_t>(1, kFoldBytes / unit_bytes);
    tile_bytes = round_up(gemm_padded_rows(num_tokens, height) * k * 4, 64);
    panel_bytes = kGemmFold * unit * 4;
    thread_bytes = panel_bytes + std::max(group_units * unit_bytes,
                                          Operands::row_bytes(weight.columns(), kernels));
  }

  int64_t size_bytes(int num_threads) const { return tile_bytes + num_threads * thread_bytes; }

  int64_t height;
  int64_t width;
  int64_t unit;  // rows
  int64_t k;     // in elements
  ProductSplit split;
  int64_t group_units;
  int64_t tile_bytes;
  int64_t panel_bytes;
  int64_t thread_bytes;

 private:
  ProductSize size_of(const PackedWeight& weight, const KernelTable& kernels,
                      int64_t num_tokens) const {
    const int64_t num_units = ceil_divide(weight.rows(), unit);
    return {.num_panels = num_units,
            .num_tokens = num_tokens,
            .tile = height,
            .token_block_bytes = kTokenBytes,
            .bytes_per_token = std::min(k, kGemmFold) * 4,
            .bytes_per_panel = weight.size_bytes() / std::max<int64_t>(1, num_units),
            .products_per_panel = k * unit / kernels.linear.num_lanes};
  }
};

// Scale and bias, in the place of the results.
void finish_rows(const ProductOutput<float>& out, const ResultTile& tile) {
  for (int64_t token = tile.token_begin; token < tile.token_end; ++token) {
    float* y = out.y + token * out.y_stride;
    for (int64_t n = tile.row_begin; n < tile.row_end; ++n) {
      if (out.scale != 1.0F) y[n] = y[n] * out.scale;
      if (out.bias != nullptr) y[n] = y[n] + out.bias[n];
    }
  }
}

template <class Operands>
class TileProduct {
  using Element = typename Operands::Element;

 public:
  TileProduct(const LinearCall& call, const KernelTable& kernels, ThreadPool& pool)
      : call_(call),
        kernels_(kernels),
        pool_(pool),
        layout_(*call.weight, kernels, call.num_tokens, pool.num_threads()),
        tiles_(reinterpret_cast<Element*>(call.scratch)) {
    const auto& functions = Operands::functions(kernels);
    kernel_ = call.is_fast ? functions.fused : functions.separate;
  }

  void run() {
    pack_tiles();
    pool_.run(layout_.split.num_chunks(), [&](int64_t chunk, int thread) {
      const ProductRange range = layout_.split.chunk(chunk);
      for (int64_t unit = range.panel_begin; unit < range.panel_end; unit += layout_.group_units) {
        const int64_t end = std::min(range.panel_end, unit + layout_.group_units);
        multiply_group({.token_begin = range.token_begin,
                        .token_end = range.token_end,
                        .row_begin = unit * layout_.unit,
                        .row_end = std::min(call_.weight->rows(), end * layout_.unit),
                        .thread = thread});
      }
    });
  }

 private:
  std::byte* room_of(int thread) const {
    return call_.scratch + layout_.tile_bytes + thread * layout_.thread_bytes;
  }

  void pack_tiles() {
    const int64_t columns = call_.weight->columns(), height = layout_.height;
    pool_.run(ceil_divide(call_.num_tokens, height), [&](int64_t tile, int thread) {
      const int64_t token = tile * height, rest = call_.num_tokens - token;
      Operands::pack_tile(kernels_, static_cast<const float*>(call_.x) + token * columns,
                          std::min(height, rest), gemm_tile_height(rest, height), columns,
                          room_of(thread), tiles_ + token * layout_.k);
    });
  }

  void multiply_group(const ResultTile& tile) const {
    multiply(*call_.weight, output_of<float>(call_), tile);
    if (call_.second.weight != nullptr) {
      multiply(*call_.second.weight, second_output_of<float>(call_), tile);
    }
    if (call_.finish != nullptr) (*call_.finish)(tile);
  }

  void multiply(const PackedWeight& weight, const ProductOutput<float>& out,
                const ResultTile& tile) const {
    auto* panels = reinterpret_cast<Element*>(room_of(tile.thread));
    auto* folds = reinterpret_cast<float*>(room_of(tile.thread) + layout_.panel_bytes);
    const int64_t tokens = tile.token_end - tile.token_begin;
    const int64_t padded_tokens = gemm_padded_rows(tokens, layout_.height);
    for (int64_t begin = 0; begin < layout_.k; begin += kGemmFold) {
      const int64_t end = std::min(begin + kGemmFold, layout_.k);
      for (int64_t row = tile.row_begin; row < tile.row_end; row += layout_.unit) {
        Operands::make_panels(weight, kernels_, row / layout_.unit, begin, end - begin, panels);
        kernel_({.a = tiles_ + tile.token_begin * layout_.k,
                 .b = panels,
                 .b_k_stride = layout_.width,
                 .b_panel_stride = layout_.width * (end - begin),
                 .m = tokens,
                 .n = std::min(layout_.unit, tile.row_end - row),
                 .k = layout_.k,
                 .k_begin = begin,
                 .k_end = end,
                 .c = out.y + tile.token_begin * out.y_stride + row,
                 .c_stride = out.y_stride,
                 .folds = folds + (row - tile.row_begin) * padded_tokens});
      }
    }
    if (out.scale != 1.0F || out.bias != nullptr) finish_rows(out, tile);
  }

  const LinearCall& call_;
  const KernelTable& kernels_;
  ThreadPool& pool_;
  TileLayout<Operands> layout_;
  Element* tiles_;
  void (*kernel_)(const GemmBlock<Element, float>&);
};

// Whether products of bf16 pairs may and can replace those in f32.
bool multiplies_pairs(const PackedWeight& weight, const KernelTable& kernels, bool is_fast) {
  return is_fast && weight.form() == Form::kBF16 &&
         can_multiply_bf16(kernels, {.k = weight.columns()});
}

}  // namespace

bool makes_tiles(const PackedWeight& weight, int64_t num_tokens) {
  return weight.is_packed() && num_tokens >= kTokensWorthTiles && weight.columns() > 0;
}

int64_t tile_scratch_bytes(const PackedWeight& weight, const KernelTable& kernels,
                           int64_t num_tokens, int num_threads, bool is_fast) {
  if (multiplies_pairs(weight, kernels, is_fast)) {
    return TileLayout<PairOperands>(weight, kernels, num_tokens, num_threads)
        .size_bytes(num_threads);
  }
  return TileLayout<FloatOperands>(weight, kernels, num_tokens, num_threads)
      .size_bytes(num_threads);
}

void linear_tiles(const LinearCall& call, const KernelTable& kernels, ThreadPool& pool) {
  if (multiplies_pairs(*call.weight, kernels, call.is_fast)) {
    TileProduct<PairOperands>(call, kernels, pool).run();
  } else {
    TileProduct<FloatOperands>(call, kernels, pool).run();
  }
}

}  // namespace quern::cpu
