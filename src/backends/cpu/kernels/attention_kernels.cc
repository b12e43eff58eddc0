// Scores, probabilities and weighted values of a page of 64 keys; compiled once per level.
#include "backends/cpu/kernels/attention_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/lanes-inl.h"
#include "ops/math/strict_math-inl.h"

namespace quern::cpu {
namespace {

constexpr int64_t kDotBlock = 256;
constexpr float kMinusInfinity = -__builtin_inff();

constexpr int64_t kLineBytes = 64;

// Register tiles: rows x vectors of sums. With AVX-512 a broadcast left operand costs nothing as
// the memory operand of its only product, so tall tiles of one vector win; with 16 registers 6 x 2
// is what fits. The last rows take what keeps several chains of adds in flight.
template <int kRows, int kVectors>
struct TileShape {
  static constexpr int kTileRows = kRows;
  static constexpr int kTileVectors = kVectors;
};

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

// sums[r][v] += left[r][k] * right[k][v] for k in order. Strides of the left operand are constants,
// so that every row is a displacement in one address.
template <int kRowStride, int kStride>
struct Left {
  const float* data;
  QUERN_INLINE float at(int row, int64_t k) const { return data[row * kRowStride + k * kStride]; }
};
struct Right {
  const void* data;
  int64_t stride;
  const void* next;  // what is read ahead, in the same steps
};
template <CacheType kType>
constexpr int64_t kBytesOf = kType == CacheType::kF32 ? 4 : 2;

// Lines of the next operand at the place of kCount elements.
template <CacheType kType, int kCount>
QUERN_INLINE void prefetch_cached(const void* base, int64_t index) {
  const char* begin = static_cast<const char*>(base) + index * kBytesOf<kType>;
#pragma GCC unroll 4
  for (int64_t byte = 0; byte < kCount * kBytesOf<kType>; byte += kLineBytes) {
    __builtin_prefetch(begin + byte, 0, 2);
  }
}

template <CacheType kType, int kRows, int kVectors, class LeftOperand>
QUERN_INLINE void multiply_tile(LeftOperand left, Right right, int64_t begin, int64_t end,
                                VecF32 (&sums)[kRows][kVectors]) {
  for (int64_t k = begin; k < end; ++k) {
    VecF32 vectors[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = load_cached<kType>(right.data, k * right.stride + v * kLanes);
    }
    prefetch_cached<kType, kVectors * kLanes>(right.next, k * right.stride);
#pragma GCC unroll 24
    for (int r = 0; r < kRows; ++r) {
      const VecF32 x = splat(left.at(r, k));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = sums[r][v] + x * vectors[v];
    }
  }
}

// Calls f(first row, TileShape) for tiles that cover the rows.
template <class F>
QUERN_INLINE void for_row_tiles(int num_rows, F f) {
  int row = 0;
  if constexpr (kVectorBytes == 64) {
    for (; row + 24 <= num_rows; row += 24) f(row, TileShape<24, 1>());
    for (; row + 12 <= num_rows; row += 12) f(row, TileShape<12, 2>());
    for (; row + 6 <= num_rows; row += 6) f(row, TileShape<6, 4>());
    for (; row + 3 <= num_rows; row += 3) f(row, TileShape<3, 4>());
  } else {
    for (; row + 6 <= num_rows; row += 6) f(row, TileShape<6, 2>());
    for (; row + 3 <= num_rows; row += 3) f(row, TileShape<3, 2>());
  }
  for (; row < num_rows; ++row) f(row, TileShape<1, 4>());
}

using QueryLeft = Left<1, kMaxTileRows>;
using ScoreLeft = Left<kPageKeys, 1>;

template <int kRows, int kVectors>
QUERN_INLINE void store_dots(const AttentionPage& page, int row, int64_t column,
                             const VecF32 (&sums)[kRows][kVectors]) {
#pragma GCC unroll 24
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      store(page.scores + (row + r) * kPageKeys + column + v * kLanes, sums[r][v]);
    }
  }
}

