// log(1 + f) as a double word, for the functions that one word cannot carry: pow, log2, log10 and
// the inverse hyperbolic ones. Relative error about 2^-36 (f64: 2^-65).
#pragma once

#include "ops/math/double_word-inl.h"
#include "ops/math/log-inl.h"

namespace quern::simd {

template <class V>
QUERN_SIMD_FN DoubleWord<V> multiply_words(DoubleWord<V> a, DoubleWord<V> b) {
  const auto p = two_product(a.high, b.high);
  return fast_two_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}
template <class V>
QUERN_SIMD_FN DoubleWord<V> divide_words(DoubleWord<V> a, DoubleWord<V> b) {
  const V q = a.high / b.high;
  const auto p = two_product(q, b.high);
  const V rest = ((a.high - p.high) - p.low) + (a.low - q * b.low);
  return fast_two_sum(q, rest / b.high);
}

// log(1 + f + c), f in [sqrt(1/2) - 1, sqrt(2) - 1], c a correction far below f + 1.
// With s = f / (2 + f): 2 s + s^3 (2/3 + z P(z)), z = s^2; all but P in double words.
template <class V>
QUERN_SIMD_FN DoubleWord<V> log_word(V f, V c) {
  using E = ElemOf<V>;
  constexpr E kThirds = kIsF32<V> ? 0x1.555556p-1 : 0x1.5555555555555p-1;
  constexpr E kThirdsLow = kIsF32<V> ? -0x1.555556p-26 : 0x1.5555555555555p-55;
  const auto top = two_sum(f, c);
  auto bottom = two_sum(splat<V>(2), top.high);
  bottom.low = bottom.low + top.low;
  const auto s = divide_words(top, bottom);
  const auto z = multiply_words(s, s);
  V tail;
  if constexpr (kIsF32<V>) {
    tail = horner(z.high, 0x1.999998p-2f, 0x1.2493acp-2f, 0x1.c644a6p-3f, 0x1.8fedc4p-3f);
  } else {
    tail = horner(z.high, 0x1.9999999999996p-2, 0x1.2492492492f4cp-2, 0x1.c71c71c59769fp-3,
                  0x1.745d1828e0183p-3, 0x1.3b1364ea3425ap-3, 0x1.11206a3435c47p-3,
                  0x1.de3e381c388f4p-4, 0x1.eabf64e680ac1p-4);
  }
  auto p = fast_two_sum(splat<V>(kThirds), z.high * tail);
  p.low = p.low + kThirdsLow;
  const auto cubed = multiply_words(multiply_words(s, z), p);
  const auto sum = fast_two_sum(s.high + s.high, cubed.high);
  return fast_two_sum(sum.high, sum.low + (cubed.low + (s.low + s.low)));
}

// log2(x) for positive finite x.
template <class V>
QUERN_SIMD_FN DoubleWord<V> log2_word(V x) {
  constexpr ElemOf<V> kLog2e = kIsF32<V> ? 0x1.715476p+0 : 0x1.71547652b82fep+0;
  constexpr ElemOf<V> kLog2eLow = kIsF32<V> ? 0x1.4ae0cp-26 : 0x1.777d0ffda0d24p-56;
  const auto reduced = log_reduce(x);
  const DoubleWord<V> scale = {splat<V>(kLog2e), splat<V>(kLog2eLow)};
  const auto mantissa = multiply_words(log_word(reduced.f, V{}), scale);
  const auto sum = two_sum(reduced.e, mantissa.high);
  return fast_two_sum(sum.high, sum.low + mantissa.low);
}

}  // namespace quern::simd
