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

}  // namespace
}  // namespace quern::cpu
