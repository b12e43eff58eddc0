// Scores, probabilities and weighted values of a page of 64 keys; compiled once per level.
#include "backends/cpu/kernels/attention_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/lanes-inl.h"
#include "ops/math/strict_math-inl.h"

namespace quern::cpu {
namespace {

constexpr int64_t kDotBlock = 256;
constexpr float kMinusInfinity = -__builtin_inff();

// Rows of a register tile; a tile is kTileVectors vectors wide. Sums, right operands and one
// broadcast fit the registers of the level: 32 from AVX-512 on, 16 below.
constexpr int kTileVectors = 4;
constexpr int kTileRows = kVectorBytes == 64 ? 6 : 2;
constexpr int kPageVectors = kPageKeys / kLanes;

template <CacheType kType>
QUERN_INLINE VecF32 load_cached(const void* base, int64_t index) {
  if constexpr (kType == CacheType::kF32) {
    return load<VecF32>(static_cast<const float*>(base) + index);
  } else if constexpr (kType == CacheType::kF16) {
    return widen_f16(static_cast<const uint16_t*>(base) + index);
  } else {
    return widen_bf16(static_cast<const uint16_t*>(base) + index);
  }
}

// A product of kRows rows by kVectors vectors of columns: sums[r][v] += left[r][k] * right[k][v],
// for k in order.
struct Product {
  const float* left;
  int64_t left_stride;
  const void* right;
  int64_t right_stride;
};
template <CacheType kType, int kRows, int kVectors>
QUERN_INLINE void multiply_tile(const Product& p, int64_t begin, int64_t end, int64_t column,
                                VecF32 (&sums)[kRows][kVectors]) {
  for (int64_t k = begin; k < end; ++k) {
    VecF32 right[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      right[v] = load_cached<kType>(p.right, k * p.right_stride + column + v * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const VecF32 left = splat(p.left[r * p.left_stride + k]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = sums[r][v] + left * right[v];
    }
  }
}

// Calls f(first row, RowCount) for tiles of kTileRows rows, then for fewer.
template <int kRows>
struct RowCount {
  static constexpr int kValue = kRows;
};
template <class F>
QUERN_INLINE void for_row_tiles(int num_rows, F f) {
  int row = 0;
  for (; row + kTileRows <= num_rows; row += kTileRows) f(row, RowCount<kTileRows>());
  if constexpr (kTileRows > 3) {
    for (; row + 3 <= num_rows; row += 3) f(row, RowCount<3>());
  }
  for (; row < num_rows; ++row) f(row, RowCount<1>());
}

// Dots of kRows rows with one tile of columns, in blocks of 256 along the key.
template <CacheType kType, int kRows, int kVectors>
QUERN_INLINE void dot_tile(const AttentionPage& page, int row, int64_t column) {
  const Product product{page.query + row * page.key_dim, page.key_dim, page.keys, kPageKeys};
  VecF32 totals[kRows][kVectors] = {};
  for (int64_t begin = 0; begin < page.key_dim; begin += kDotBlock) {
    const int64_t end = begin + kDotBlock < page.key_dim ? begin + kDotBlock : page.key_dim;
    VecF32 sums[kRows][kVectors] = {};
    multiply_tile<kType>(product, begin, end, column, sums);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) totals[r][v] = totals[r][v] + sums[r][v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      store(page.scores + (row + r) * kPageKeys + column + v * kLanes, totals[r][v]);
    }
  }
}

template <CacheType kType>
void dot_keys_of(const AttentionPage& page) {
  for_row_tiles(page.num_rows, [&]<class Rows>(int row, Rows) {
    for (int64_t column = 0; column < kPageKeys; column += kTileVectors * kLanes) {
      dot_tile<kType, Rows::kValue, kTileVectors>(page, row, column);
    }
  });
}

void dot_keys(const AttentionPage& page) {
  switch (page.key_type) {
    case CacheType::kF32:
      return dot_keys_of<CacheType::kF32>(page);
    case CacheType::kF16:
      return dot_keys_of<CacheType::kF16>(page);
    case CacheType::kBF16:
      return dot_keys_of<CacheType::kBF16>(page);
  }
}

// Dots to scores: * scale, then the soft cap; masked keys become -infinity.
QUERN_INLINE void finish_scores(const AttentionPage& page, int row) {
  float* scores = page.scores + row * kPageKeys;
  for (int64_t i = 0; i < kPageKeys; i += kLanes) {
    VecF32 s = load<VecF32>(scores + i) * page.scale;
    if (page.soft_cap != 0) s = page.soft_cap * simd::strict_tanh(s / page.soft_cap);
    store(scores + i, s);
  }
  for (int64_t i = 0; i < page.first[row]; ++i) scores[i] = kMinusInfinity;
  for (int64_t i = page.last[row]; i < kPageKeys; ++i) scores[i] = kMinusInfinity;
}

// What a page gives one row.
struct PageRow {
  bool is_empty = true;   // every key is masked
  bool has_gaps = false;  // a key in sight has the score -infinity, which masks it too
  uint64_t visible = 0;   // where there are gaps: a bit for each key that is not masked
  float m = 0;
  float l = 0;
};

QUERN_INLINE uint64_t find_visible(const float* scores) {
  uint64_t visible = 0;
  for (int64_t i = 0; i < kPageKeys; ++i) {
    if (scores[i] != kMinusInfinity) visible |= uint64_t{1} << i;
  }
  return visible;
}

// NaN if any score is; the sign of a zero does not matter to exp(score - m).
QUERN_INLINE float largest_score(const float* scores) {
  VecF32 best = load<VecF32>(scores);
  VecI32 is_nan = best != best;
#pragma GCC unroll 4
  for (int v = 1; v < kPageVectors; ++v) {
    const VecF32 s = load<VecF32>(scores + v * kLanes);
    best = s > best ? s : best;
    is_nan |= s != s;
  }
  float m = best[0];
  int32_t has_nan = is_nan[0];
  for (int i = 1; i < kLanes; ++i) {
    m = best[i] > m ? best[i] : m;
    has_nan |= is_nan[i];
  }
  return has_nan != 0 ? __builtin_nanf("") : m;
}

// Scores to probabilities, those of masked keys 0.
QUERN_INLINE PageRow exponentiate(const AttentionPage& page, int row) {
  float* scores = page.scores + row * kPageKeys;
  PageRow result;
  if (page.first[row] >= page.last[row]) return result;
  finish_scores(page, row);
  result.m = largest_score(scores);
  if (result.m == kMinusInfinity) return result;
  result.is_empty = false;
  VecF32 p[kPageVectors];
  VecI32 masked = {};
#pragma GCC unroll 4
  for (int v = 0; v < kPageVectors; ++v) {
    const VecF32 s = load<VecF32>(scores + v * kLanes);
    const VecI32 is_masked = s == kMinusInfinity;
    masked += is_masked;  // -1 for each
    p[v] = is_masked ? VecF32{} : simd::strict_exp(s - result.m);
  }
  int64_t num_visible = kPageKeys;
  for (int i = 0; i < kLanes; ++i) num_visible += masked[i];
  result.has_gaps = num_visible != page.last[row] - page.first[row];
  if (result.has_gaps) result.visible = find_visible(scores);
  VecF32 partials[kPageVectors / 2];
#pragma GCC unroll 4
  for (int v = 0; v < kPageVectors; ++v) store(scores + v * kLanes, p[v]);
#pragma GCC unroll 4
  for (int v = 0; v < kPageVectors / 2; ++v) {
    partials[v] = (VecF32{} + p[v]) + p[v + kPageVectors / 2];
  }
  result.l = join_lanes(partials, AddJoin());
  return result;
}

// sums += p * value for the keys [begin, end) of `visible`, in order.
template <CacheType kType>
QUERN_INLINE void add_keys(const AttentionPage& page, int row, int64_t begin, int64_t end,
                           uint64_t visible) {
  float* sums = page.sums + row * page.row_stride;
  for (int64_t key = begin; key < end; ++key) {
    if ((visible >> key & 1) == 0) continue;
    const VecF32 p = splat(page.scores[row * kPageKeys + key]);
    for (int64_t d = 0; d < page.value_dim; d += kLanes) {
      const VecF32 value = load_cached<kType>(page.values, key * page.value_stride + d);
      store(sums + d, load<VecF32>(sums + d) + p * value);
    }
  }
}

// sums += p * value for keys [begin, end) that all rows of the tile see.
template <CacheType kType, int kRows, int kVectors>
QUERN_INLINE void add_tile(const AttentionPage& page, int row, int64_t begin, int64_t end,
                           int64_t column) {
  const Product product{page.scores + row * kPageKeys, kPageKeys, page.values, page.value_stride};
  float* sums = page.sums + row * page.row_stride + column;
  VecF32 tile[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      tile[r][v] = load<VecF32>(sums + r * page.row_stride + v * kLanes);
    }
  }
  multiply_tile<kType>(product, begin, end, column, tile);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(sums + r * page.row_stride + v * kLanes, tile[r][v]);
  }
}

template <CacheType kType>
QUERN_INLINE void add_shared_keys(const AttentionPage& page, int64_t begin, int64_t end) {
  for_row_tiles(page.num_rows, [&]<class Rows>(int row, Rows) {
    int64_t column = 0;
    for (; column + kTileVectors * kLanes <= page.value_dim; column += kTileVectors * kLanes) {
      add_tile<kType, Rows::kValue, kTileVectors>(page, row, begin, end, column);
    }
    for (; column < page.value_dim; column += kLanes) {
      add_tile<kType, Rows::kValue, 1>(page, row, begin, end, column);
    }
  });
}

// Weighted values of all rows. Keys that every row sees go through the tiles; those before and
// after them, at the edge of a causal mask or a window, row by row.
template <CacheType kType>
void add_values_of(const AttentionPage& page, const PageRow* rows) {
  for (int64_t i = 0; i < page.num_rows * page.row_stride; i += kLanes) {
    store(page.sums + i, VecF32{});
  }
  constexpr uint64_t kAll = ~uint64_t{0};
  int64_t begin = 0;
  int64_t end = kPageKeys;
  for (int row = 0; row < page.num_rows; ++row) {
    begin = page.first[row] > begin ? page.first[row] : begin;
    end = page.last[row] < end ? page.last[row] : end;
    if (rows[row].has_gaps) end = -1;
  }
  const bool is_shared = begin < end;
  for (int row = 0; row < page.num_rows; ++row) {
    const uint64_t visible = rows[row].has_gaps ? rows[row].visible : kAll;
    add_keys<kType>(page, row, page.first[row], is_shared ? begin : page.last[row], visible);
  }
  if (!is_shared) return;
  add_shared_keys<kType>(page, begin, end);
  for (int row = 0; row < page.num_rows; ++row) {
    add_keys<kType>(page, row, end, page.last[row], kAll);
  }
}

void add_values(const AttentionPage& page, const PageRow* rows) {
  switch (page.value_type) {
    case CacheType::kF32:
      return add_values_of<CacheType::kF32>(page, rows);
    case CacheType::kF16:
      return add_values_of<CacheType::kF16>(page, rows);
    case CacheType::kBF16:
      return add_values_of<CacheType::kBF16>(page, rows);
  }
}

// left = left (+) right. m and l have room for kMaxTileRows rows.
void join(int num_rows, int64_t width, int64_t row_stride, const AttentionState& left,
          const AttentionState& right) {
  float a[kMaxTileRows], b[kMaxTileRows], joined_l[kMaxTileRows], joined_m[kMaxTileRows];
  for (int row = 0; row < num_rows; row += kLanes) {
    const VecF32 m_left = load<VecF32>(left.m + row);
    const VecF32 m_right = load<VecF32>(right.m + row);
    // Where one is NaN, so are its l and o, and with them the result.
    const VecF32 m = m_left > m_right ? m_left : m_right;
    const VecF32 scale_left = simd::strict_exp(m_left - m);
    const VecF32 scale_right = simd::strict_exp(m_right - m);
    store(a + row, scale_left);
    store(b + row, scale_right);
    store(joined_m + row, m);
    store(joined_l + row,
          load<VecF32>(left.l + row) * scale_left + load<VecF32>(right.l + row) * scale_right);
  }
  for (int row = 0; row < num_rows; ++row) {
    if (right.is_empty[row] != 0) continue;
    float* o = left.o + row * row_stride;
    const float* added = right.o + row * row_stride;
    const bool is_first = left.is_empty[row] != 0;
    for (int64_t d = 0; d < width; d += kLanes) {
      const VecF32 sum = load<VecF32>(added + d);
      store(o + d, is_first ? sum : load<VecF32>(o + d) * a[row] + sum * b[row]);
    }
    left.m[row] = is_first ? right.m[row] : joined_m[row];
    left.l[row] = is_first ? right.l[row] : joined_l[row];
    left.is_empty[row] = 0;
  }
}

void fold_page(const AttentionPage& page, const AttentionState& state) {
  PageRow rows[kMaxTileRows];
  float m[kMaxTileRows] = {}, l[kMaxTileRows] = {};
  int32_t is_empty[kMaxTileRows];
  for (int row = 0; row < page.num_rows; ++row) {
    rows[row] = exponentiate(page, row);
    m[row] = rows[row].m;
    l[row] = rows[row].l;
    is_empty[row] = rows[row].is_empty ? 1 : 0;
  }
  add_values(page, rows);
  join(page.num_rows, page.value_dim, page.row_stride, state, {is_empty, m, l, page.sums});
}

// The state (sink, 1, 0) joined to row `row`.
void join_sink(int row, int64_t width, int64_t row_stride, float sink,
               const AttentionState& state) {
  float* o = state.o + row * row_stride;
  if (state.is_empty[row] != 0) {
    for (int64_t d = 0; d < width; d += kLanes) store(o + d, VecF32{});
    state.m[row] = sink;
    state.l[row] = 1;
    state.is_empty[row] = 0;
    return;
  }
  const float m = strict_larger(state.m[row], sink);
  const float a = simd::strict_exp(state.m[row] - m);
  const float b = simd::strict_exp(sink - m);
  state.l[row] = state.l[row] * a + 1.0f * b;
  for (int64_t d = 0; d < width; d += kLanes) {
    store(o + d, load<VecF32>(o + d) * a + VecF32{} * b);
  }
  state.m[row] = m;
}

void finish(int num_rows, int64_t width, int64_t row_stride, const float* const* sinks,
            const AttentionState& state, float* const* out) {
  for (int row = 0; row < num_rows; ++row) {
    if (sinks != nullptr && sinks[row] != nullptr) {
      join_sink(row, width, row_stride, *sinks[row], state);
    }
    const float* o = state.o + row * row_stride;
    const bool is_empty = state.is_empty[row] != 0;
    const float l = state.l[row];
    int64_t d = 0;
    for (; d + kLanes <= width; d += kLanes) {
      store(out[row] + d, is_empty ? VecF32{} : load<VecF32>(o + d) / l);
    }
    for (; d < width; ++d) out[row][d] = is_empty ? 0 : o[d] / l;
  }
}

}  // namespace

template <>
AttentionKernels attention_kernels<kThisIsa>() {
  return {.dot_keys = dot_keys, .fold_page = fold_page, .join = join, .finish = finish};
}

}  // namespace quern::cpu
