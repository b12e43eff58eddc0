// Scores, probabilities and weighted values of pages of 64 keys; compiled once per level.
#include "backends/cpu/kernels/attention_kernels.h"

#include <utility>

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/cached_rows-inl.h"
#include "backends/cpu/kernels/exponentials-inl.h"
#include "backends/cpu/kernels/lanes-inl.h"
#include "ops/math/strict_math-inl.h"

namespace quern::cpu {
namespace {

constexpr int64_t kDotBlock = 256;
constexpr float kMinusInfinity = -__builtin_inff();

// Register tiles: rows x vectors of sums. Widened keys and values cost as much as the products of
// two rows, so few rows go together where the registers hold their sums; with AVX-512 tall tiles of
// one vector are best, with 16 registers 6 x 2 is what fits.
template <int kRows, int kVectors>
struct TileShape {
  static constexpr int kTileRows = kRows;
  static constexpr int kTileVectors = kVectors;
};

// One left operand of a tile: a float for each row and step. Strides are constants, so that every
// row is a displacement in one address.
template <int kRowStride, int kStride>
struct Left {
  const float* data;
  QUERN_INLINE const float* at(int row, int64_t k) const {
    return data + (row * kRowStride + k * kStride);
  }
};

// sums[r][v] += left[r][k] * right[k][v] for k in order.
template <int kRows, int kVectors, class LeftOperand, class Right>
QUERN_INLINE void multiply_tile(LeftOperand left, const Right& right, int64_t begin, int64_t end,
                                ReadAhead* ahead, VecF32 (&sums)[kRows][kVectors]) {
  ReadingAhead reading(ahead);
  for (int64_t first = begin; first < end; first += kStepsAtOnce) {
    const int64_t last = first + kStepsAtOnce < end ? first + kStepsAtOnce : end;
    reading.steps(last - first);
    for (int64_t k = first; k < last; ++k) {
      VecF32 vectors[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) vectors[v] = right.at(k, v);
#pragma GCC unroll 24
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          sums[r][v] = sums[r][v] + multiply_broadcast(vectors[v], left.at(r, k));
        }
      }
    }
  }
  reading.finish();
}

// Calls f(first row, TileShape) for tiles that cover the rows.
template <class F>
QUERN_INLINE void for_row_tiles(int num_rows, F f) {
  int row = 0;
  if constexpr (kVectorBytes == 64) {
    for (; row + 24 <= num_rows; row += 24) f(row, TileShape<24, 1>());
    for (; row + 12 <= num_rows; row += 12) f(row, TileShape<12, 2>());
    for (; row + 8 <= num_rows; row += 8) f(row, TileShape<8, 2>());
    for (; row + 6 <= num_rows; row += 6) f(row, TileShape<6, 4>());
    for (; row + 4 <= num_rows; row += 4) f(row, TileShape<4, 4>());
    for (; row + 3 <= num_rows; row += 3) f(row, TileShape<3, 4>());
    for (; row + 2 <= num_rows; row += 2) f(row, TileShape<2, 4>());
  } else {
    for (; row + 6 <= num_rows; row += 6) f(row, TileShape<6, 2>());
    for (; row + 3 <= num_rows; row += 3) f(row, TileShape<3, 2>());
  }
  for (; row < num_rows; ++row) f(row, TileShape<1, 4>());
}

// Most rows that one tile holds. More of them share what is widened or unpacked once for all.
constexpr int kMostTileRows = kVectorBytes == 64 ? 24 : 6;

using QueryLeft = Left<1, kMaxTileRows>;
using ScoreLeft = Left<kPageKeys, 1>;

// Only the first tile of rows reads ahead.
QUERN_INLINE ReadAhead* ahead_of(const AttentionRun& run, int row) {
  return row == 0 ? run.ahead : nullptr;
}

QUERN_INLINE float* scores_of(const AttentionRun& run, int page, int row) {
  return run.scores + (page * run.num_rows + row) * kPageKeys;
}
QUERN_INLINE float* sums_of(const AttentionRun& run, int page, int row) {
  return run.sums + (page * run.num_rows + row) * run.row_stride;
}

