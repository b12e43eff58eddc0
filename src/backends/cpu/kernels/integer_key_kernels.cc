// Integer products of queries with a page of keys; compiled once per level.
#include "backends/cpu/kernels/integer_key_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/unroll-inl.h"

namespace quern::cpu {
namespace {

constexpr int64_t kBlocksPerFold = 256 / kKeyBlock;
constexpr int64_t kPairsPerBlock = kKeyBlock / 2;

// Sums of kRows x kVectors, the keys and one broadcast fit the registers of the level.
constexpr int kTileRows = kVectorBytes == 64 ? 4 : 2;
constexpr int kTileVectors = 4;

// Exact sums of one block for a tile of rows and keys.
template <int kRows>
QUERN_INLINE void sum_block(const int32_t* queries, const int32_t* keys,
                            VecI32 (&sums)[kRows][kTileVectors]) {
  for (int64_t pair = 0; pair < kPairsPerBlock; ++pair) {
    VecI16 key[kTileVectors];
    unroll<kTileVectors>([&](auto v) QUERN_INLINE_LAMBDA {
      key[v] = load<VecI16>(keys + pair * kPageKeys + v * kLanes);
    });
    unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
      const VecI16 query = bits_as<VecI16>(splat(queries[pair * kMaxTileRows + r]));
      unroll<kTileVectors>(
          [&](auto v) QUERN_INLINE_LAMBDA { sums[r][v] += multiply_pairs(key[v], query); });
    });
  }
}

// Adds the terms of one block, scale * f32(sum), to `folds`.
template <int kRows>
QUERN_INLINE void add_terms(const IntegerKeyPage& page, int64_t block, int row, int64_t column,
                            VecF32 (&folds)[kRows][kTileVectors]) {
  VecI32 sums[kRows][kTileVectors] = {};
  sum_block<kRows>(page.query_pairs + block * kPairsPerBlock * kMaxTileRows + row,
                   page.key_pairs + block * kPairsPerBlock * kPageKeys + column, sums);
  unroll<kTileVectors>([&](auto v) QUERN_INLINE_LAMBDA {
    const VecF32 key_scale =
        load<VecF32>(page.key_scales + block * kPageKeys + column + v * kLanes);
    unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
      const VecF32 scale = key_scale * page.query_scales[block * kMaxTileRows + row + r];
      folds[r][v] = folds[r][v] + scale * to_f32(sums[r][v]);
    });
  });
}

template <int kRows>
void dot_tile(const IntegerKeyPage& page, int row, int64_t column) {
  VecF32 totals[kRows][kTileVectors] = {};
  const int64_t num_blocks = page.padded_dim / kKeyBlock;
  for (int64_t begin = 0; begin < num_blocks; begin += kBlocksPerFold) {
    const int64_t end = begin + kBlocksPerFold < num_blocks ? begin + kBlocksPerFold : num_blocks;
    VecF32 folds[kRows][kTileVectors] = {};
    for (int64_t block = begin; block < end; ++block) {
      add_terms<kRows>(page, block, row, column, folds);
    }
    // +0 and the first fold is that fold: it starts from +0 and so is no -0.
    unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
      unroll<kTileVectors>([&](auto v) QUERN_INLINE_LAMBDA {
        totals[r][v] = begin == 0 ? folds[r][v] : totals[r][v] + folds[r][v];
      });
    });
  }
  unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
    unroll<kTileVectors>([&](auto v) QUERN_INLINE_LAMBDA {
      store(page.scores + (row + r) * kPageKeys + column + v * kLanes, totals[r][v]);
    });
  });
}

void dot_keys(const IntegerKeyPage& page) {
  for (int64_t column = 0; column < kPageKeys; column += kTileVectors * kLanes) {
    int row = 0;
    for (; row + kTileRows <= page.num_rows; row += kTileRows) {
      dot_tile<kTileRows>(page, row, column);
    }
    if constexpr (kTileRows > 3) {  // three heads of a group are common
      if (row + 3 <= page.num_rows) {
        dot_tile<3>(page, row, column);
        row += 3;
      }
    }
    for (; row < page.num_rows; ++row) dot_tile<1>(page, row, column);
  }
}