// Columns from `column` on. Only the first tile of rows reads ahead.
template <CacheType kType>
QUERN_INLINE Right right_operand(const void* data, const void* next, int64_t column,
                                 int64_t stride) {
  const int64_t offset = column * kBytesOf<kType>;
  return {static_cast<const char*>(data) + offset, stride, static_cast<const char*>(next) + offset};
}

// Dots of kRows rows with one tile of columns, in blocks of 256 along the key.
template <CacheType kType, int kRows, int kVectors>
QUERN_INLINE void dot_tile(const AttentionPage& page, int row, int64_t column) {
  const QueryLeft left{page.query + row};
  const Right right =
      right_operand<kType>(page.keys, row == 0 ? page.next_keys : page.keys, column, kPageKeys);
  if (page.key_dim <= kDotBlock) {  // one block: its sums are the dots and stay in registers
    VecF32 sums[kRows][kVectors] = {};
    multiply_tile<kType>(left, right, 0, page.key_dim, sums);
    store_dots<kRows, kVectors>(page, row, column, sums);
    return;
  }
  VecF32 totals[kRows][kVectors] = {};
  for (int64_t begin = 0; begin < page.key_dim; begin += kDotBlock) {
    const int64_t end = begin + kDotBlock < page.key_dim ? begin + kDotBlock : page.key_dim;
    VecF32 block[kRows][kVectors] = {};
    multiply_tile<kType>(left, right, begin, end, block);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) totals[r][v] = totals[r][v] + block[r][v];
    }
  }
  store_dots<kRows, kVectors>(page, row, column, totals);
}

// One past the last key that some row sees.
QUERN_INLINE int64_t visible_end(const AttentionPage& page) {
  int64_t end = 0;
  for (int row = 0; row < page.num_rows; ++row) end = page.last[row] > end ? page.last[row] : end;
  return end;
}

