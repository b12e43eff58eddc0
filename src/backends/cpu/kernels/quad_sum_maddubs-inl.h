// Integer dot products by vpmaddubsw, which sums pairs of u8 x i8 into saturating 16 bits.
// The level defines multiply_quad and add_quad (vpmaddubsw), and multiply_pairs (vpmaddwd).
#pragma once

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

// How many products of a weight up to kMaxCode and an activation down to -128 a 16-bit lane holds,
// counted in quads (two products a lane each), as a power of two.
template <int kMaxCode>
constexpr int kQuadsIn16Bits = kMaxCode <= 15 ? 8 : (kMaxCode <= 31 ? 4 : 2);

// Narrow codes: several quads in 16 bits, then one widening.
template <int kMaxCode, int kPlanes, int kQuads>
struct QuadSum {
  static constexpr int kRun = kQuadsIn16Bits<kMaxCode> < kQuads ? kQuadsIn16Bits<kMaxCode> : kQuads;
  static_assert(2 * 128 * kMaxCode * kRun <= 32767 && kQuads % kRun == 0);
  VecI32 sum;
  VecI16 run;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  QUERN_INLINE void add(int q, VecU8 weights, const int8_t* activations) {
    if (q % kRun == 0) {
      multiply_quad(run, weights, activations);
    } else {
      add_quad(run, weights, activations);
    }
    if (q % kRun == kRun - 1) sum += multiply_pairs(run, VecI16{} + 1);
  }
  QUERN_INLINE VecI32 total() const { return sum; }
};

// Codes of 8 bits as two nibbles: 16 * high + low, each exact in 16 bits for 8 quads.
template <int kQuads>
struct NibbleQuadSum {
  VecI32 sum;
  VecI16 low;
  VecI16 high;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  QUERN_INLINE void add(int q, VecU8 weights, const int8_t* activations) {
    const VecU8 low_nibbles = weights & 15;
    const VecU8 high_nibbles = bits_as<VecU8>(bits_as<VecU16>(weights) >> 4) & 15;
    if (q == 0) {
      multiply_quad(low, low_nibbles, activations);
      multiply_quad(high, high_nibbles, activations);
    } else {
      add_quad(low, low_nibbles, activations);
      add_quad(high, high_nibbles, activations);
    }
    if (q == kQuads - 1) {
      sum += multiply_pairs(low, VecI16{} + 1) + (multiply_pairs(high, VecI16{} + 1) << 4);
    }
  }
  QUERN_INLINE VecI32 total() const { return sum; }
};

}  // namespace
}  // namespace quern::cpu