// The f16 scales of block `b` of all rows, as f32, and the next page's blocks into the caches.
QUERN_INLINE void read_scales(const CachedBlocks& blocks, int64_t offset, float* scales) {
  uint16_t codes[kPageKeys];
  for (int64_t row = 0; row < kPageKeys; ++row) {
    __builtin_memcpy(codes + row, blocks.rows + row * blocks.row_bytes + offset, 2);
    __builtin_prefetch(blocks.next + row * blocks.row_bytes + offset, 0, 2);
  }
  for (int64_t row = 0; row < kPageKeys; row += kLanes) {
    store(scales + row, widen_f16(codes + row));
  }
}

// Formats as words of four bytes after the scale. A word holds kRuns runs of four integers: run r
// of word w are the elements 16 r + 4 w and the three after it.
struct BlocksQ8 {
  static constexpr int64_t kBytes = 34;
  static constexpr int kWords = 8;
  static constexpr int kRuns = 1;
  // Pair 0 or 1 of the run: its even or odd bytes.
  static QUERN_INLINE VecI16 pair(VecI32 word, int /*run*/, int pair) {
    const VecI16 bytes = bits_as<VecI16>(word);
    return pair == 0 ? (bytes << 8) >> 8 : bytes >> 8;
  }
};

struct BlocksQ4 {
  static constexpr int64_t kBytes = 18;
  static constexpr int kWords = 4;
  static constexpr int kRuns = 2;
  static QUERN_INLINE VecI16 pair(VecI32 word, int run, int pair) {
    return ((bits_as<VecI16>(word) >> (8 * pair + 4 * run)) & 15) - 8;
  }
};

// Four words of each of kLanes rows, transposed: vector w holds word w of every row. Built without
// gathers, which take a step for each lane.
struct FourWords {
  VecI32 words[4];
};
typedef int32_t FourI32 __attribute__((vector_size(16)));

// Where element i of an interleaving comes from, in quarters of 128 bits: dwords or pairs of them,
// of the low or the high half.
template <int kWidth>
constexpr int interleaved_dword(int i, int half) {
  return (i % 2) * kWidth + i / 4 * 4 + i % 4 / 2 + 2 * half;
}
template <int kWidth>
constexpr int interleaved_pair(int i, int half) {
  return (i % 4 / 2) * kWidth + i / 4 * 4 + i % 2 + 2 * half;
}
template <int kHalf, int... kI>
QUERN_INLINE VecI32 interleave_dwords(VecI32 a, VecI32 b, std::integer_sequence<int, kI...>) {
  return __builtin_shufflevector(a, b, interleaved_dword<kLanes>(kI, kHalf)...);
}
template <int kHalf, int... kI>
QUERN_INLINE VecI32 interleave_pairs(VecI32 a, VecI32 b, std::integer_sequence<int, kI...>) {
  return __builtin_shufflevector(a, b, interleaved_pair<kLanes>(kI, kHalf)...);
}

// a, then b, in a vector of twice their width.
template <class V, int... kI>
QUERN_INLINE auto concatenate(V a, V b, std::integer_sequence<int, kI...>) {
  return __builtin_shufflevector(a, b, kI...);
}
// The 16 bytes at p, p + stride, ..., end to end.
template <int kQuarters>
QUERN_INLINE auto load_quarters(const std::byte* p, int64_t stride) {
  if constexpr (kQuarters == 1) {
    return load<FourI32>(p);
  } else {
    constexpr int kHalf = kQuarters / 2;
    return concatenate(load_quarters<kHalf>(p, stride),
                       load_quarters<kHalf>(p + kHalf * stride, stride),
                       std::make_integer_sequence<int, 4 * kQuarters>());
  }
}

