// Level kNeonDotprod: 128 bits with int8 dot products (Armv8.2 DotProd).
#pragma once

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kNeonDotprod;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_neon_vectors.h"
#include "backends/cpu/kernels/quad_sum_sdot-inl.h"
