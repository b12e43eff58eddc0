// Arithmetic on unevaluated sums high + low (about twice the precision), without FMA: error-free
// sums after Knuth and Dekker, products split by masking. For the steps that one word cannot carry.
#pragma once

#include "ops/math/simd.h"

namespace quern::simd {

// The functions below leave |low| at about half an ulp of high or less.
template <class V>
struct DoubleWord {
  V high;
  V low;
};

// a + b exactly; |a| >= |b|, or both multiples of a unit in which a - b is representable.
template <class V>
QUERN_SIMD_FN DoubleWord<V> fast_two_sum(V a, V b) {
  const V sum = a + b;
  return {sum, b - (sum - a)};
}
// a + b exactly, in any order of size.
template <class V>
QUERN_SIMD_FN DoubleWord<V> two_sum(V a, V b) {
  const V sum = a + b;
  const V b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// x = high + low with 12 + 12 bits (26 + 27 in f64), so that products of parts are exact.
// A mask instead of Veltkamp's product by 2^s + 1, so that no large x overflows.
template <class V>
QUERN_SIMD_FN DoubleWord<V> split(V x) {
  constexpr UintElem<V> kMask = ~((UintElem<V>{1} << (kIsF32<V> ? 12 : 27)) - 1);
  const V high = from_bits<V>(bits_of(x) & kMask);
  return {high, x - high};
}

// a * b exactly (f64: to 2^-106); no part may overflow or underflow.
template <class V>
QUERN_SIMD_FN DoubleWord<V> two_product(V a, V b) {
  const auto [ah, al] = split(a);
  const auto [bh, bl] = split(b);
  const V product = a * b;
  // In f64 the two low parts have 27 bits and their product may need 54: the one inexact step.
  return {product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

// a * b. The cross products are rounded; low times low is below their last bit and left out.
template <class V>
QUERN_SIMD_FN DoubleWord<V> multiply_words(DoubleWord<V> a, DoubleWord<V> b) {
  const auto p = two_product(a.high, b.high);
  return fast_two_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}
// a / b: the quotient of the high parts, then one correction by the remainder a - q b.
template <class V>
QUERN_SIMD_FN DoubleWord<V> divide_words(DoubleWord<V> a, DoubleWord<V> b) {
  const V q = a.high / b.high;
  const auto p = two_product(q, b.high);
  const V rest = ((a.high - p.high) - p.low) + (a.low - q * b.low);
  return fast_two_sum(q, rest / b.high);
}

// sqrt(a) for a >= 0: the root of the high part, then Newton's (a - root^2) / (2 root). A high part
// of 0 keeps 0: the correction would divide by it.
template <class V>
QUERN_SIMD_FN DoubleWord<V> sqrt_word(DoubleWord<V> a) {
  const V root = sqrt(a.high);
  const auto square = two_product(root, root);
  const V rest = ((a.high - square.high) - square.low) + a.low;
  return fast_two_sum(root, select(a.high > 0, rest / (root + root), V{}));
}

}  // namespace quern::simd
