// What the 512-bit levels share.
#pragma once

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

QUERN_INLINE VecF32 widen_f16(const uint16_t* p) {
  // The form with a mask, because GCC 12 warns about an uninitialised operand of the plain one.
  return (VecF32)_mm512_maskz_cvtph_ps(0xFFFF,
                                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

// Products of 16-bit pairs, added: one 32-bit lane for each pair.
QUERN_INLINE VecI32 multiply_pairs(VecI16 a, VecI16 b) {
  return (VecI32)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}
// Products of unsigned and signed bytes, added by pairs with saturation at 16 bits.
QUERN_INLINE VecI16 multiply_bytes(VecU8 a, VecI8 b) {
  return (VecI16)_mm512_maddubs_epi16((__m512i)a, (__m512i)b);
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