template <int kRows, int kVectors>
QUERN_INLINE void store_dots(float* scores, const VecF32 (&sums)[kRows][kVectors]) {
#pragma GCC unroll 24
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(scores + r * kPageKeys + v * kLanes, sums[r][v]);
  }
}

// Dots of kRows rows with one tile of keys, in blocks of 256 along the key.
template <CacheType kType, int kRows, int kVectors>
QUERN_INLINE void dot_tile(const AttentionRun& run, int page, int row, int64_t column) {
  const QueryLeft left{run.query + row};
  const CachedColumns<kType> right(run.pages[page].keys, kPageKeys, column);
  ReadAhead* ahead = ahead_of(run, row);
  float* scores = scores_of(run, page, row) + column;
  if (run.key_dim <= kDotBlock) {  // one block: its sums are the dots and stay in registers
    VecF32 sums[kRows][kVectors] = {};
    multiply_tile(left, right, 0, run.key_dim, ahead, sums);
    store_dots<kRows, kVectors>(scores, sums);
    return;
  }
  VecF32 totals[kRows][kVectors] = {};
  for (int64_t begin = 0; begin < run.key_dim; begin += kDotBlock) {
    const int64_t end = begin + kDotBlock < run.key_dim ? begin + kDotBlock : run.key_dim;
    VecF32 block[kRows][kVectors] = {};
    multiply_tile(left, right, begin, end, ahead, block);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) totals[r][v] = totals[r][v] + block[r][v];
    }
  }
  store_dots<kRows, kVectors>(scores, totals);
}

// One past the last key that some row sees.
QUERN_INLINE int64_t visible_end(const AttentionRun& run, int page) {
  int64_t end = 0;
  for (int row = 0; row < run.num_rows; ++row) {
    const int64_t last = run.pages[page].last[row];
    end = last > end ? last : end;
  }
  return end;
}

// Whole tiles of columns up to the last visible key; nobody reads the dots behind them.
template <CacheType kType>
void dot_keys_of(const AttentionRun& run) {
  for (int page = 0; page < run.num_pages; ++page) {
    const int64_t end = visible_end(run, page);
    for_row_tiles(run.num_rows, [&]<class Shape>(int row, Shape) {
      for (int64_t column = 0; column < end; column += Shape::kTileVectors * kLanes) {
        dot_tile<kType, Shape::kTileRows, Shape::kTileVectors>(run, page, row, column);
      }
    });
  }
}

