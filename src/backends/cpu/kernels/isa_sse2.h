// Level kSse2: vectors of 128 bits.
#pragma once

#include <emmintrin.h>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kSse2;
constexpr int kVectorBytes = 16;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

QUERN_INLINE VecF32 widen_f16(const uint16_t* p) {
  return widen_f16_bits(load<VecU16Half>(p));
}

// Products of 16-bit pairs, added: one 32-bit lane for each pair.
QUERN_INLINE VecI32 multiply_pairs(VecI16 a, VecI16 b) {
  return (VecI32)_mm_madd_epi16((__m128i)a, (__m128i)b);
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
