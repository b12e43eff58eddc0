// What the 256-bit levels share.
#pragma once

#include <immintrin.h>

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

QUERN_INLINE VecU32 load_u16(const uint16_t* p) {
  return (VecU32)_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
QUERN_INLINE VecF32 widen_f16(const uint16_t* p) {
  return (VecF32)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

// Conversions between kLanes integers of 8 or 16 bits in memory and lanes of 32 bits. GCC 12 makes
// loops over the elements of __builtin_convertvector, so levels spell them out. Stores need values
// in range.
QUERN_INLINE VecI32 load_i8(const int8_t* p) {
  return (VecI32)_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
QUERN_INLINE VecI32 load_i16(const int16_t* p) {
  return (VecI32)_mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
QUERN_INLINE __m128i narrow_to_i16(VecI32 v) {
  const __m256i wide = (__m256i)v;
  return _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
}
QUERN_INLINE void store_i16(int16_t* p, VecI32 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrow_to_i16(v));
}
QUERN_INLINE void store_i8(int8_t* p, VecI32 v) {
  const __m128i words = narrow_to_i16(v);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
}
// 2 kLanes unsigned bytes to 16 bits.
QUERN_INLINE VecI16 widen_u8(const uint8_t* p) {
  return (VecI16)_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

// a > b ? a : b in one instruction.
QUERN_INLINE VecF32 larger(VecF32 a, VecF32 b) {
  return (VecF32)_mm256_max_ps((__m256)a, (__m256)b);
}
// Whether a bit of v is set.
QUERN_INLINE bool any_lane(VecI32 v) {
  return _mm256_testz_si256((__m256i)v, (__m256i)v) == 0;
}

// Products of 16-bit pairs, added: one 32-bit lane for each pair.
QUERN_INLINE VecI32 multiply_pairs(VecI16 a, VecI16 b) {
  return (VecI32)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}
// a * b + c with one rounding.
QUERN_INLINE VecF32 multiply_add(VecF32 a, VecF32 b, VecF32 c) {
  return (VecF32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
QUERN_INLINE VecF64 multiply_add(VecF64 a, VecF64 b, VecF64 c) {
  return (VecF64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

// Stores of whole lines of 64 bytes past the caches; `to` is aligned. The end makes them visible to
// other threads before anything that follows.
constexpr bool kHasStreaming = true;
QUERN_INLINE void stream_line(const void* from, void* to) {
  for (int i = 0; i < 2; ++i) {
    _mm256_stream_si256(static_cast<__m256i*>(to) + i,
                        load<__m256i>(static_cast<const char*>(from) + 32 * i));
  }
}
// One vector at an aligned place.
template <class V>
QUERN_INLINE void stream_vector(void* to, V v) {
  _mm256_stream_si256(static_cast<__m256i*>(to), __builtin_bit_cast(__m256i, v));
}
QUERN_INLINE void end_of_stream() {
  _mm_sfence();
}

// Table entry for each code below 16.
QUERN_INLINE VecI8 look_up(const int8_t* table, VecU8 codes) {
  const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return (VecI8)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), (__m256i)codes);
}

}  // namespace
}  // namespace quern::cpu
