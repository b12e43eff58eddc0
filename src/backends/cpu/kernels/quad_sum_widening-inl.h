// Integer dot products for levels without an 8-bit multiply-add: through 16-bit pairs.
#pragma once

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

template <int kPlanes>
constexpr int kFullOffset = 128;

// Per lane of 32 bits: start + sum over quads of unsigned weights times the four activations at a
// place.
// kMaxCode bounds the weights; the level may use it. `q` counts the quads from 0 to kQuads - 1.
template <int kMaxCode, int kPlanes, int kQuads>
struct QuadSum {
  VecI32 sum;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  QUERN_INLINE void add(int /*q*/, VecU8 weights, const int8_t* activations) {
    const VecI16 a = bits_as<VecI16>(splat_i32(activations));
    const VecU16 w = bits_as<VecU16>(weights);
    sum += multiply_pairs(bits_as<VecI16>(w & 255), (a << 8) >> 8);
    sum += multiply_pairs(bits_as<VecI16>(w >> 8), a >> 8);
  }
  QUERN_INLINE VecI32 total() const { return sum; }
};

}  // namespace
}  // namespace quern::cpu
