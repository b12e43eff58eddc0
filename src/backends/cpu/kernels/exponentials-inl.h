// Exponentials of a softmax, added up in lanes(32). Included after QUERN_ISA_HEADER.
#pragma once

#include "backends/cpu/kernels/lanes-inl.h"
#include "backends/cpu/kernels/unroll-inl.h"
#include "ops/math/strict_math-inl.h"

namespace quern::cpu {
namespace {

// e[i] = exp(x[i] - max) for 32 elements, added to 32 partials; e may be x.
template <class V>
QUERN_INLINE void add_exponentials(const ElementOf<V>* x, ElementOf<V>* e, ElementOf<V> max,
                                   V* partials) {
  // Vectors that are computed side by side, all loaded before one is stored: a store in between,
  // which might change what is loaded, keeps the compiler from interleaving their steps.
  constexpr int kCount = kSumVectorsOf<V> < 4 ? kSumVectorsOf<V> : 4;
  constexpr int kWidth = kLanesOf<V>;
  for (int first = 0; first < kSumVectorsOf<V>; first += kCount) {
    V y[kCount];
    unroll<kCount>([&](auto v) QUERN_INLINE_LAMBDA {
      y[v] = simd::strict_exp(load<V>(x + (first + v) * kWidth) - max);
    });
    unroll<kCount>([&](auto v) QUERN_INLINE_LAMBDA {
      store(e + (first + v) * kWidth, y[v]);
      partials[first + v] += y[v];
    });
  }
}

}  // namespace
}  // namespace quern::cpu
