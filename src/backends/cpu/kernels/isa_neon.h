// Level kNeon: vectors of 128 bits, conversions of f16 in hardware; any 64-bit Arm processor.
#pragma once

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kNeon;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_neon_vectors.h"
#include "backends/cpu/kernels/quad_sum_widening-inl.h"
