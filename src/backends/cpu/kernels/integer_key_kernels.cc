// Integer products of queries with pages of quantised keys; compiled once per level.
#include "backends/cpu/kernels/integer_key_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/cached_rows-inl.h"
#include "backends/cpu/kernels/unroll-inl.h"

namespace quern::cpu {
namespace {

constexpr int64_t kBlocksPerFold = 256 / kKeyBlock;
constexpr int64_t kPairsPerBlock = kKeyBlock / 2;
constexpr int64_t kScaleBytes = 2;
constexpr int64_t kWordBytes = 4;
constexpr int64_t kStepElements = 4;  // of a key in a step of reading ahead

// Sums of kRows x kVectors, as many words and one unpacked vector fit the registers of the level.
constexpr int kTileRows = kVectorBytes == 64 ? 4 : 2;
constexpr int kTileVectors = 4;

// Formats as words of four code bytes. A word holds kRuns runs of four integers: run r of word w
// are the elements 16 r + 4 w and the three after it.
template <CacheType kType>
struct KeyWords;
// Where pair `pair` of run `run` of word w stands in the order of IntegerQuery.
QUERN_INLINE constexpr int64_t pair_place(int run, int64_t w, int pair) {
  return run * 8 + 2 * w + pair;
}
template <>
struct KeyWords<CacheType::kQ8_0> {
  static constexpr int kWords = 8;
  static constexpr int kRuns = 1;
  // Pair 0 or 1 of the run: its even or odd bytes.
  static QUERN_INLINE VecI16 pair(VecI32 word, int /*run*/, int pair) {
    const VecI16 bytes = bits_as<VecI16>(word);
    return pair == 0 ? (bytes << 8) >> 8 : bytes >> 8;
  }
};
template <>
struct KeyWords<CacheType::kQ4_0> {
  static constexpr int kWords = 4;
  static constexpr int kRuns = 2;
  static QUERN_INLINE VecI16 pair(VecI32 word, int run, int pair) {
    return ((bits_as<VecI16>(word) >> (8 * pair + 4 * run)) & 15) - 8;
  }
};

// One block of a page's keys from one column on: scales, then words.
template <CacheType kType>
struct KeyBlock {
  static constexpr int64_t kBytes = kPageKeys * (kScaleBytes + code_bytes_of(kType));
  const char* data;

  // Scales of vector v of the keys.
  QUERN_INLINE VecF32 scales(int64_t column, int v) const {
    return widen_f16(reinterpret_cast<const uint16_t*>(data) + column + v * kLanes);
  }
  QUERN_INLINE VecI32 word(int64_t w, int64_t column, int v) const {
    return load<VecI32>(data + word_place(w, column) + v * kVectorBytes);
  }

 private:
  static QUERN_INLINE int64_t word_place(int64_t w, int64_t column) {
    return kPageKeys * kScaleBytes + (w * kPageKeys + column) * kWordBytes;
  }
};

// The same with its pairs, [kPairsPerBlock][64], unpacked before.
template <CacheType kType>
struct UnpackedBlock : KeyBlock<kType> {
  const int32_t* pairs;
};

// Adds the products of one pair of the tile's rows, from `query` on, and one of its keys.
template <int kRows>
QUERN_INLINE void add_pair(const int32_t* query, const VecI16 (&keys)[kTileVectors],
                           VecI32 (&sums)[kRows][kTileVectors]) {
  unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
    unroll<kTileVectors>([&](auto v)
                             QUERN_INLINE_LAMBDA { add_pairs(sums[r][v], keys[v], query + r); });
  });
}

// Pair kPair of run kRun of each word.
template <CacheType kType, int kRun, int kPair>
QUERN_INLINE void unpack_words(const VecI32 (&words)[kTileVectors], VecI16 (&keys)[kTileVectors]) {
  unroll<kTileVectors>(
      [&](auto v) QUERN_INLINE_LAMBDA { keys[v] = KeyWords<kType>::pair(words[v], kRun, kPair); });
}
template <CacheType kType>
QUERN_INLINE void load_words(const KeyBlock<kType>& block, int64_t w, int64_t column,
                             VecI32 (&words)[kTileVectors]) {
  unroll<kTileVectors>([&](auto v) QUERN_INLINE_LAMBDA { words[v] = block.word(w, column, v); });
}

