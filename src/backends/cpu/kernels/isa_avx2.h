// Level kAvx2: vectors of 256 bits, conversions of f16 in hardware.
#pragma once

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kAvx2;
constexpr int kVectorBytes = 32;
// How far ahead of the weights a product prefetches, in bytes; 0: not at all. Zen 3 reads 15 to
// 25 % faster with it.
template <int kTokens>
constexpr int kPrefetchDistance = kTokens == 1 ? 2048 : 0;
// Tokens that one pass over a panel of a block-quantised weight multiplies: 1, 2, 4 or 8. Eight
// 16-bit sums fill half of the registers; float sums wait in memory.
template <bool kIsSuper, int kPlanes>
constexpr int kTokensAtOnce = 8 / kPlanes;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_avx2_vectors.h"

namespace quern::cpu {
namespace {

// Products of unsigned and signed bytes, added by pairs with saturation at 16 bits.
QUERN_INLINE VecI16 multiply_bytes(VecU8 a, VecI8 b) {
  return (VecI16)_mm256_maddubs_epi16((__m256i)a, (__m256i)b);
}

// run = products, or run + products, of unsigned weights and the four signed activations at a
// place, added by pairs. Left to the compiler, GCC makes all products before it adds them and
// spills registers, and clang builds trees of additions.
QUERN_INLINE void multiply_quad(VecI16& run, VecU8 weights, const int8_t* activations) {
  asm("vpbroadcastd %[a], %[run]\n\tvpmaddubsw %[run], %[w], %[run]"
      : [run] "=&x"(run)
      : [w] "x"(weights), [a] "m"(*reinterpret_cast<const FourBytes*>(activations)));
}
QUERN_INLINE void add_quad(VecI16& run, VecU8 weights, const int8_t* activations) {
  VecI16 products;
  asm("vpbroadcastd %[a], %[p]\n\tvpmaddubsw %[p], %[w], %[p]\n\tvpaddw %[p], %[run], %[run]"
      : [run] "+x"(run), [p] "=&x"(products)
      : [w] "x"(weights), [a] "m"(*reinterpret_cast<const FourBytes*>(activations)));
}

}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/quad_sum_maddubs-inl.h"

namespace quern::cpu {
namespace {

// One plane: weights stay signed and give their sign to the activations, which are at least -127.
// The low plane of two reaches -128, so there weights are split into nibbles.
template <int kPlanes>
constexpr int kFullOffset = kPlanes == 1 ? 0 : 128;

template <int kQuads>
struct SignedQuadSum {
  VecI32 sum;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  QUERN_INLINE void add(int /*q*/, VecU8 weights, const int8_t* activations) {
    const __m256i magnitudes = _mm256_abs_epi8((__m256i)weights);
    VecI32 products;
    asm("vpbroadcastd %[a], %[p]\n\tvpsignb %[w], %[p], %[p]\n\tvpmaddubsw %[p], %[m], %[p]\n\t"
        "vpmaddwd %[ones], %[p], %[p]\n\tvpaddd %[p], %[sum], %[sum]"
        : [sum] "+x"(sum), [p] "=&x"(products)
        : [w] "x"(weights), [m] "x"(magnitudes), [ones] "x"(VecI16{} + 1),
          [a] "m"(*reinterpret_cast<const FourBytes*>(activations)));
  }
  QUERN_INLINE VecI32 total() const { return sum; }
};

template <int kQuads>
struct QuadSum<255, 1, kQuads> : SignedQuadSum<kQuads> {};
template <int kQuads>
struct QuadSum<255, 2, kQuads> : NibbleQuadSum<kQuads> {};

// QuadSum::add of two panels at once: one broadcast for both. Products times a factor of each lane
// of 32 bits, given as a pair of 16 bits, cost nothing more.
template <int kMaxCode, int kPlanes, int kQuads>
QUERN_INLINE void add_to_both(QuadSum<kMaxCode, kPlanes, kQuads>& x,
                              QuadSum<kMaxCode, kPlanes, kQuads>& y, int q, VecU8 x_weights,
                              VecU8 y_weights, const int8_t* activations,
                              VecI16 x_factors = VecI16{} + 1, VecI16 y_factors = VecI16{} + 1) {
  constexpr int kRun = QuadSum<kMaxCode, kPlanes, kQuads>::kRun;
  const auto& four = *reinterpret_cast<const FourBytes*>(activations);
  if (q % kRun == 0) {
    asm("vpbroadcastd %[a], %[y]\n\tvpmaddubsw %[y], %[v], %[x]\n\tvpmaddubsw %[y], %[w], %[y]"
        : [x] "=&x"(x.run), [y] "=&x"(y.run)
        : [v] "x"(x_weights), [w] "x"(y_weights), [a] "m"(four));
  } else {
    VecI16 p, r;
    asm("vpbroadcastd %[a], %[p]\n\tvpmaddubsw %[p], %[v], %[r]\n\tvpmaddubsw %[p], %[w], %[p]\n\t"
        "vpaddw %[r], %[x], %[x]\n\tvpaddw %[p], %[y], %[y]"
        : [x] "+x"(x.run), [y] "+x"(y.run), [p] "=&x"(p), [r] "=&x"(r)
        : [v] "x"(x_weights), [w] "x"(y_weights), [a] "m"(four));
  }
  if (q % kRun == kRun - 1) {
    x.sum += multiply_pairs(x.run, x_factors);
    y.sum += multiply_pairs(y.run, y_factors);
  }
}

// The same for weights and activations of 16 bits.
QUERN_INLINE void add_pairs_to_both(VecI32& x, VecI32& y, VecU8 x_weights, VecU8 y_weights,
                                    const int8_t* activations) {
  VecI32 p, r;
  asm("vpbroadcastd %[a], %[p]\n\tvpmaddwd %[p], %[v], %[r]\n\tvpmaddwd %[p], %[w], %[p]\n\t"
      "vpaddd %[r], %[x], %[x]\n\tvpaddd %[p], %[y], %[y]"
      : [x] "+x"(x), [y] "+x"(y), [p] "=&x"(p), [r] "=&x"(r)
      : [v] "x"(x_weights), [w] "x"(y_weights),
        [a] "m"(*reinterpret_cast<const FourBytes*>(activations)));
}

}  // namespace
}  // namespace quern::cpu