void dot_keys(const AttentionRun& run) {
  switch (run.key_type) {
    case CacheType::kF16:
      return dot_keys_of<CacheType::kF16>(run);
    case CacheType::kBF16:
      return dot_keys_of<CacheType::kBF16>(run);
    default:
      return dot_keys_of<CacheType::kF32>(run);
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

template <int kBy, int... kI>
QUERN_INLINE VecF32 rotate_lanes(VecF32 v, std::integer_sequence<int, kI...>) {
  return __builtin_shufflevector(v, v, (kI + kBy) % kLanes...);
}
// The largest lane in all lanes; without a branch, which a comparison of two floats becomes.
template <int kHalf = kLanes / 2>
QUERN_INLINE VecF32 largest_lane(VecF32 v) {
  if constexpr (kHalf == 0) {
    return v;
  } else {
    const VecF32 other = rotate_lanes<kHalf>(v, std::make_integer_sequence<int, kLanes>());
    return largest_lane<kHalf / 2>(larger(v, other));
  }
}

// Vectors of scores up to key `end`, in whole rounds of lanes(32).
constexpr int kSumVectors = kSumVectorsOf<VecF32>;
QUERN_INLINE int vectors_up_to(int64_t end) {
  return static_cast<int>((end + kSumLanes - 1) / kSumLanes) * kSumVectors;
}

// Dots of a row to finished scores in place: * scale, the soft cap, -infinity for masked keys.
// Only the vectors before `num_vectors` matter; those behind the last key are masked, whatever lies
// there. Returns what the row is, without l.
QUERN_INLINE PageRow finish_scores(const AttentionRun& run, int page, int row, int num_vectors) {
  PageRow result;
  const int32_t first = run.pages[page].first[row], last = run.pages[page].last[row];
  if (first >= last) return result;
  float* scores = scores_of(run, page, row);
  const bool is_edge = first > 0 || last < num_vectors * kLanes;
  VecF32 largest = splat(kMinusInfinity);
  VecI32 masked = {};  // -1 where a key is masked
  for (int v = 0; v < num_vectors; ++v) {
    VecF32 s = load<VecF32>(scores + v * kLanes) * run.scale;
    if (run.soft_cap != 0) s = run.soft_cap * simd::strict_tanh(s / run.soft_cap);
    if (is_edge) {
      const VecI32 key = key_indices(v);
      s = ((key >= first) & (key < last)) ? s : splat(kMinusInfinity);
    }
    store(scores + v * kLanes, s);
    masked |= s == kMinusInfinity;
    largest = larger(s, largest);
  }
  result.m = largest_lane(largest)[0];
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
  VecF32 partials[kSumVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kSumVectors; ++v) partials[v] = VecF32{};
  for (int first = 0; first < num_vectors; first += kSumVectors) {
    float* place = scores + first * kLanes;
    add_exponentials<VecF32>(place, place, m, partials);
  }
  return join_lanes(partials, AddJoin());
}

QUERN_INLINE int64_t value_blocks(const AttentionRun& run) {
  return (run.value_dim + kKeyBlock - 1) / kKeyBlock;
}

// The values of a page: as they are cached, or widened to f32 before.
struct PageValues {
  const void* data;
  int64_t stride;  // elements between rows of floats
};

// Those from one column on.
template <CacheType kType>
QUERN_INLINE CachedColumns<kType> value_columns(const AttentionRun& run, const PageValues& values,
                                                int64_t column) {
  if constexpr (is_quantized_cache(kType)) {
    return {values.data, run.value_scales, value_blocks(run), column};
  } else {
    return {values.data, values.stride, column};
  }
}

// sums += p * value for the keys [begin, end) of `visible`, in order.
template <CacheType kType>
QUERN_INLINE void add_keys(const AttentionRun& run, const PageValues& values, int page, int row,
                           int64_t begin, int64_t end, uint64_t visible) {
  if (begin >= end) return;
  const float* scores = scores_of(run, page, row);
  for (int64_t d = 0; d < run.value_dim; d += kLanes) {
    const auto columns = value_columns<kType>(run, values, d);
    float* sums = sums_of(run, page, row) + d;
    VecF32 sum = load<VecF32>(sums);
    for (int64_t key = begin; key < end; ++key) {
      if ((visible >> key & 1) == 0) continue;
      sum = sum + splat(scores[key]) * columns.at(key, 0);
    }
    store(sums, sum);
  }
}

// sums += p * value for keys [begin, end) that all rows of the tile see; sums = where they are the
// first.
template <CacheType kType, int kRows, int kVectors>
QUERN_INLINE void add_tile(const AttentionRun& run, const PageValues& values, int page, int row,
                           int64_t begin, int64_t end, bool is_first, int64_t column) {
  const ScoreLeft left{scores_of(run, page, row)};
  const auto right = value_columns<kType>(run, values, column);
  float* sums = sums_of(run, page, row) + column;
  VecF32 tile[kRows][kVectors];
#pragma GCC unroll 24
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      tile[r][v] = is_first ? VecF32{} : load<VecF32>(sums + r * run.row_stride + v * kLanes);
    }
  }
  multiply_tile(left, right, begin, end, ahead_of(run, row), tile);
#pragma GCC unroll 24
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) store(sums + r * run.row_stride + v * kLanes, tile[r][v]);
  }
}

