// Kernels of scores against keys that are quantised in blocks of 32, at one level.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/attention_kernels.h"
#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// The first of the two elements of a block that make pair `pair`; the other is two behind it.
inline constexpr int64_t first_of_pair(int64_t pair) {
  return pair / 2 * 4 + pair % 2;
}

// Quantised query rows as pairs of 16-bit integers, in the order that code bytes unpack to cheaply:
// of each four elements of a row, the first and the third are a pair, and the second and the
// fourth; the earlier one is the low half. With 16-bit queries one exact sum of 32 products fits 32
// bits, and its f32 is what the two planes of the definition give.
struct IntegerQuery {
  int64_t num_blocks = 0;          // of a row
  const int32_t* pairs = nullptr;  // [num_blocks * 16][kMaxTileRows]
  const float* scales = nullptr;   // [num_blocks][kMaxTileRows]
  int32_t* key_pairs = nullptr;    // [num_blocks * 16][64]: scratch for a page of keys
};

struct IntegerKeyKernels {
  // Dots of the rows with the quantised keys of all pages, into `scores`: terms (D * d) * f32(I) of
  // each block, folded blocked(256). Does not read run.query.
  void (*dot_keys)(const AttentionRun& run, const IntegerQuery& query) = nullptr;
};

// Defined once per level, in integer_key_kernels.cc.
template <Isa kIsa>
IntegerKeyKernels integer_key_kernels();

}  // namespace quern::cpu
