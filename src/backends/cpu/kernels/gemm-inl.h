// The micro-kernel of matrix products: a tile of rows, broadcast, times a panel of columns.
//
// With 32 registers a tile is 24 rows x 1 vector: each value of `a` is the broadcast memory operand
// of a multiplication, so nothing but one vector of `b` is loaded into a register (Zen 4: 12 x 2
// needs stand-alone broadcasts, which take slots of the float units, and reaches 75 % of this).
// With 16 registers it is 6 rows x 2 vectors.
#pragma once

#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/lanes-inl.h"
#include "backends/cpu/kernels/unroll-inl.h"

namespace quern::cpu {
namespace {

constexpr int kGemmHeight = kLanes >= 16 ? 24 : 6;
constexpr int kGemmVectors = kLanes >= 16 ? 1 : 2;
// Steps of k in a pass of the loop. With 6 x 2 a step is 32 operations of the float units and their
// loads, 5.3 cycles of decoding, of which counters and pointers would take another.
constexpr int kGemmUnroll = kLanes >= 16 ? 1 : 4;

template <class Vec>
struct GemmPanel {
  static constexpr int kLanesPerVector = sizeof(Vec) / sizeof(ElementOf<Vec>);
  static constexpr int kWidth = kGemmVectors * kLanesPerVector;
};

// How a product joins a sum. Steps count the elements of k that one joining covers.
template <class V>
struct SeparateProducts {
  using Vec = V;
  static QUERN_INLINE Vec add(Vec sum, Vec b, const ElementOf<V>& a) { return sum + b * splat(a); }
};
// One rounding where the level has FMA.
template <class V>
struct FusedProducts {
  using Vec = V;
  static QUERN_INLINE Vec add(Vec sum, Vec b, const ElementOf<V>& a) {
    return multiply_add(b, splat(a), sum);
  }
};

// What one micro-kernel call sees: `count` <= kGemmFold steps of k.
template <class Element, class T>
struct GemmTile {
  const Element* a;
  const Element* b;
  int64_t b_k_stride;
  int64_t count;
  T* folds;  // [height][width], the sum of the folds so far
  bool is_first;
  bool is_last;  // the result goes to c, else back to `folds`
  T* c;
  int64_t c_stride;
  int64_t rows;     // of c; may be less than the tile has
  int64_t columns;  // may be less than the panel has
  const T* row_bias;
};

// A finished tile whose rows or columns are not all in c. Not inlined: sums of the full case must
// stay in registers.
template <class T>
__attribute__((noinline)) void put_partial_tile(const T* sums, int64_t height, int64_t width, T* c,
                                                int64_t c_stride, int64_t rows, int64_t columns) {
  if (rows > height) rows = height;
  if (columns > width) columns = width;
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t i = 0; i < columns; ++i) c[t * c_stride + i] = sums[t * width + i];
  }
}

template <class Element, class T, class Products, int kHeight>
void multiply_gemm_tile(const GemmTile<Element, T>& tile) {
  using Vec = typename Products::Vec;
  constexpr int kCount = sizeof(Vec) / sizeof(T);  // columns of a vector
  constexpr int kWidth = kGemmVectors * kCount;
  const Element* a = tile.a;
  const Element* b = tile.b;
  Vec sums[kHeight][kGemmVectors] = {};
#pragma GCC unroll kGemmUnroll
  for (int64_t k = 0; k < tile.count; ++k) {
    Vec panel[kGemmVectors];
    unroll<kGemmVectors>([&](auto v) QUERN_INLINE_LAMBDA {
      panel[v] = load<Vec>(b + v * (sizeof(Vec) / sizeof(Element)));
    });
    unroll<kHeight>([&](auto t) QUERN_INLINE_LAMBDA {
      unroll<kGemmVectors>([&](auto v) QUERN_INLINE_LAMBDA {
        sums[t][v] = Products::add(sums[t][v], panel[v], a[t]);
      });
    });
    a += kHeight;
    b += tile.b_k_stride;
  }
  const auto for_sums = [&](auto f) QUERN_INLINE_LAMBDA {
    unroll<kHeight>([&](auto t) QUERN_INLINE_LAMBDA {
      unroll<kGemmVectors>([&](auto v) QUERN_INLINE_LAMBDA { f(t, v, sums[t][v]); });
    });
  };
  if (!tile.is_first) {
    for_sums([&](int t, int v, Vec& sum) QUERN_INLINE_LAMBDA {
      sum = load<Vec>(tile.folds + t * kWidth + v * kCount) + sum;
    });
  }
  const bool is_whole = tile.rows >= kHeight && tile.columns >= kWidth;
  if (tile.is_last && tile.row_bias != nullptr) {
    for_sums([&](int t, int, Vec& sum) QUERN_INLINE_LAMBDA {
      if (t < tile.rows) sum = sum + splat(tile.row_bias[t]);
    });
  }
  T* to = tile.is_last && is_whole ? tile.c : tile.folds;
  const int64_t stride = tile.is_last && is_whole ? tile.c_stride : kWidth;
  for_sums([&](int t, int v, Vec& sum)
               QUERN_INLINE_LAMBDA { store(to + t * stride + v * kCount, sum); });
  if (tile.is_last && !is_whole) {
    put_partial_tile(tile.folds, kHeight, kWidth, tile.c, tile.c_stride, tile.rows, tile.columns);
  }
}

