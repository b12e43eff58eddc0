// Level kScalar: vectors of one lane, no intrinsics.
#pragma once

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kScalar;
constexpr int kVectorBytes = 4;
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
  const VecI32 x = bits_as<VecI32>(a);
  const VecI32 y = bits_as<VecI32>(b);
  return ((x << 16) >> 16) * ((y << 16) >> 16) + (x >> 16) * (y >> 16);
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