template <CacheType kType>
QUERN_INLINE void add_shared_keys(const AttentionRun& run, const PageValues& values, int page,
                                  int64_t begin, int64_t end, bool is_first) {
  for_row_tiles(run.num_rows, [&]<class Shape>(int row, Shape) {
    constexpr int kRows = Shape::kTileRows, kVectors = Shape::kTileVectors;
    int64_t column = 0;
    for (; column + kVectors * kLanes <= run.value_dim; column += kVectors * kLanes) {
      add_tile<kType, kRows, kVectors>(run, values, page, row, begin, end, is_first, column);
    }
    for (; column < run.value_dim; column += kLanes) {
      add_tile<kType, kRows, 1>(run, values, page, row, begin, end, is_first, column);
    }
  });
}

// Weighted values of all rows of a page. Keys that every row sees go through the tiles; those
// before and after them, at the edge of a causal mask or a window, row by row.
template <CacheType kType>
void add_values_of(const AttentionRun& run, const PageValues& values, int page,
                   const PageRow* rows) {
  constexpr uint64_t kAll = ~uint64_t{0};
  const int32_t* first = run.pages[page].first;
  const int32_t* last = run.pages[page].last;
  int64_t begin = 0;
  int64_t end = kPageKeys;
  for (int row = 0; row < run.num_rows; ++row) {
    begin = first[row] > begin ? first[row] : begin;
    end = last[row] < end ? last[row] : end;
    if (rows[row].has_gaps) end = -1;
  }
  const bool is_shared = begin < end;
  bool is_first = is_shared;  // whether no row sees a key before the shared ones
  for (int row = 0; row < run.num_rows; ++row) is_first = is_first && first[row] == begin;
  if (!is_first) {
    float* sums = sums_of(run, page, 0);
    for (int64_t i = 0; i < run.num_rows * run.row_stride; i += kLanes) store(sums + i, VecF32{});
    for (int row = 0; row < run.num_rows; ++row) {
      const uint64_t visible = rows[row].has_gaps ? rows[row].visible : kAll;
      add_keys<kType>(run, values, page, row, first[row], is_shared ? begin : last[row], visible);
    }
  }
  if (!is_shared) return;
  add_shared_keys<kType>(run, values, page, begin, end, is_first);
  for (int row = 0; row < run.num_rows; ++row) {
    add_keys<kType>(run, values, page, row, end, last[row], kAll);
  }
}

// Several tiles of rows share what is widened once.
template <CacheType kType>
void add_quantized_values(const AttentionRun& run, int page, const PageRow* rows) {
  const void* cached = run.pages[page].values;
  const int64_t blocks = value_blocks(run);
  widen_scales(cached, blocks, run.value_scales);
  if (run.num_rows <= kMostTileRows) return add_values_of<kType>(run, {cached, 0}, page, rows);
  const int64_t stride = blocks * kKeyBlock;
  widen_values<kType>(cached, run.value_scales, blocks, run.widened_values, stride);
  add_values_of<CacheType::kF32>(run, {run.widened_values, stride}, page, rows);
}

