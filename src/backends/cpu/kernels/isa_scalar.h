// Level kScalar: vectors of one lane, no intrinsics.
#pragma once

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kScalar;
constexpr int kVectorBytes = 4;
// How far ahead of the weights a product prefetches, in bytes; 0: not at all.
template <int kTokens>
constexpr int kPrefetchDistance = 0;
// Tokens that one pass over a panel of a block-quantised weight multiplies: 1, 2, 4 or 8.
template <bool kIsSuper, int kPlanes>
constexpr int kTokensAtOnce = 1;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

QUERN_INLINE VecU32 load_u16(const uint16_t* p) {
  return VecU32{} + *p;
}
QUERN_INLINE VecF32 widen_f16(const uint16_t* p) {
  return widen_f16_bits(load_u16(p));
}

// Conversions between kLanes integers of 8 or 16 bits in memory and lanes of 32 bits. GCC 12 makes
// loops over the elements of __builtin_convertvector, so levels spell them out. Stores need values
// in range.
QUERN_INLINE VecI32 load_i8(const int8_t* p) {
  return VecI32{} + *p;
}
QUERN_INLINE VecI32 load_i16(const int16_t* p) {
  return VecI32{} + *p;
}
QUERN_INLINE void store_i8(int8_t* p, VecI32 v) {
  *p = static_cast<int8_t>(v[0]);
}
QUERN_INLINE void store_i16(int16_t* p, VecI32 v) {
  *p = static_cast<int16_t>(v[0]);
}
// 2 kLanes unsigned bytes to 16 bits.
QUERN_INLINE VecI16 widen_u8(const uint8_t* p) {
  return VecI16{p[0], p[1]};
}

// a > b ? a : b.
QUERN_INLINE VecF32 larger(VecF32 a, VecF32 b) {
  return a > b ? a : b;
}
// Whether a bit of v is set.
QUERN_INLINE bool any_lane(VecI32 v) {
  return v[0] != 0;
}

// Products of 16-bit pairs, added: one 32-bit lane for each pair.
QUERN_INLINE VecI32 multiply_pairs(VecI16 a, VecI16 b) {
  const VecI32 x = bits_as<VecI32>(a);
  const VecI32 y = bits_as<VecI32>(b);
  return ((x << 16) >> 16) * ((y << 16) >> 16) + (x >> 16) * (y >> 16);
}

// a * b + c with one rounding where a level can; this one rounds twice.
QUERN_INLINE VecF32 multiply_add(VecF32 a, VecF32 b, VecF32 c) {
  return a * b + c;
}
QUERN_INLINE VecF64 multiply_add(VecF64 a, VecF64 b, VecF64 c) {
  return a * b + c;
}

// Stores of whole lines of 64 bytes past the caches; `to` is aligned. The end makes them visible to
// other threads before anything that follows.
constexpr bool kHasStreaming = false;
QUERN_INLINE void stream_line(const void*, void*) {}
// One vector at an aligned place.
template <class V>
QUERN_INLINE void stream_vector(void*, V) {}
QUERN_INLINE void end_of_stream() {}

// Table entry for each code below 16.
QUERN_INLINE VecI8 look_up(const int8_t* table, VecU8 codes) {
  VecI8 entries{};
  for (int i = 0; i < kVectorBytes; ++i) entries[i] = table[codes[i]];
  return entries;
}

}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/quad_sum_widening-inl.h"
