// Kernels of products of float matrices at one level: c [m, n] = a [m, k] b [k, n], folded
// blocked(256) along k.
//
// Operands are packed. Rows of `a` stand in tiles of `height`, interleaved: [k][height]. The rest
// of the rows makes a tile of height, 2/3 or 1/3 of it, filled up with zeros. Columns of `b` stand
// in panels of `width`, filled up with zeros: [k][width].
//
//    a: tile 0 | tile 1 | ...            b: panel 0 | panel 1 | ...
//       k=0: r0 r1 .. r23                   k=0: c0 .. c15
//       k=1: r0 r1 .. r23                   k=1: c0 .. c15
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// Elements of k that are folded into one block sum: the definition of blocked(256).
static constexpr int64_t kGemmFold = 256;

// Height of the next tile when `rest` rows, at least 1, are left. Static: see vector-inl.h.
static constexpr int64_t gemm_tile_height(int64_t rest, int64_t height) {
  return 3 * rest > 2 * height ? height : (3 * rest > height ? height / 3 * 2 : height / 3);
}

// A block of the product. `b` may also be a part of a row-major matrix: b_k_stride is the step from
// k to k + 1 in elements, b_panel_stride the step from panel to panel.
template <class Element, class T>
struct GemmBlock {
  const Element* a = nullptr;
  const Element* b = nullptr;
  int64_t b_k_stride = 0;
  int64_t b_panel_stride = 0;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  // The part of k that this call adds, in whole folds; `b` begins there, `a` at 0. Calls for the
  // parts of a block follow one another with the same `folds`; the last one writes c.
  int64_t k_begin = 0;
  int64_t k_end = 0;  // 0: k
  T* c = nullptr;
  int64_t c_stride = 0;         // elements from row to row
  const T* row_bias = nullptr;  // [m], added last; or null
  // Room for m x n sums, both filled up to whole tiles and panels. Results stay there until their
  // last fold: rows of c often lie in one set of the caches (Zen 4, 1,024 columns: 105 to 109
  // GFLOP/s).
  T* folds = nullptr;
};

// Tile sizes and functions for one pair of operand and result types.
template <class Element, class T>
struct GemmFunctions {
  int height = 0;
  int width = 0;
  // Products and sums round on their own (strict), or together where the level has FMA.
  void (*separate)(const GemmBlock<Element, T>& block) = nullptr;
  void (*fused)(const GemmBlock<Element, T>& block) = nullptr;
  // Rows [0, rows) of a row-major matrix with `stride` as one tile of `height`: k columns, zeros
  // for missing rows.
  void (*pack_tile)(const Element* x, int64_t stride, int64_t rows, int64_t height, int64_t k,
                    Element* out) = nullptr;
  // Columns [0, n) of a row-major matrix with `stride` as panels of `width`: k rows.
  void (*pack_panels)(const Element* x, int64_t stride, int64_t n, int64_t width, int64_t k,
                      Element* out) = nullptr;
};

struct GemmKernels {
  GemmFunctions<float, float> f32;
  GemmFunctions<double, double> f64;
  // Pairs of bf16 along k, each an element of 32 bits; k counts pairs. Sums in f32 in any order:
  // `fused` only, and null where the level has no such products. Rows of bf16 are rows of such
  // pairs; b is packed by zip_panels.
  GemmFunctions<uint32_t, float> bf16;
  // Columns of b [2 k, n] of bf16 as panels of pairs.
  void (*zip_panels)(const uint16_t* x, int64_t stride, int64_t n, int64_t width, int64_t k,
                     uint32_t* out) = nullptr;
  // f32 to bf16, to nearest even; NaN stays NaN.
  void (*narrow_bf16)(const float* x, int64_t n, uint16_t* out) = nullptr;
};

// Defined once per level, in gemm_kernels.cc.
template <Isa kIsa>
GemmKernels gemm_kernels();
// Fills `bf16` and zip_panels; defined in bf16_gemm_kernels.cc for the levels that have such
// products.
template <Isa kIsa>
void add_bf16_products(GemmKernels& kernels);

}  // namespace quern::cpu
