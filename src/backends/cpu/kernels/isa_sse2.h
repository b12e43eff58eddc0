// Level kSse2: vectors of 128 bits.
#pragma once

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

}  // namespace
}  // namespace quern::cpu
