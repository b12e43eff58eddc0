// Loops at the limits of one level; compiled once per level.
#include "backends/cpu/kernels/probe_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/reduce-inl.h"
#include "backends/cpu/kernels/unroll-inl.h"

namespace quern::cpu {
namespace {

// Independent chains: enough to hide latencies, few enough to stay in registers.
constexpr int kChains = kLanes >= 16 ? 16 : 8;
constexpr int kFloatChains = kLanes >= 16 ? 12 : 6;

// Keeps the compiler from seeing through a register.
template <class Vec>
QUERN_INLINE void hide(Vec& v) {
#if defined(__x86_64__)
  if constexpr (sizeof(Vec) >= 16) asm volatile("" : "+v"(v));
#endif
}

int32_t dot_products(int64_t rounds) {
  // Eight quads of nibbles, so that levels that widen late may do so.
  QuadSum<15, 1, 8> sums[kChains];
  VecU8 weights = VecU8{} + 3;
  VecI8 activations = VecI8{} + 5;
  VecI32 total{};
  for (int64_t r = 0; r < rounds; ++r) {
    unroll<kChains>([&](auto c) QUERN_INLINE_LAMBDA {
      VecI32 start = total;
      hide(start);
      sums[c].start(start);
    });
    unroll<8>([&](auto quad) QUERN_INLINE_LAMBDA {
      hide(weights);
      hide(activations);
      unroll<kChains>([&](auto c) QUERN_INLINE_LAMBDA { sums[c].add(quad, weights, activations); });
    });
    unroll<kChains>([&](auto c) QUERN_INLINE_LAMBDA { total ^= sums[c].total(); });
  }
  return reduce_sum(total);
}

float multiply_adds(int64_t rounds) {
  VecF32 sums[kFloatChains] = {};
  VecF32 x[kFloatChains] = {};
  VecF32 y = splat(1.25f);
  for (int64_t r = 0; r < rounds; ++r) {
    hide(y);
    unroll<kFloatChains>([&](auto c) QUERN_INLINE_LAMBDA {
      hide(x[c]);
      sums[c] = sums[c] + x[c] * y;
    });
  }
  float total = 0;
  for (const VecF32& sum : sums) total += sum[0];
  return total;
}

int32_t read(const std::byte* p, int64_t n) {
  VecI32 sums[8] = {};
  for (int64_t i = 0; i < n; i += 8 * kVectorBytes) {
    unroll<8>([&](auto v)
                  QUERN_INLINE_LAMBDA { sums[v] += load<VecI32>(p + i + v * kVectorBytes); });
  }
  unroll<7>([&](auto v) QUERN_INLINE_LAMBDA { sums[0] += sums[v + 1]; });
  return reduce_sum(sums[0]);
}

}  // namespace

template <>
ProbeKernels probe_kernels<kThisIsa>() {
  ProbeKernels kernels;
  kernels.dot_products = dot_products;
  kernels.multiply_adds = multiply_adds;
  kernels.read = read;
  kernels.products_per_round = int64_t{kChains} * 8 * 4 * kLanes;
  kernels.multiply_adds_per_round = int64_t{kFloatChains} * kLanes;
  return kernels;
}

}  // namespace quern::cpu
