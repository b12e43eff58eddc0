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

template <int kRows>
void dot_tile(const IntegerKeyPage& page, int row, int64_t column) {
  VecF32 totals[kRows][kTileVectors] = {};
  VecF32 folds[kRows][kTileVectors] = {};
  const int64_t num_blocks = page.padded_dim / kKeyBlock;
  for (int64_t block = 0; block < num_blocks; ++block) {
    VecI32 sums[kRows][kTileVectors] = {};
    sum_block<kRows>(page.query_pairs + block * kPairsPerBlock * kMaxTileRows + row,
                     page.key_pairs + block * kPairsPerBlock * kPageKeys + column, sums);
    const bool ends_fold = (block + 1) % kBlocksPerFold == 0 || block + 1 == num_blocks;
    for (int r = 0; r < kRows; ++r) {
      const float d = page.query_scales[block * kMaxTileRows + row + r];
      for (int v = 0; v < kTileVectors; ++v) {
        const VecF32 scale =
            load<VecF32>(page.key_scales + block * kPageKeys + column + v * kLanes) * d;
        folds[r][v] = folds[r][v] + scale * to_f32(sums[r][v]);
        if (!ends_fold) continue;
        totals[r][v] = totals[r][v] + folds[r][v];
        folds[r][v] = VecF32{};
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kTileVectors; ++v) {
      store(page.scores + (row + r) * kPageKeys + column + v * kLanes, totals[r][v]);
    }
  }
}

void dot_keys(const IntegerKeyPage& page) {
  for (int64_t column = 0; column < kPageKeys; column += kTileVectors * kLanes) {
    int row = 0;
    for (; row + kTileRows <= page.num_rows; row += kTileRows) {
      dot_tile<kTileRows>(page, row, column);
    }
    for (; row < page.num_rows; ++row) dot_tile<1>(page, row, column);
  }
}

}  // namespace

template <>
IntegerKeyKernels integer_key_kernels<kThisIsa>() {
  return {.dot_keys = dot_keys};
}

}  // namespace quern::cpu
