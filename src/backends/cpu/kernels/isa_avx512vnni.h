// Level kAvx512Vnni: vectors of 512 bits with int8 dot products.
#pragma once

#include <immintrin.h>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kAvx512Vnni;
constexpr int kVectorBytes = 64;
// How far ahead of the weights a product with one token prefetches, in bytes; 0: not at all. Zen 4
// reads slower with it.
constexpr int kPrefetchDistance = 0;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_avx512_vectors.h"

namespace quern::cpu {
namespace {

// Per lane of 32 bits: start + sum over quads of unsigned weights times signed activations.
template <int kMaxCode, int kPlanes, int kQuads>
struct QuadSum {
  VecI32 sum;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  QUERN_INLINE void add(int /*q*/, VecU8 weights, VecI8 activations) {
    sum = (VecI32)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)weights, (__m512i)activations);
  }
  QUERN_INLINE VecI32 total() const { return sum; }
};

}  // namespace
}  // namespace quern::cpu
