// Level kAvx512Bf16: vectors of 512 bits with dot products of bf16 pairs. Only the products of
// bf16_gemm_kernels.cc are compiled for it.
#pragma once

#include <immintrin.h>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kAvx512Bf16;
constexpr int kVectorBytes = 64;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_avx512_vectors.h"

namespace quern::cpu {
namespace {

// sum + a.low * b.low + a.high * b.high per lane, with the pair at a place in memory for `a`, in
// the processor's own order and rounding. Written out, since GCC 12 makes no broadcast operand of
// it and a broadcast of its own takes a slot of the float units.
QUERN_INLINE VecF32 add_bf16_pairs(VecF32 sum, const uint32_t* a, VecU32 b) {
  asm("vdpbf16ps %[a]%{1to16%}, %[b], %[sum]" : [sum] "+v"(sum) : [b] "v"(b), [a] "m"(*a));
  return sum;
}

}  // namespace
}  // namespace quern::cpu
