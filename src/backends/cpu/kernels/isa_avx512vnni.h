// Level kAvx512Vnni: vectors of 512 bits with int8 dot products.
#pragma once

#include <immintrin.h>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kAvx512Vnni;
constexpr int kVectorBytes = 64;
// How far ahead of the weights a product prefetches, in bytes; 0: not at all. Zen 4 reads slower
// with it where memory is the limit, but four or eight tokens wait for memory without it (q4_0: 675
// instead of 490 Gop/s with four, 710 instead of 500 with eight).
template <int kTokens>
constexpr int kPrefetchDistance = kTokens >= 4 ? 4096 : 0;
// Tokens that one pass over a panel of a block-quantised weight multiplies: 1, 2, 4 or 8. A token
// takes a vector for each plane, two in super schemes, beside its float sum.
template <bool kIsSuper, int kPlanes>
constexpr int kTokensAtOnce = kIsSuper&& kPlanes == 2 ? 4 : 8;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_avx512_vectors.h"

namespace quern::cpu {
namespace {

// sum += the products of the pairs of a and the pair of 16-bit integers at p, added.
QUERN_INLINE void add_pairs(VecI32& sum, VecI16 a, const int32_t* p) {
  asm("vpdpwssd %[p]%{1to16%}, %[a], %[sum]" : [sum] "+v"(sum) : [a] "v"(a), [p] "m"(*p));
}

// Per lane of 32 bits: start + sum over quads of unsigned weights times the four activations at a
// place.
template <int kMaxCode, int kPlanes, int kQuads>
struct QuadSum {
  VecI32 sum;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  QUERN_INLINE void add(int /*q*/, VecU8 weights, const int8_t* activations) {
    // Written out, because GCC 12 loads the four bytes into a register first, which takes a slot
    // of the units that multiply.
    asm("vpdpbusd %[a]%{1to16%}, %[w], %[sum]"
        : [sum] "+v"(sum)
        : [w] "v"(weights), [a] "m"(*reinterpret_cast<const FourBytes*>(activations)));
  }
  QUERN_INLINE VecI32 total() const { return sum; }
};

}  // namespace
}  // namespace quern::cpu