// A block of the product: for each fold of k, each panel meets all tiles, so that the panel's part
// stays in the first-level cache and the tiles' in the second.
template <class Element, class T, class Products>
void gemm_block(const GemmBlock<Element, T>& p) {
  constexpr int kWidth = GemmPanel<typename Products::Vec>::kWidth;
  const int64_t end = p.k_end == 0 ? p.k : p.k_end;
  for (int64_t begin = p.k_begin; begin < end; begin += kGemmFold) {
    const int64_t count = p.k - begin < kGemmFold ? p.k - begin : kGemmFold;
    T* folds = p.folds;
    for (int64_t column = 0, panel = 0; column < p.n; column += kWidth, ++panel) {
      for (int64_t row = 0; row < p.m;) {
        const int64_t height = gemm_tile_height(p.m - row, kGemmHeight);
        const GemmTile<Element, T> tile{
            .a = p.a + row * p.k + begin * height,
            .b = p.b + panel * p.b_panel_stride + (begin - p.k_begin) * p.b_k_stride,
            .b_k_stride = p.b_k_stride,
            .count = count,
            .folds = folds,
            .is_first = begin == 0,
            .is_last = begin + count == p.k,
            .c = p.c + row * p.c_stride + column,
            .c_stride = p.c_stride,
            .rows = p.m - row,
            .columns = p.n - column,
            .row_bias = p.row_bias == nullptr ? nullptr : p.row_bias + row};
        if (height == kGemmHeight) {
          multiply_gemm_tile<Element, T, Products, kGemmHeight>(tile);
        } else if (height == kGemmHeight / 3 * 2) {
          multiply_gemm_tile<Element, T, Products, kGemmHeight / 3 * 2>(tile);
        } else {
          multiply_gemm_tile<Element, T, Products, kGemmHeight / 3>(tile);
        }
        row += height;
        folds += height * kWidth;
      }
    }
  }
}

// Indices of __builtin_shufflevector(a, b) on vectors of kCount elements, group by group of four.
template <class V, int... kLane>
QUERN_INLINE V low_pairs(V a, V b, std::integer_sequence<int, kLane...>) {
  constexpr int kCount = sizeof...(kLane);
  // a0 b0 a1 b1 of each group
  return __builtin_shufflevector(a, b, (kLane / 4 * 4 + kLane % 4 / 2 + kLane % 2 * kCount)...);
}
template <class V, int... kLane>
QUERN_INLINE V high_pairs(V a, V b, std::integer_sequence<int, kLane...>) {
  constexpr int kCount = sizeof...(kLane);
  // a2 b2 a3 b3
  return __builtin_shufflevector(a, b, (kLane / 4 * 4 + 2 + kLane % 4 / 2 + kLane % 2 * kCount)...);
}
template <class V, int... kLane>
QUERN_INLINE V first_halves(V a, V b, std::integer_sequence<int, kLane...>) {
  constexpr int kCount = sizeof...(kLane);
  // a0 a1 b0 b1
  return __builtin_shufflevector(a, b, (kLane / 4 * 4 + kLane % 2 + kLane % 4 / 2 * kCount)...);
}
template <class V, int... kLane>
QUERN_INLINE V second_halves(V a, V b, std::integer_sequence<int, kLane...>) {
  constexpr int kCount = sizeof...(kLane);
  // a2 a3 b2 b3
  return __builtin_shufflevector(a, b, (kLane / 4 * 4 + 2 + kLane % 2 + kLane % 4 / 2 * kCount)...);
}

