// What the 512-bit levels share.
#pragma once

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

QUERN_INLINE VecU32 load_u16(const uint16_t* p) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return (VecU32)_mm512_maskz_cvtepu16_epi32(0xFFFF, words);
}
QUERN_INLINE VecF32 widen_f16(const uint16_t* p) {
  // The form with a mask, because GCC 12 warns about an uninitialised operand of the plain one.
  return (VecF32)_mm512_maskz_cvtph_ps(0xFFFF,
                                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

// Conversions between kLanes integers of 8 or 16 bits in memory and lanes of 32 bits. GCC 12 makes
// loops over the elements of __builtin_convertvector, so levels spell them out. Stores need values
// in range.
QUERN_INLINE VecI32 load_i8(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return (VecI32)_mm512_maskz_cvtepi8_epi32(0xFFFF, bytes);
}
QUERN_INLINE VecI32 load_i16(const int16_t* p) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return (VecI32)_mm512_maskz_cvtepi16_epi32(0xFFFF, words);
}
QUERN_INLINE void store_i8(int8_t* p, VecI32 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_maskz_cvtepi32_epi8(0xFFFF, (__m512i)v));
}
QUERN_INLINE void store_i16(int16_t* p, VecI32 v) {
  const __m256i words = _mm512_maskz_cvtepi32_epi16(0xFFFF, (__m512i)v);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), words);
}
// 2 kLanes unsigned bytes to 16 bits.
QUERN_INLINE VecI16 widen_u8(const uint8_t* p) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return (VecI16)_mm512_cvtepu8_epi16(bytes);
}

// a > b ? a : b in one instruction.
QUERN_INLINE VecF32 larger(VecF32 a, VecF32 b) {
  return (VecF32)_mm512_maskz_max_ps(0xFFFF, (__m512)a, (__m512)b);
}
// v times the float at p, in all lanes, as one memory operand: a broadcast to a register of 512
// bits takes a step of the units that multiply, and compilers make one wherever a float has two
// uses.
QUERN_INLINE VecF32 multiply_broadcast(VecF32 v, const float* p) {
  VecF32 product;
  asm("vmulps %2%{1to16%}, %1, %0" : "=v"(product) : "v"(v), "m"(*p));
  return product;
}
// Whether a bit of v is set.
QUERN_INLINE bool any_lane(VecI32 v) {
  return _mm512_test_epi32_mask((__m512i)v, (__m512i)v) != 0;
}

// Products of 16-bit pairs, added: one 32-bit lane for each pair.
QUERN_INLINE VecI32 multiply_pairs(VecI16 a, VecI16 b) {
  return (VecI32)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}
// Products of unsigned and signed bytes, added by pairs with saturation at 16 bits.
QUERN_INLINE VecI16 multiply_bytes(VecU8 a, VecI8 b) {
  return (VecI16)_mm512_maddubs_epi16((__m512i)a, (__m512i)b);
}

// run = products, or run + products, of unsigned weights and the four signed activations at a
// place, added by pairs.
QUERN_INLINE void multiply_quad(VecI16& run, VecU8 weights, const int8_t* activations) {
  run = multiply_bytes(weights, bits_as<VecI8>(splat_i32(activations)));
}
QUERN_INLINE void add_quad(VecI16& run, VecU8 weights, const int8_t* activations) {
  run += multiply_bytes(weights, bits_as<VecI8>(splat_i32(activations)));
}

// a * b + c with one rounding.
QUERN_INLINE VecF32 multiply_add(VecF32 a, VecF32 b, VecF32 c) {
  return (VecF32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
QUERN_INLINE VecF64 multiply_add(VecF64 a, VecF64 b, VecF64 c) {
  return (VecF64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

// Stores of whole lines of 64 bytes past the caches; `to` is aligned. The end makes them visible to
// other threads before anything that follows.
constexpr bool kHasStreaming = true;
QUERN_INLINE void stream_line(const void* from, void* to) {
  _mm512_stream_si512(static_cast<__m512i*>(to), load<__m512i>(from));
}
// One vector at an aligned place.
template <class V>
QUERN_INLINE void stream_vector(void* to, V v) {
  _mm512_stream_si512(static_cast<__m512i*>(to), __builtin_bit_cast(__m512i, v));
}
QUERN_INLINE void end_of_stream() {
  _mm_sfence();
}

// Table entry for each code below 16.
QUERN_INLINE VecI8 look_up(const int8_t* table, VecU8 codes) {
  const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return (VecI8)_mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(0xFFFF, entries), (__m512i)codes);
}

template <int kPlanes>
constexpr int kFullOffset = 128;

}  // namespace
}  // namespace quern::cpu
