// Kernels of matrix products at one level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/weight_scheme.h"

namespace quern::cpu {

// Tokens are packed in tiles of this many, the rest in tiles of 4, 2 and 1: 13 gives 8 + 4 + 1.
// In a tile the tokens are interleaved by blocks of K, see activation_layout.h.
constexpr int kTokenTile = 8;

// Width of the next tile when `rest` tokens, at least 1, are left. Static: see vector-inl.h.
static constexpr int64_t tile_width(int64_t rest) {
  return rest >= 8 ? 8 : (rest >= 4 ? 4 : (rest >= 2 ? 2 : 1));
}
// The same for float activations, where a full tile depends on the level.
static constexpr int64_t float_tile_width(int64_t rest, int64_t full) {
  return rest >= full ? full : (full >= 8 ? tile_width(rest) : tile_width(rest < 7 ? rest : 7));
}

// The part of a product that one call of a kernel makes.
struct ProductRange {
  int64_t panel_begin = 0;
  int64_t panel_end = 0;
  int64_t token_begin = 0;  // where a full tile begins
  int64_t token_end = 0;    // another such place, or the number of tokens
};

// y[t][n] = (sum of k: x[t][k] * w[n][k]) * scale + bias[n], each step rounded. T is the type of
// the bias and of y.
template <class T>
struct ProductOutput {
  T* y = nullptr;
  int64_t y_stride = 0;     // elements from token to token
  int64_t rows = 0;         // N
  const T* bias = nullptr;  // or null
  T scale = T(1);           // 1 leaves the step out
};

// Integer activations times block-quantised weights. Pointers into activations are to the arrays
// of activation_layout.h.
struct BlockProduct {
  const std::byte* panels = nullptr;  // of panel 0
  int64_t panel_bytes = 0;
  int64_t columns = 0;  // K
  const int8_t* q = nullptr;
  const float* d = nullptr;
  const float* sums = nullptr;           // term schemes with a minimum
  const int32_t* corrections = nullptr;  // schemes with an offset: -offset * sum of q, for each run
                                         // of exact summation, ordered as int_sums
  const int16_t* pairs = nullptr;        // super schemes with minima: pairs_16 or pairs_32
  ProductOutput<float> out;
};
using BlockProductKernel = void (*)(const BlockProduct&, const ProductRange&);

// Float activations times float panels [K][panel rows]. x holds tiles [K][width] one after another.
template <class T>
struct FloatProduct {
  const std::byte* panels = nullptr;
  int64_t panel_bytes = 0;
  int64_t columns = 0;
  const T* x = nullptr;
  ProductOutput<T> out;
};
template <class T>
using FloatProductKernel = void (*)(const FloatProduct<T>&, const ProductRange&);

// One panel of a scheme as f32: out[k * stride + lane] for K columns.
using DequantizePanelKernel = void (*)(const std::byte* panel, int64_t columns, float* out,
                                       int64_t stride);
// Columns of a panel, [count][rows], as f32 panels of `width` rows, [rows / width][count][width];
// width is a multiple of num_lanes that divides rows.
using WidenKernel = void (*)(const std::byte* codes, int64_t count, int64_t rows, int64_t width,
                             float* out);

struct LinearKernels {
  int num_lanes = 0;  // 32-bit lanes of a vector: rows of a panel of a block-quantised weight
  // Offset of 8-bit codes and of the iq4 table, by planes - 1.
  int full_offset[2] = {};
  // By planes - 1 and SchemeId.
  BlockProductKernel block_products[2][kNumSchemes] = {};
  // Of panels packed for one plane, by SchemeId.
  DequantizePanelKernel dequantize_panel[kNumSchemes] = {};

  int panels_at_once = 1;             // of a block product of many tokens
  bool has_wide_activations = false;  // see wide_activations.h

  int float_tile = 1;        // tokens of a full tile of float activations
  int float_panel_rows = 1;  // a multiple of num_lanes
  int double_panel_rows = 1;
  FloatProductKernel<float> f32_product = nullptr;  // by the type of the panels
  FloatProductKernel<float> f16_product = nullptr;
  FloatProductKernel<float> bf16_product = nullptr;
  FloatProductKernel<double> f64_product = nullptr;
  WidenKernel widen_f32 = nullptr;  // by the type of the panels
  WidenKernel widen_f16 = nullptr;
  WidenKernel widen_bf16 = nullptr;

  // Activations of a block of tokens: half of the second-level cache that machines of the level
  // have, 512 KB before AVX-512 and 1 MB with it.
  int64_t token_block_bytes = int64_t{256} << 10;
};

// Each fills its part of the table; defined once per level, in the source of its name.
template <Isa kIsa>
void add_term_products(LinearKernels& kernels);
template <Isa kIsa>
void add_super_products(LinearKernels& kernels);
template <Isa kIsa>
void add_float_products(LinearKernels& kernels);

template <Isa kIsa>
LinearKernels linear_kernels() {
  LinearKernels kernels;
  add_term_products<kIsa>(kernels);
  add_super_products<kIsa>(kernels);
  add_float_products<kIsa>(kernels);
  return kernels;
}

}  // namespace quern::cpu