// The words at p of kWidth rows; kWidth is kLanes.
template <int kWidth>
QUERN_INLINE FourWords load_words(const std::byte* p, int64_t stride) {
  FourWords result;
  if constexpr (kWidth < 4) {
    for (int w = 0; w < 4; ++w) result.words[w] = load<VecI32>(p + 4 * w);
  } else {
    constexpr std::make_integer_sequence<int, kWidth> kAll;
    // Quarter l of vector j is row 4 l + j.
    VecI32 rows[4];
    for (int j = 0; j < 4; ++j) {
      rows[j] = bits_as<VecI32>(load_quarters<kWidth / 4>(p + j * stride, 4 * stride));
    }
    const VecI32 low01 = interleave_dwords<0>(rows[0], rows[1], kAll);
    const VecI32 low23 = interleave_dwords<0>(rows[2], rows[3], kAll);
    const VecI32 high01 = interleave_dwords<1>(rows[0], rows[1], kAll);
    const VecI32 high23 = interleave_dwords<1>(rows[2], rows[3], kAll);
    result.words[0] = interleave_pairs<0>(low01, low23, kAll);
    result.words[1] = interleave_pairs<1>(low01, low23, kAll);
    result.words[2] = interleave_pairs<0>(high01, high23, kAll);
    result.words[3] = interleave_pairs<1>(high01, high23, kAll);
  }
  return result;
}

// All 64 rows of the page: rows that no key has yet are masked later.
template <class Blocks>
void unpack_keys(const CachedBlocks& blocks, int32_t* pairs, float* scales) {
  for (int64_t b = 0; b < blocks.num_blocks; ++b) {
    read_scales(blocks, b * Blocks::kBytes, scales + b * kPageKeys);
    const std::byte* codes = blocks.rows + b * Blocks::kBytes + 2;
    for (int64_t key = 0; key < kPageKeys; key += kLanes) {
      for (int first = 0; first < Blocks::kWords; first += 4) {
        const FourWords four =
            load_words<kLanes>(codes + key * blocks.row_bytes + 4 * first, blocks.row_bytes);
        unroll<4 * Blocks::kRuns>([&](auto i) QUERN_INLINE_LAMBDA {
          constexpr int kWord = i % 4, kRun = i / 4;
          int32_t* out =
              pairs + (b * kPairsPerBlock + kRun * 8 + 2 * (first + kWord)) * kPageKeys + key;
          store(out, Blocks::pair(four.words[kWord], kRun, 0));
          store(out + kPageKeys, Blocks::pair(four.words[kWord], kRun, 1));
        });
      }
    }
  }
}

// scale * integer, as dequantising defines it for these formats. Calls f(codes, scale, out) for the
// blocks of the rows.
template <class Blocks, class F>
QUERN_INLINE void widen_blocks(const CachedBlocks& blocks, float* values, int64_t stride, F f) {
  for (int64_t b = 0; b < blocks.num_blocks; ++b) {
    float scales[kPageKeys];
    read_scales(blocks, b * Blocks::kBytes, scales);
    const std::byte* codes = blocks.rows + b * Blocks::kBytes + 2;
    for (int64_t row = 0; row < blocks.num_rows; ++row) {
      f(reinterpret_cast<const int8_t*>(codes + row * blocks.row_bytes), scales[row],
        values + row * stride + b * kKeyBlock);
    }
  }
}

void widen_q8(const CachedBlocks& blocks, float* values, int64_t stride) {
  widen_blocks<BlocksQ8>(blocks, values, stride,
                         [](const int8_t* codes, float scale, float* out) QUERN_INLINE_LAMBDA {
                           for (int i = 0; i < kKeyBlock; i += kLanes) {
                             store(out + i, to_f32(load_i8(codes + i)) * scale);
                           }
                         });
}

void widen_q4(const CachedBlocks& blocks, float* values, int64_t stride) {
  widen_blocks<BlocksQ4>(blocks, values, stride,
                         [](const int8_t* codes, float scale, float* out) QUERN_INLINE_LAMBDA {
                           for (int i = 0; i < 16; i += kLanes) {
                             const VecI32 both = load_i8(codes + i);
                             store(out + i, to_f32((both & 15) - 8) * scale);
                             store(out + 16 + i, to_f32(((both >> 4) & 15) - 8) * scale);
                           }
                         });
}

}  // namespace

template <>
IntegerKeyKernels integer_key_kernels<kThisIsa>() {
  return {.dot_keys = dot_keys,
          .q8_0 = {.unpack_keys = unpack_keys<BlocksQ8>, .widen_values = widen_q8},
          .q4_0 = {.unpack_keys = unpack_keys<BlocksQ4>, .widen_values = widen_q4}};
}

}  // namespace quern::cpu
