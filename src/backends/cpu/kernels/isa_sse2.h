// Level kSse2: vectors of 128 bits.
#pragma once

#include <emmintrin.h>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kSse2;
constexpr int kVectorBytes = 16;
// How far ahead of the weights a product prefetches, in bytes; 0: not at all.
template <int kTokens>
constexpr int kPrefetchDistance = kTokens == 1 ? 2048 : 0;
// Tokens that one pass over a panel of a block-quantised weight multiplies: 1, 2, 4 or 8.
template <bool kIsSuper, int kPlanes>
constexpr int kTokensAtOnce = 1;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

QUERN_INLINE VecU32 load_u16(const uint16_t* p) {
  const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return (VecU32)_mm_unpacklo_epi16(v, _mm_setzero_si128());
}
QUERN_INLINE VecF32 widen_f16(const uint16_t* p) {
  return widen_f16_bits(load_u16(p));
}

// Conversions between kLanes integers of 8 or 16 bits in memory and lanes of 32 bits. GCC 12 makes
// loops over the elements of __builtin_convertvector, so levels spell them out. Stores need values
// in range.
QUERN_INLINE VecI32 load_i16(const int16_t* p) {
  const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return (VecI32)_mm_srai_epi32(_mm_unpacklo_epi16(v, v), 16);
}
QUERN_INLINE VecI32 load_i8(const int8_t* p) {
  const __m128i v = (__m128i)splat_i32(p);
  const __m128i pairs = _mm_unpacklo_epi8(v, v);
  return (VecI32)_mm_srai_epi32(_mm_unpacklo_epi16(pairs, pairs), 24);
}
QUERN_INLINE void store_i16(int16_t* p, VecI32 v) {
  const __m128i narrow = _mm_packs_epi32((__m128i)v, (__m128i)v);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), narrow);
}
QUERN_INLINE void store_i8(int8_t* p, VecI32 v) {
  const __m128i words = _mm_packs_epi32((__m128i)v, (__m128i)v);
  const int32_t bytes = _mm_cvtsi128_si32(_mm_packs_epi16(words, words));
  __builtin_memcpy(p, &bytes, sizeof(bytes));
}
// 2 kLanes unsigned bytes to 16 bits.
QUERN_INLINE VecI16 widen_u8(const uint8_t* p) {
  const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return (VecI16)_mm_unpacklo_epi8(v, _mm_setzero_si128());
}

// a > b ? a : b in one instruction.
QUERN_INLINE VecF32 larger(VecF32 a, VecF32 b) {
  return (VecF32)_mm_max_ps((__m128)a, (__m128)b);
}
// Whether a bit of v is set.
QUERN_INLINE bool any_lane(VecI32 v) {
  return _mm_movemask_epi8(_mm_cmpeq_epi8((__m128i)v, _mm_setzero_si128())) != 0xFFFF;
}

// Products of 16-bit pairs, added: one 32-bit lane for each pair.
QUERN_INLINE VecI32 multiply_pairs(VecI16 a, VecI16 b) {
  return (VecI32)_mm_madd_epi16((__m128i)a, (__m128i)b);
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
constexpr bool kHasStreaming = true;
QUERN_INLINE void stream_line(const void* from, void* to) {
  for (int i = 0; i < 4; ++i) {
    _mm_stream_si128(static_cast<__m128i*>(to) + i,
                     load<__m128i>(static_cast<const char*>(from) + 16 * i));
  }
}
// One vector at an aligned place.
template <class V>
QUERN_INLINE void stream_vector(void* to, V v) {
  _mm_stream_si128(static_cast<__m128i*>(to), __builtin_bit_cast(__m128i, v));
}
QUERN_INLINE void end_of_stream() {
  _mm_sfence();
}

// Table entry for each code below 16.
QUERN_INLINE VecI8 look_up(const int8_t* table, VecU8 codes) {
  VecI8 entries{};
  for (int i = 0; i < kVectorBytes; ++i) entries[i] = table[codes[i]];
  return entries;
}

}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/quad_sum_widening-inl.h"
