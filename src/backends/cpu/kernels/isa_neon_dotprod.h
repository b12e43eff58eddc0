// Level kNeonDotprod: 128 bits with int8 dot products (Armv8.2 DotProd).
#pragma once

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kNeonDotprod;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_neon_vectors.h"

namespace quern::cpu {
namespace {

// Both sides of the dot product are signed: codes of 8 bits need no offset, narrower ones are
// below 128 as they are.
template <int kPlanes>
constexpr int kFullOffset = 0;

// Per lane of 32 bits: start + sum over quads of weights times the four activations at a place.
template <int kMaxCode, int kPlanes, int kQuads>
struct QuadSum {
  VecI32 sum;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  QUERN_INLINE void add(int /*q*/, VecU8 weights, const int8_t* activations) {
    const VecI8 a = bits_as<VecI8>(splat_i32(activations));
    sum = (VecI32)vdotq_s32((int32x4_t)sum, (int8x16_t)weights, (int8x16_t)a);
  }
  QUERN_INLINE VecI32 total() const { return sum; }
};

}  // namespace
}  // namespace quern::cpu
