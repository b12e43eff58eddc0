// Loops unrolled by the language: the index is a constant in each round.
#pragma once

#include <utility>

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

template <int kIndex>
struct Index {
  QUERN_INLINE constexpr operator int() const { return kIndex; }
};

template <class F, int... kIndices>
QUERN_INLINE void unroll_over(F& f, std::integer_sequence<int, kIndices...>) {
  (f(Index<kIndices>{}), ...);
}

// f(Index<0>), ..., f(Index<kCount - 1>). `f` should be an always-inline lambda.
template <int kCount, class F>
QUERN_INLINE void unroll(F f) {
  unroll_over(f, std::make_integer_sequence<int, kCount>{});
}

}  // namespace
}  // namespace quern::cpu

// Before the body of a lambda given to unroll().
#define QUERN_INLINE_LAMBDA __attribute__((always_inline))