// Exact sums of one block for a tile of rows and keys.
template <int kRows, CacheType kType>
QUERN_INLINE void sum_block(const int32_t* queries, const KeyBlock<kType>& block, int64_t column,
                            VecI32 (&sums)[kRows][kTileVectors]) {
  for (int64_t w = 0; w < KeyWords<kType>::kWords; ++w) {
    VecI32 words[kTileVectors];
    load_words(block, w, column, words);
    unroll<2 * KeyWords<kType>::kRuns>([&](auto i) QUERN_INLINE_LAMBDA {
      VecI16 keys[kTileVectors];
      unpack_words<kType, i / 2, i % 2>(words, keys);
      add_pair<kRows>(queries + pair_place(i / 2, w, i % 2) * kMaxTileRows, keys, sums);
    });
  }
}
template <int kRows, CacheType kType>
QUERN_INLINE void sum_block(const int32_t* queries, const UnpackedBlock<kType>& block,
                            int64_t column, VecI32 (&sums)[kRows][kTileVectors]) {
  for (int64_t pair = 0; pair < kPairsPerBlock; ++pair) {
    VecI16 keys[kTileVectors];
    unroll<kTileVectors>([&](auto v) QUERN_INLINE_LAMBDA {
      keys[v] = load<VecI16>(block.pairs + pair * kPageKeys + column + v * kLanes);
    });
    add_pair<kRows>(queries + pair * kMaxTileRows, keys, sums);
  }
}

// Adds the terms of one block, scale * f32(sum), to `folds`.
template <int kRows, class Block>
QUERN_INLINE void add_terms(const IntegerQuery& query, int64_t index, const Block& block, int row,
                            int64_t column, VecF32 (&folds)[kRows][kTileVectors]) {
  VecI32 sums[kRows][kTileVectors] = {};
  sum_block<kRows>(query.pairs + index * kPairsPerBlock * kMaxTileRows + row, block, column, sums);
  unroll<kTileVectors>([&](auto v) QUERN_INLINE_LAMBDA {
    const VecF32 key_scale = block.scales(column, v);
    unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
      const VecF32 scale =
          multiply_broadcast(key_scale, query.scales + index * kMaxTileRows + row + r);
      folds[r][v] = folds[r][v] + scale * to_f32(sums[r][v]);
    });
  });
}

// Keys as they are cached, and keys whose pairs were unpacked before.
template <CacheType kType>
struct CachedKeys {
  const char* keys;
  QUERN_INLINE KeyBlock<kType> block(int64_t b) const {
    return {keys + b * KeyBlock<kType>::kBytes};
  }
};
template <CacheType kType>
struct UnpackedPage {
  const char* keys;
  const int32_t* pairs;
  QUERN_INLINE UnpackedBlock<kType> block(int64_t b) const {
    return {{keys + b * KeyBlock<kType>::kBytes}, pairs + b * kPairsPerBlock * kPageKeys};
  }
};

// What a tile multiplies.
struct KeyTile {
  int row;
  int64_t column;
  float* scores;
  ReadAhead* ahead;
};

