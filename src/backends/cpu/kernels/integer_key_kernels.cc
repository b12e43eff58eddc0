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

// The f16 at the beginning of a block, exactly: its bits as those of an f32 are 2^-112 of it.
QUERN_INLINE float scale_at(const std::byte* block) {
  uint16_t code;
  __builtin_memcpy(&code, block, 2);
  uint32_t bits = static_cast<uint32_t>(code & 0x7FFF) << 13;
  float magnitude;
  __builtin_memcpy(&magnitude, &bits, 4);
  magnitude *= 0x1p112f;
  __builtin_memcpy(&bits, &magnitude, 4);
  if ((code & 0x7C00) == 0x7C00) bits = 0x7F800000U | static_cast<uint32_t>(code & 0x3FF) << 13;
  bits |= static_cast<uint32_t>(code & 0x8000) << 16;
  __builtin_memcpy(&magnitude, &bits, 4);
  return magnitude;
}

// Formats as words of four bytes after the scale. A word holds kRuns runs of four integers: run r
// of word w are the elements 16 r + 4 w and the three after it.
struct BlocksQ8 {
  static constexpr int64_t kBytes = 34;
  static constexpr int kWords = 8;
  static constexpr int kRuns = 1;
  static QUERN_INLINE VecI32 integer(VecI32 word, int /*run*/, int i) {
    return (word << (24 - 8 * i)) >> 24;
  }
};

struct BlocksQ4 {
  static constexpr int64_t kBytes = 18;
  static constexpr int kWords = 4;
  static constexpr int kRuns = 2;
  static QUERN_INLINE VecI32 integer(VecI32 word, int run, int i) {
    return ((word >> (8 * i + 4 * run)) & 15) - 8;
  }
};

QUERN_INLINE VecI32 pair_of(VecI32 first, VecI32 second) {
  return (first & 0xFFFF) | (second << 16);
}

QUERN_INLINE int32_t word_at(const std::byte* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return word;
}
// One word of each of kLanes keys. Built lane by lane, so that nothing waits for memory.
template <int... kLane>
QUERN_INLINE VecI32 gather_words(const std::byte* p, int64_t stride,
                                 std::integer_sequence<int, kLane...>) {
  return VecI32{word_at(p + kLane * stride)...};
}

// All 64 rows of the page: rows that no key has yet are masked later.
template <class Blocks>
void unpack_keys(const CachedBlocks& blocks, int32_t* pairs, float* scales) {
  constexpr std::make_integer_sequence<int, kLanes> kSequence;
  for (int64_t b = 0; b < blocks.num_blocks; ++b) {
    const std::byte* block = blocks.rows + b * Blocks::kBytes;
    for (int64_t key = 0; key < kPageKeys; ++key) {
      scales[b * kPageKeys + key] = scale_at(block + key * blocks.row_bytes);
    }
    for (int64_t key = 0; key < kPageKeys; key += kLanes) {
      for (int w = 0; w < Blocks::kWords; ++w) {
        const VecI32 word =
            gather_words(block + key * blocks.row_bytes + 2 + 4 * w, blocks.row_bytes, kSequence);
        for (int run = 0; run < Blocks::kRuns; ++run) {
          const auto at = [&](int i) { return Blocks::integer(word, run, i); };
          int32_t* out = pairs + (b * kPairsPerBlock + run * 8 + 2 * w) * kPageKeys + key;
          store(out, pair_of(at(0), at(1)));
          store(out + kPageKeys, pair_of(at(2), at(3)));
        }
      }
    }
  }
}

// Bytes to 32-bit lanes in two steps, which GCC 12 has instructions for; one step it does lane by
// lane.
QUERN_INLINE VecI32 widen_bytes(VecI8Quarter bytes) {
  return __builtin_convertvector(__builtin_convertvector(bytes, VecI16Half), VecI32);
}
QUERN_INLINE VecI32 widen_bytes(VecU8Quarter bytes) {
  return __builtin_convertvector(__builtin_convertvector(bytes, VecU16Half), VecI32);
}

// scale * integer, as dequantising defines it for these formats.
void widen_q8(const CachedBlocks& blocks, float* values, int64_t stride) {
  for (int64_t row = 0; row < blocks.num_rows; ++row) {
    for (int64_t b = 0; b < blocks.num_blocks; ++b) {
      const std::byte* block = blocks.rows + row * blocks.row_bytes + b * BlocksQ8::kBytes;
      const float scale = scale_at(block);
      float* out = values + row * stride + b * kKeyBlock;
      for (int64_t i = 0; i < kKeyBlock; i += kLanes) {
        const VecI8Quarter codes = load<VecI8Quarter>(block + 2 + i);
        store(out + i, to_f32(widen_bytes(codes)) * scale);
      }
    }
  }
}

void widen_q4(const CachedBlocks& blocks, float* values, int64_t stride) {
  for (int64_t row = 0; row < blocks.num_rows; ++row) {
    for (int64_t b = 0; b < blocks.num_blocks; ++b) {
      const std::byte* block = blocks.rows + row * blocks.row_bytes + b * BlocksQ4::kBytes;
      const float scale = scale_at(block);
      float* out = values + row * stride + b * kKeyBlock;
      for (int64_t i = 0; i < 16; i += kLanes) {
        const VecU8Quarter codes = load<VecU8Quarter>(block + 2 + i);
        const VecI32 both = widen_bytes(codes);
        store(out + i, to_f32((both & 15) - 8) * scale);
        store(out + 16 + i, to_f32((both >> 4) - 8) * scale);
      }
    }
  }
}

}  // namespace

template <>
IntegerKeyKernels integer_key_kernels<kThisIsa>() {
  return {.dot_keys = dot_keys,
          .q8_0 = {.unpack_keys = unpack_keys<BlocksQ8>, .widen_values = widen_q8},
          .q4_0 = {.unpack_keys = unpack_keys<BlocksQ4>, .widen_values = widen_q4}};
}

}  // namespace quern::cpu
