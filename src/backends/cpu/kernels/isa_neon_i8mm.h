// Level kNeonI8mm: 128 bits with int8 dot products and int8 matrix products (Armv8.6 I8MM).
#pragma once

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kNeonI8mm;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_neon_vectors.h"

#include "backends/cpu/kernels/quad_sum_sdot-inl.h"

#include "backends/cpu/kernels/column_sums-inl.h"

namespace quern::cpu {
namespace {

// smmla adds products of two rows and two columns, eight elements each, to four sums: twice the
// work of a dot product. Columns go in pairs: two tokens, or the two planes of one. Two quads q and
// s of weights, (r0q r1q r2q r3q) and (r0s r1s r2s r3s), are zipped:
//   weights      (r0q r0s r1q r1s)   rows 0 and 1; rows 2 and 3 likewise
//   activations  (c0q c0s c1q c1s)
//   sums         (r0c0 r0c1 r1c0 r1c1)
// A single column takes dot products.
template <int kMaxCode, int kPlanes, int kColumns, int kQuads>
requires(kColumns % 2 == 0) struct ColumnSums<Isa::kNeonI8mm, kMaxCode, kPlanes, kColumns, kQuads> {
  struct Pair {
    int32x4_t rows01;
    int32x4_t rows23;
  };
  Pair pairs[kColumns / 2];
  VecU8 even_quad;

  // The even column of a pair comes first.
  QUERN_INLINE void start(int column, VecI32 value) {
    Pair& pair = pairs[column / 2];
    if (column % 2 == 0) pair.rows01 = bits_as<int32x4_t>(value);
    pair.rows01 = vzip1q_s32(pair.rows01, bits_as<int32x4_t>(value));
    pair.rows23 = pair.rows01;
  }
  template <class Quad>
  QUERN_INLINE void add(Quad /*quad*/, VecU8 weights, const int8_t* activations) {
    if constexpr (int(Quad{}) % 2 == 0) {
      even_quad = weights;
    } else {
      const int32x4_t even = (int32x4_t)even_quad;
      const int32x4_t odd = (int32x4_t)weights;
      const int8x16_t rows01 = vreinterpretq_s8_s32(vzip1q_s32(even, odd));
      const int8x16_t rows23 = vreinterpretq_s8_s32(vzip2q_s32(even, odd));
      unroll<kColumns / 2>([&](auto i) QUERN_INLINE_LAMBDA {
        const int8_t* at = activations - 4 + 2 * i * kColumnStride;
        const int8x16_t columns = vcombine_s8(vld1_s8(at), vld1_s8(at + kColumnStride));
        pairs[i].rows01 = vmmlaq_s32(pairs[i].rows01, rows01, columns);
        pairs[i].rows23 = vmmlaq_s32(pairs[i].rows23, rows23, columns);
      });
    }
  }
  QUERN_INLINE VecI32 total(int column) const {
    const Pair& pair = pairs[column / 2];
    return (VecI32)(column % 2 == 0 ? vuzp1q_s32(pair.rows01, pair.rows23)
                                    : vuzp2q_s32(pair.rows01, pair.rows23));
  }
};

}  // namespace
}  // namespace quern::cpu