// Whole tiles of columns up to the last visible key; nobody reads the dots behind them.
template <CacheType kType>
void dot_keys_of(const AttentionPage& page) {
  const int64_t end = visible_end(page);
  for_row_tiles(page.num_rows, [&]<class Shape>(int row, Shape) {
    for (int64_t column = 0; column < end; column += Shape::kTileVectors * kLanes) {
      dot_tile<kType, Shape::kTileRows, Shape::kTileVectors>(page, row, column);
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

// What a page gives one row.
struct PageRow {
  bool is_empty = true;   // every key is masked
  bool has_gaps = false;  // a key in sight has the score -infinity, which masks it too
  uint64_t visible = 0;   // where there are gaps: a bit for each key that is not masked
  float m = 0;
};

// A bit for each key before `end` whose score is not -infinity.
QUERN_INLINE uint64_t find_visible(const float* scores, int64_t end) {
  uint64_t visible = 0;
  for (int64_t i = 0; i < end; ++i) {
    if (scores[i] != kMinusInfinity) visible |= uint64_t{1} << i;
  }
  return visible;
}

// The keys of a page from v * kLanes on.
QUERN_INLINE VecI32 key_indices(int v) {
  int32_t indices[kLanes];
  for (int i = 0; i < kLanes; ++i) indices[i] = v * kLanes + i;
  return load<VecI32>(indices);
}

// Dots of a row to finished scores in place: * scale, the soft cap, -infinity for masked keys.
// Only the vectors before `num_vectors` exist. Returns what the row is, without l.
QUERN_INLINE PageRow finish_scores(const AttentionPage& page, int row, int num_vectors) {
  PageRow result;
  const int32_t first = page.first[row], last = page.last[row];
  if (first >= last) return result;
  float* scores = page.scores + row * kPageKeys;
  const bool is_edge = first > 0 || last < num_vectors * kLanes;
  VecF32 largest = splat(kMinusInfinity);
  VecI32 masked = {};  // -1 where a key is masked
  for (int v = 0; v < num_vectors; ++v) {
    VecF32 s = load<VecF32>(scores + v * kLanes) * page.scale;
    if (page.soft_cap != 0) s = page.soft_cap * simd::strict_tanh(s / page.soft_cap);
    if (is_edge) {
      const VecI32 key = key_indices(v);
      s = ((key >= first) & (key < last)) ? s : splat(kMinusInfinity);
    }
    store(scores + v * kLanes, s);
    masked |= s == kMinusInfinity;
    largest = larger(s, largest);
  }
  result.m = fold_lanes(largest, LargerJoin());
  result.is_empty = false;
  if (!any_lane(masked)) return result;
  // At an edge of what the row sees, or where a score in sight is -infinity and masks its key.
  const uint64_t visible = find_visible(scores, num_vectors * kLanes);
  result.is_empty = visible == 0;
  result.has_gaps = !result.is_empty && __builtin_popcountll(visible) != last - first;
  if (result.has_gaps) result.visible = visible;
  return result;
}

// Scores of a row to probabilities, those of masked keys 0; their lanes(32) sum. A NaN score makes
// its own probability NaN, and so l and every sum it is added to, whatever m is; the result is NaN
// as it must be.
QUERN_INLINE float exponentiate(float* scores, float m, int num_vectors) {
  constexpr int kSumVectors = kSumLanes / kLanes;
  VecF32 partials[kSumVectors] = {};
#pragma GCC unroll 4
  for (int v = 0; v < num_vectors; ++v) {
    const VecF32 p = simd::strict_exp(load<VecF32>(scores + v * kLanes) - m);
    store(scores + v * kLanes, p);
    partials[v % kSumVectors] += p;
  }
  return join_lanes(partials, AddJoin());
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
  const ScoreLeft left{page.scores + row * kPageKeys};
  const Right right = right_operand<kType>(page.values, row == 0 ? page.next_values : page.values,
                                           column, page.value_stride);
  float* sums = page.sums + row * page.row_stride + column;
  VecF32 tile[kRows][kVectors];
#pragma GCC unroll 24
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      tile[r][v] = load<VecF32>(sums + r * page.row_stride + v * kLanes);
    }
  }
  multiply_tile<kType>(left, right, begin, end, tile);
#pragma GCC unroll 24
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(sums + r * page.row_stride + v * kLanes, tile[r][v]);
  }
}

template <CacheType kType>
QUERN_INLINE void add_shared_keys(const AttentionPage& page, int64_t begin, int64_t end) {
  for_row_tiles(page.num_rows, [&]<class Shape>(int row, Shape) {
    constexpr int kRows = Shape::kTileRows, kVectors = Shape::kTileVectors;
    int64_t column = 0;
    for (; column + kVectors * kLanes <= page.value_dim; column += kVectors * kLanes) {
      add_tile<kType, kRows, kVectors>(page, row, begin, end, column);
    }
    for (; column < page.value_dim; column += kLanes) {
      add_tile<kType, kRows, 1>(page, row, begin, end, column);
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

// left = left (+) right.
void join(int num_rows, int64_t width, int64_t row_stride, const AttentionState& left,
          const AttentionState& right) {
  float a[kStateRows], b[kStateRows], joined_l[kStateRows], joined_m[kStateRows];
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

// Each phase runs over all rows, so that the processor overlaps their chains of operations.
void fold_page(const AttentionPage& page, const AttentionState& state) {
  PageRow rows[kMaxTileRows];
  float m[kStateRows] = {}, l[kStateRows] = {};
  int32_t is_empty[kMaxTileRows];
  const int num_vectors = static_cast<int>((visible_end(page) + kLanes - 1) / kLanes);
  for (int row = 0; row < page.num_rows; ++row) {
    rows[row] = finish_scores(page, row, num_vectors);
    m[row] = rows[row].m;
    is_empty[row] = rows[row].is_empty ? 1 : 0;
  }
  for (int row = 0; row < page.num_rows; ++row) {
    if (rows[row].is_empty) continue;
    l[row] = exponentiate(page.scores + row * kPageKeys, m[row], num_vectors);
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
