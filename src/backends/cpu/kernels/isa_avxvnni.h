// Level kAvxVnni: vectors of 256 bits with int8 dot products.
#pragma once

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kAvxVnni;
constexpr int kVectorBytes = 32;
// As for kAvx2; not measured on a processor of this level.
template <int kTokens>
constexpr int kPrefetchDistance = kTokens == 1 ? 2048 : 0;
// Tokens that one pass over a panel of a block-quantised weight multiplies: 1, 2, 4 or 8. Eight
// sums fill half of the registers; float sums wait in memory.
template <bool kIsSuper, int kPlanes>
constexpr int kTokensAtOnce = 8 / kPlanes;
// Codes of 8 bits become unsigned.
template <int kPlanes>
constexpr int kFullOffset = 128;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_avx2_vectors.h"

namespace quern::cpu {
namespace {

// sum += the products of the pairs of a and the pair of 16-bit integers at p, added.
QUERN_INLINE void add_pairs(VecI32& sum, VecI16 a, const int32_t* p) {
  sum = (VecI32)_mm256_dpwssd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)splat_i32(p));
}

// sum += unsigned weights times the four activations at a place, per lane of 32 bits. Written out,
// so that sums of several tokens are not reordered.
QUERN_INLINE void add_quad(VecI32& sum, VecU8 weights, VecI32 activations) {
  asm("%{vex%} vpdpbusd %[a], %[w], %[sum]"
      : [sum] "+x"(sum)
      : [w] "x"(weights), [a] "x"(activations));
}

// Per lane: start + sum over quads.
template <int kMaxCode, int kPlanes, int kQuads>
struct QuadSum {
  VecI32 sum;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  QUERN_INLINE void add(int /*q*/, VecU8 weights, const int8_t* activations) {
    add_quad(sum, weights, splat_i32(activations));
  }
  QUERN_INLINE VecI32 total() const { return sum; }
};

// QuadSum::add of two panels at once: one broadcast for both.
template <int kMaxCode, int kPlanes, int kQuads>
QUERN_INLINE void add_to_both(QuadSum<kMaxCode, kPlanes, kQuads>& x,
                              QuadSum<kMaxCode, kPlanes, kQuads>& y, int /*q*/, VecU8 x_weights,
                              VecU8 y_weights, const int8_t* activations) {
  const VecI32 four = splat_i32(activations);
  add_quad(x.sum, x_weights, four);
  add_quad(y.sum, y_weights, four);
}

}  // namespace
}  // namespace quern::cpu