// Four rows of kCount elements each, transposed: column i goes to out + i * height.
template <class T, int kCount>
QUERN_INLINE void transpose_four(const T* x, int64_t stride, int64_t height, T* out) {
  typedef T V __attribute__((vector_size(kCount * sizeof(T))));
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  constexpr auto kLanes = std::make_integer_sequence<int, kCount>{};
  const V r0 = load<V>(x), r1 = load<V>(x + stride), r2 = load<V>(x + 2 * stride),
          r3 = load<V>(x + 3 * stride);
  const V low01 = low_pairs(r0, r1, kLanes), high01 = high_pairs(r0, r1, kLanes);
  const V low23 = low_pairs(r2, r3, kLanes), high23 = high_pairs(r2, r3, kLanes);
  const V columns[4] = {first_halves(low01, low23, kLanes), second_halves(low01, low23, kLanes),
                        first_halves(high01, high23, kLanes),
                        second_halves(high01, high23, kLanes)};
  unroll<4>([&](auto i) QUERN_INLINE_LAMBDA {
    Four groups[kCount / 4];
    __builtin_memcpy(groups, &columns[i], sizeof(V));
    unroll<kCount / 4>([&](auto g)
                           QUERN_INLINE_LAMBDA { store(out + (4 * g + i) * height, groups[g]); });
  });
}

// Columns [0, count) of each row come into the caches: runs of a tile are too short for the
// processor to do so itself (Zen 4, 512 x 512 from memory with the panels: 185 to 217 us without,
// 91 us with).
template <class T>
QUERN_INLINE void fetch_ahead(const T* x, int64_t stride, int64_t rows, int64_t count) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < count; i += 64 / int64_t{sizeof(T)}) {
      __builtin_prefetch(x + row * stride + i);
    }
  }
}

template <class T>
void pack_tile(const T* x, int64_t stride, int64_t rows, int64_t height, int64_t k, T* out) {
  // Short runs of k, so that the target is written nearly in order (Zen 4, 1,024 x 1,024: runs of
  // 16 245 us, of 128 344 us).
  constexpr int64_t kRun = 32;
  constexpr int kCount = kLanesOf<VectorFor<T>> < 4 ? 4 : kLanesOf<VectorFor<T>>;
  for (int64_t first = 0; first < k; first += kRun) {
    const int64_t end = k - first < kRun ? k : first + kRun;
    fetch_ahead(x + end, stride, rows, k - end < kRun ? k - end : kRun);
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      const T* from = x + row * stride;
      int64_t i = first;
      for (; i + kCount <= end; i += kCount) {
        transpose_four<T, kCount>(from + i, stride, height, out + i * height + row);
      }
      for (; i < end; ++i) {
        for (int64_t r = 0; r < 4; ++r) out[i * height + row + r] = from[r * stride + i];
      }
    }
    for (; row < height; ++row) {
      for (int64_t i = first; i < end; ++i) {
        out[i * height + row] = row < rows ? x[row * stride + i] : T(0);
      }
    }
  }
}

// Whole panels row by row, so that memory is read in order.
template <class T>
void pack_panels(const T* x, int64_t stride, int64_t n, int64_t width, int64_t k, T* out) {
  using V = VectorFor<T>;
  // Rows are fetched this many ahead, since each begins another page (1,024 x 1,024: 243 to 179
  // us).
  constexpr int64_t kAhead = 16;
  const int64_t whole = n / width * width;
  for (int64_t i = 0; i < k; ++i) {
    const T* from = x + i * stride;
    const T* next = i + kAhead < k ? from + kAhead * stride : from;
    T* to = out + i * width;
    for (int64_t column = 0; column < whole; column += width, to += k * width) {
      __builtin_prefetch(next + column);
      for (int64_t w = 0; w < width; w += kLanesOf<V>) {
        store(to + w, load<V>(from + column + w));
      }
    }
    if (whole == n) continue;
    for (int64_t w = 0; w < width; ++w) to[w] = whole + w < n ? from[whole + w] : T(0);
  }
}

}  // namespace
}  // namespace quern::cpu