void add_values(const AttentionRun& run, int page, const PageRow* rows) {
  const PageValues values{run.pages[page].values, run.value_stride};
  switch (run.value_type) {
    case CacheType::kF32:
      return add_values_of<CacheType::kF32>(run, values, page, rows);
    case CacheType::kF16:
      return add_values_of<CacheType::kF16>(run, values, page, rows);
    case CacheType::kBF16:
      return add_values_of<CacheType::kBF16>(run, values, page, rows);
    case CacheType::kQ8_0:
      return add_quantized_values<CacheType::kQ8_0>(run, page, rows);
    case CacheType::kQ4_0:
      return add_quantized_values<CacheType::kQ4_0>(run, page, rows);
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

// The states of the pages of a run, and how each row's chain of joins scales them.
struct PageStates {
  // [page][row]
  int32_t is_empty[kMaxRunPages][kStateRows];
  float m[kMaxRunPages][kStateRows];
  float l[kMaxRunPages][kStateRows];
  float scale_left[kMaxRunPages][kStateRows];   // of what was joined before
  float scale_right[kMaxRunPages][kStateRows];  // of the page
};

// Vectors of rows are read whole: numbers in the lanes of no row keep what is computed of them
// finite.
QUERN_INLINE void clear_row_places(PageStates& pages, int page) {
  for (int row = 0; row < kStateRows; row += kLanes) {
    store(&pages.m[page][row], VecF32{});
    store(&pages.is_empty[page][row], VecI32{});
  }
}

// The factors of all joins, by vectors of rows; leaves the last maximum in state.m. Where a side is
// empty the factors mean nothing.
QUERN_INLINE void find_join_scales(const AttentionRun& run, const AttentionState& state,
                                   PageStates& pages) {
  for (int row = 0; row < run.num_rows; row += kLanes) {
    VecF32 m = load<VecF32>(state.m + row);
    VecI32 is_empty = load<VecI32>(state.is_empty + row);
    for (int page = 0; page < run.num_pages; ++page) {
      const VecF32 m_page = load<VecF32>(&pages.m[page][row]);
      const VecI32 page_is_empty = load<VecI32>(&pages.is_empty[page][row]);
      // Where one is NaN, so are its l and o, and with them the result.
      const VecF32 joined = m > m_page ? m : m_page;
      store(&pages.scale_left[page][row], simd::strict_exp(m - joined));
      store(&pages.scale_right[page][row], simd::strict_exp(m_page - joined));
      m = page_is_empty != 0 ? m : (is_empty != 0 ? m_page : joined);
      is_empty = is_empty & page_is_empty;
    }
    store(state.m + row, m);
  }
}

// One row of a page joined to the state: o and l.
QUERN_INLINE void join_row(const AttentionRun& run, int page, int row, const PageStates& pages,
                           const AttentionState& state) {
  float* o = state.o + row * run.row_stride;
  const float* added = sums_of(run, page, row);
  const float l = pages.l[page][row];
  if (state.is_empty[row] != 0) {
    for (int64_t d = 0; d < run.value_dim; d += kLanes) store(o + d, load<VecF32>(added + d));
    state.l[row] = l;
    state.is_empty[row] = 0;
    return;
  }
  const float left = pages.scale_left[page][row], right = pages.scale_right[page][row];
  const VecF32 lefts = splat(left), rights = splat(right);
  for (int64_t d = 0; d < run.value_dim; d += kLanes) {
    store(o + d, load<VecF32>(o + d) * lefts + load<VecF32>(added + d) * rights);
  }
  state.l[row] = state.l[row] * left + l * right;
}

// state = state (+) page 0 (+) page 1 ...
QUERN_INLINE void join_pages(const AttentionRun& run, PageStates& pages,
                             const AttentionState& state) {
  find_join_scales(run, state, pages);
  for (int page = 0; page < run.num_pages; ++page) {
    for (int row = 0; row < run.num_rows; ++row) {
      if (pages.is_empty[page][row] == 0) join_row(run, page, row, pages, state);
    }
  }
}

// Each phase runs over all rows of all pages, so that the processor overlaps their chains of
// operations.
void fold_pages(const AttentionRun& run, const AttentionState& state) {
  PageRow rows[kMaxTileRows];
  PageStates pages;
  int num_vectors[kMaxRunPages];
  for (int page = 0; page < run.num_pages; ++page) {
    num_vectors[page] = vectors_up_to(visible_end(run, page));
    clear_row_places(pages, page);
    for (int row = 0; row < run.num_rows; ++row) {
      PageRow& found = rows[page * run.num_rows + row];
      found = finish_scores(run, page, row, num_vectors[page]);
      pages.m[page][row] = found.m;
      pages.is_empty[page][row] = found.is_empty ? 1 : 0;
    }
  }
  for (int page = 0; page < run.num_pages; ++page) {
    for (int row = 0; row < run.num_rows; ++row) {
      if (pages.is_empty[page][row] != 0) continue;
      pages.l[page][row] =
          exponentiate(scores_of(run, page, row), pages.m[page][row], num_vectors[page]);
    }
  }
  for (int page = 0; page < run.num_pages; ++page) {
    add_values(run, page, rows + page * run.num_rows);
  }
  join_pages(run, pages, state);
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
  return {.dot_keys = dot_keys, .fold_pages = fold_pages, .join = join, .finish = finish};
}

}  // namespace quern::cpu
