// Integer dot products by sdot: four products of signed bytes added to each lane of 32 bits.
#pragma once

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

// Both sides of the dot product are signed: codes of 8 bits need no offset, narrower ones are
// below 128 as they are.
template <int kPlanes>
constexpr int kFullOffset = 0;

// Per lane of 32 bits: start + sum over quads of weights times the four activations at a place.
// Quads follow one another in memory, and runs of them begin at multiples of 16 bytes: four quads
// share one load, and sdot names the one it takes.
template <int kMaxCode, int kPlanes, int kQuads>
struct QuadSum {
  VecI32 sum;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  template <class Quad>
  QUERN_INLINE void add(Quad /*quad*/, VecU8 weights, const int8_t* activations) {
    constexpr int kPlace = int(Quad{}) % 4;
    const int8x16_t four_quads = vld1q_s8(activations - 4 * kPlace);
    sum = bits_as<VecI32>(
        vdotq_laneq_s32(bits_as<int32x4_t>(sum), bits_as<int8x16_t>(weights), four_quads, kPlace));
  }
  QUERN_INLINE VecI32 total() const { return sum; }
};

}  // namespace
}  // namespace quern::cpu
