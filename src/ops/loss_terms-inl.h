// Terms of losses for one element, over a lane type V: float, double or a vector of them. One
// source for the reference and for every backend that compiles C++; every step rounds.
#pragma once

#include "ops/activation-inl.h"

namespace quern::simd {

// (pred - target)^2.
template <class V>
QUERN_SIMD_FN V squared_error(V pred, V target) {
  const V d = pred - target;
  return d * d;
}

// |pred - target|; exact but for the one subtraction.
template <class V>
QUERN_SIMD_FN V absolute_error(V pred, V target) {
  return abs(pred - target);
}

// d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2). `half` is delta / 2, made in f64.
// Both branches meet at |d| = delta with value and slope. NaN takes the second branch and stays
// NaN.
template <class V>
QUERN_SIMD_FN V huber_term(V pred, V target, ElemOf<V> delta, ElemOf<V> half) {
  const V size = abs(pred - target);
  return select(size > delta, (size - half) * delta, (size * static_cast<ElemOf<V>>(0.5)) * size);
}

// -(t log p + (1 - t) log(1 - p)), p = pred clamped to [1e-7, 1 - 1e-7].
// The clamp bounds -log at 16.1; in f32 1 - 1e-7 is 1 - 2^-23, the second number below 1. NaN in
// pred stays NaN.
template <class V>
QUERN_SIMD_FN V binary_cross_entropy_term(V pred, V target) {
  const V one = splat<V>(1);
  const V p = clamp(pred, constant<V>(1e-7), constant<V>(1 - 1e-7));
  return -(target * strict_log(p) + (one - target) * strict_log(one - p));
}

// t log(max(t, 1e-12) / max(p, 1e-12)).
// The floors are under both logarithm's arguments but not under the factor t: t = 0 gives 0.
template <class V>
QUERN_SIMD_FN V kl_divergence_term(V target, V pred) {
  const V floor = constant<V>(1e-12);
  return target * strict_log(max_of(target, floor) / max_of(pred, floor));
}

}  // namespace quern::simd
