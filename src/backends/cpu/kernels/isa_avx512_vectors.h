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

}  // namespace
}  // namespace quern::cpu
