// Level kAvx512: vectors of 512 bits.
#pragma once

#include <immintrin.h>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kAvx512;
constexpr int kVectorBytes = 64;
// How far ahead of the weights a product with one token prefetches, in bytes; 0: not at all. Zen 4
// reads slower with it.
constexpr int kPrefetchDistance = 0;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/isa_avx512_vectors.h"
#include "backends/cpu/kernels/quad_sum_maddubs-inl.h"

namespace quern::cpu {
namespace {

template <int kPlanes, int kQuads>
struct QuadSum<255, kPlanes, kQuads> : NibbleQuadSum<kQuads> {};

}  // namespace
}  // namespace quern::cpu