template <int kRows, class Keys>
__attribute__((noinline)) void dot_tile(const IntegerQuery& query, const Keys& keys,
                                        const KeyTile& tile) {
  VecF32 totals[kRows][kTileVectors] = {};
  ReadingAhead reading(tile.ahead);
  for (int64_t begin = 0; begin < query.num_blocks; begin += kBlocksPerFold) {
    const int64_t whole = begin + kBlocksPerFold;
    const int64_t end = whole < query.num_blocks ? whole : query.num_blocks;
    VecF32 folds[kRows][kTileVectors] = {};
    for (int64_t b = begin; b < end; ++b) {
      reading.steps(kKeyBlock / kStepElements);
      add_terms<kRows>(query, b, keys.block(b), tile.row, tile.column, folds);
    }
    // +0 and the first fold is that fold: it starts from +0 and so is no -0.
    unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
      unroll<kTileVectors>([&](auto v) QUERN_INLINE_LAMBDA {
        totals[r][v] = begin == 0 ? folds[r][v] : totals[r][v] + folds[r][v];
      });
    });
  }
  reading.finish();
  unroll<kRows>([&](auto r) QUERN_INLINE_LAMBDA {
    unroll<kTileVectors>([&](auto v) QUERN_INLINE_LAMBDA {
      store(tile.scores + r * kPageKeys + v * kLanes, totals[r][v]);
    });
  });
}

// All 64 keys of a page: those that no row sees are masked later. Only the first tile of rows reads
// ahead.
template <class Keys>
void dot_page(const AttentionRun& run, const IntegerQuery& query, const Keys& keys, int page) {
  const auto tile_at = [&](int row, int64_t column) QUERN_INLINE_LAMBDA {
    return KeyTile{row, column, run.scores + (page * run.num_rows + row) * kPageKeys + column,
                   row == 0 ? run.ahead : nullptr};
  };
  for (int64_t column = 0; column < kPageKeys; column += kTileVectors * kLanes) {
    int row = 0;
    for (; row + kTileRows <= run.num_rows; row += kTileRows) {
      dot_tile<kTileRows>(query, keys, tile_at(row, column));
    }
    if constexpr (kTileRows > 3) {  // three heads of a group are common
      if (row + 3 <= run.num_rows) {
        dot_tile<3>(query, keys, tile_at(row, column));
        row += 3;
      }
    }
    for (; row < run.num_rows; ++row) dot_tile<1>(query, keys, tile_at(row, column));
  }
}

template <CacheType kType>
void unpack_page(const char* keys, const IntegerQuery& query) {
  for (int64_t b = 0; b < query.num_blocks; ++b) {
    const KeyBlock<kType> block{keys + b * KeyBlock<kType>::kBytes};
    for (int64_t column = 0; column < kPageKeys; column += kTileVectors * kLanes) {
      int32_t* out = query.key_pairs + b * kPairsPerBlock * kPageKeys + column;
      for (int64_t w = 0; w < KeyWords<kType>::kWords; ++w) {
        VecI32 words[kTileVectors];
        load_words(block, w, column, words);
        unroll<2 * KeyWords<kType>::kRuns>([&](auto i) QUERN_INLINE_LAMBDA {
          VecI16 pairs[kTileVectors];
          unpack_words<kType, i / 2, i % 2>(words, pairs);
          int32_t* line = out + pair_place(i / 2, w, i % 2) * kPageKeys;
          unroll<kTileVectors>([&](auto v)
                                   QUERN_INLINE_LAMBDA { store(line + v * kLanes, pairs[v]); });
        });
      }
    }
  }
}

// Several tiles of rows share what is unpacked once.
template <CacheType kType>
void dot_keys_of(const AttentionRun& run, const IntegerQuery& query) {
  for (int page = 0; page < run.num_pages; ++page) {
    const auto* keys = static_cast<const char*>(run.pages[page].keys);
    if (run.num_rows <= kTileRows) {
      dot_page(run, query, CachedKeys<kType>{keys}, page);
    } else {
      unpack_page<kType>(keys, query);
      dot_page(run, query, UnpackedPage<kType>{keys, query.key_pairs}, page);
    }
  }
}

void dot_keys(const AttentionRun& run, const IntegerQuery& query) {
  if (run.key_type == CacheType::kQ8_0) {
    dot_keys_of<CacheType::kQ8_0>(run, query);
  } else {
    dot_keys_of<CacheType::kQ4_0>(run, query);
  }
}

}  // namespace

template <>
IntegerKeyKernels integer_key_kernels<kThisIsa>() {
  return {.dot_keys = dot_keys};
}

}  // namespace quern::cpu
