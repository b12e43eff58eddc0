// Level kAvx512: vectors of 512 bits.
#pragma once

#include <immintrin.h>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {
namespace {
constexpr Isa kThisIsa = Isa::kAvx512;
constexpr int kVectorBytes = 64;
// How far ahead of the weights a product prefetches, in bytes; 0: not at all. Zen 4 reads slower
// with it where memory is the limit, but four or eight tokens wait for memory without it (q4_0: 675
// instead of 490 Gop/s with four, 710 instead of 500 with eight).
template <int kTokens>
constexpr int kPrefetchDistance = kTokens >= 4 ? 4096 : 0;
// Tokens that one pass over a panel of a block-quantised weight multiplies: 1, 2, 4 or 8. A token
// takes a 16-bit and a 32-bit sum for each plane.
template <bool kIsSuper, int kPlanes>
constexpr int kTokensAtOnce = 8 / kPlanes;
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
