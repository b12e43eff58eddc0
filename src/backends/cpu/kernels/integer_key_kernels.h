// Kernels of scores against keys that are quantised in blocks of 32, at one level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/attention_kernels.h"
#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

inline constexpr int64_t kKeyBlock = 32;  // elements of a row that share a scale

// The first of the two elements of a block that make pair `pair`; the other is two behind it.
inline constexpr int64_t first_of_pair(int64_t pair) {
  return pair / 2 * 4 + pair % 2;
}

// Quantised query rows and a page of keys, unpacked: integers of 16 bits in pairs, in the order
// that bytes unpack to cheaply. Of each four elements of a row, the first and the third are a pair,
// and the second and the fourth; the earlier one is the low half. With 16-bit queries one exact sum
// of 32 products fits 32 bits, and its f32 is what the two planes of the definition give.
struct IntegerKeyPage {
  int num_rows = 0;
  int64_t padded_dim = 0;                // whole blocks
  const int32_t* query_pairs = nullptr;  // [padded_dim / 2][kMaxTileRows]
  const float* query_scales = nullptr;   // [padded_dim / 32][kMaxTileRows]
  const int32_t* key_pairs = nullptr;    // [padded_dim / 2][64]
  const float* key_scales = nullptr;     // [padded_dim / 32][64]
  float* scores = nullptr;               // [num_rows][64]
};

// Rows of a cache in blocks of 32, as they are stored. The memory of all 64 rows of a page is
// there.
struct CachedBlocks {
  const std::byte* rows = nullptr;
  const std::byte* next = nullptr;  // the rows of the page to read ahead, or the same
  int64_t num_rows = 0;
  int64_t row_bytes = 0;
  int64_t num_blocks = 0;  // of a row
};

// How rows of one format are read; null members are formats without a kernel of their own.
struct CachedBlockReaders {
  // To key_pairs and key_scales of IntegerKeyPage.
  void (*unpack_keys)(const CachedBlocks& blocks, int32_t* pairs, float* scales) = nullptr;
  // To f32 rows, `stride` elements apart.
  void (*widen_values)(const CachedBlocks& blocks, float* values, int64_t stride) = nullptr;
};

struct IntegerKeyKernels {
  // Terms (D * d) * f32(I) of each block, folded blocked(256).
  void (*dot_keys)(const IntegerKeyPage& page) = nullptr;
  CachedBlockReaders q8_0;
  CachedBlockReaders q4_0;
};

// Defined once per level, in integer_key_kernels.cc.
template <Isa kIsa>
IntegerKeyKernels integer_key_kernels();

}  // namespace quern::cpu
