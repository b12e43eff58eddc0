// Integer results over the lanes of a vector. Floats have no such functions: their order is part of
// an operation's meaning.
#pragma once

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

typedef int32_t VecI32x4 __attribute__((vector_size(16)));
typedef int32_t VecI32x8 __attribute__((vector_size(32)));

template <class Vec>
struct Halves {
  Vec low;
  Vec high;
};
template <class Half, class Vec>
QUERN_INLINE Halves<Half> halves_of(Vec v) {
  Halves<Half> halves;
  static_assert(sizeof(halves) == sizeof(v));
  __builtin_memcpy(&halves, &v, sizeof(v));
  return halves;
}

// Folds the lanes with f(a, b), an associative operation on vectors and numbers.
template <class Vec, class F>
QUERN_INLINE int32_t reduce_lanes(Vec v, F f) {
  if constexpr (sizeof(Vec) == 64) {
    const auto halves = halves_of<VecI32x8>(v);
    return reduce_lanes(f(halves.low, halves.high), f);
  } else if constexpr (sizeof(Vec) == 32) {
    const auto halves = halves_of<VecI32x4>(v);
    return reduce_lanes(f(halves.low, halves.high), f);
  } else if constexpr (sizeof(Vec) == 16) {
    return f(f(v[0], v[1]), f(v[2], v[3]));
  } else {
    return v[0];
  }
}

QUERN_INLINE int32_t reduce_max(VecI32 v) {
  return reduce_lanes(
      v, [](auto a, auto b) __attribute__((always_inline)) { return a > b ? a : b; });
}
QUERN_INLINE int32_t reduce_sum(VecI32 v) {
  return reduce_lanes(
      v, [](auto a, auto b) __attribute__((always_inline)) { return a + b; });
}

}  // namespace
}  // namespace quern::cpu
