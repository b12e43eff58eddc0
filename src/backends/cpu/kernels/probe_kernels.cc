// Loops at the limits of one level; compiled once per level.
#include "backends/cpu/kernels/probe_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/column_sums-inl.h"
#include "backends/cpu/kernels/reduce-inl.h"
#include "backends/cpu/kernels/unroll-inl.h"

namespace quern::cpu {
namespace {

// Quads of nibbles, so that levels that widen late may do so; runs of them between the sums, so
// long that the sums cost nothing.
constexpr int kQuads = 8;
constexpr int kRuns = 32;
using Sum = QuadSum<15, 1, kQuads>;
// Independent chains: enough to hide latencies, few enough to stay in registers, of which a chain
// takes one or two.
constexpr int kChains = kLanes < 16 ? 6 : (sizeof(Sum) == kVectorBytes ? 16 : 12);
// Of sums of floats, whose other operand comes from memory: twice what the latency asks for.
constexpr int kFloatChains = 12;

// Keeps the compiler from knowing what p points to.
template <class T>
QUERN_INLINE void hide(const T*& p) {
  asm volatile("" : "+r"(p) : : "memory");
}

int32_t dot_products(int64_t rounds) {
  alignas(64) int8_t memory[kChains * kColumnStride + kVectorBytes] = {};
  const int8_t* p = memory;
  VecI32 total{};
  for (int64_t r = 0; r < rounds; ++r) {
    ColumnSums<kThisIsa, 15, 1, kChains, kQuads> sums;
    hide(p);
    const VecU8 weights = load<VecU8>(p + kChains * kColumnStride);
    unroll<kChains>([&](auto c) QUERN_INLINE_LAMBDA { sums.start(c, VecI32{}); });
    for (int run = 0; run < kRuns; ++run) {
      unroll<kQuads>([&](auto quad) QUERN_INLINE_LAMBDA {
        hide(p);
        sums.add(quad, weights, p + quad * 4);
      });
    }
    unroll<kChains>([&](auto c) QUERN_INLINE_LAMBDA { total ^= sums.total(c); });
  }
  return reduce_sum(total);
}

float multiply_adds(int64_t rounds) {
  VecF32 sums[kFloatChains] = {};
  // Two weights for each operand from memory, so that loads are not what is timed.
  alignas(64) float memory[(kFloatChains / 2 + 2) * kLanes] = {};
  const float* p = memory;
  for (int64_t r = 0; r < rounds; ++r) {
    hide(p);
    const VecF32 first = load<VecF32>(p), second = load<VecF32>(p + kLanes);
    unroll<kFloatChains / 2>([&](auto c) QUERN_INLINE_LAMBDA {
      const VecF32 x = load<VecF32>(p + (c + 2) * kLanes);
      sums[2 * c] = sums[2 * c] + first * x;
      sums[2 * c + 1] = sums[2 * c + 1] + second * x;
    });
  }
  float total = 0;
  unroll<kFloatChains>([&](auto c) QUERN_INLINE_LAMBDA { total += sums[c][0]; });
  return total;
}

// Any use of the bytes will do, and this one cannot overflow.
int32_t read(const std::byte* p, int64_t n) {
  VecI32 folds[8] = {};
  for (int64_t i = 0; i < n; i += 8 * kVectorBytes) {
    unroll<8>([&](auto v)
                  QUERN_INLINE_LAMBDA { folds[v] ^= load<VecI32>(p + i + v * kVectorBytes); });
  }
  unroll<7>([&](auto v) QUERN_INLINE_LAMBDA { folds[0] ^= folds[v + 1]; });
  int32_t all = 0;
  for (int l = 0; l < kLanes; ++l) all ^= folds[0][l];
  return all;
}

}  // namespace

template <>
ProbeKernels probe_kernels<kThisIsa>() {
  ProbeKernels kernels;
  kernels.dot_products = dot_products;
  kernels.multiply_adds = multiply_adds;
  kernels.read = read;
  kernels.products_per_round = int64_t{kChains} * kRuns * kQuads * 4 * kLanes;
  kernels.multiply_adds_per_round = int64_t{kFloatChains} * kLanes;
  return kernels;
}

}  // namespace quern::cpu
