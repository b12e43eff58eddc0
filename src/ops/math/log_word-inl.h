// log(1 + f) as a double word, for the functions that one word cannot carry: pow, log2, log10 and
// the inverse hyperbolic ones. Relative error about 2^-36 (f64: 2^-65).
#pragma once

#include "ops/math/double_word-inl.h"
#include "ops/math/log-inl.h"

namespace quern::simd {

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
  // A power of two has f = 0 and a mantissa part of 0, so its logarithm is exactly e.
  const auto reduced = log_reduce(x);
  const DoubleWord<V> scale = {splat<V>(kLog2e), splat<V>(kLog2eLow)};
  const auto mantissa = multiply_words(log_word(reduced.f, V{}), scale);
  const auto sum = two_sum(reduced.e, mantissa.high);
  return fast_two_sum(sum.high, sum.low + mantissa.low);
}

// log2(x), 0.50 ulp; special values as strict_log.
template <class V>
QUERN_SIMD_FN V strict_log2(V x) {
  return log_special(x, log2_word(x).high);
}

// e log10(2) + log(m) log10(e); the first part of log10(2) is short enough for an exact product.
template <class V>
QUERN_SIMD_FN V strict_log10(V x) {
  constexpr ElemOf<V> kLog10e = kIsF32<V> ? 0x1.bcb7b2p-2 : 0x1.bcb7b1526e50ep-2;
  constexpr ElemOf<V> kLog10eLow = kIsF32<V> ? -0x1.5b235ep-27 : 0x1.95355baaafad3p-57;
  constexpr ElemOf<V> kLog10Of2 = kIsF32<V> ? 0x1.344p-2 : 0x1.34413509f7p-2;
  constexpr ElemOf<V> kLog10Of2Low = kIsF32<V> ? 0x1.3509f8p-18 : 0x1.3fde623e2566bp-43;
  const auto reduced = log_reduce(x);
  const DoubleWord<V> scale = {splat<V>(kLog10e), splat<V>(kLog10eLow)};
  const auto mantissa = multiply_words(log_word(reduced.f, V{}), scale);
  const auto sum = two_sum(reduced.e * kLog10Of2, mantissa.high);
  return log_special(x, sum.high + (sum.low + (mantissa.low + reduced.e * kLog10Of2Low)));
}

// log(1 + u) as a double word for u >= 0, with its relative error also where u is small.
template <class V>
QUERN_SIMD_FN DoubleWord<V> log1p_word(DoubleWord<V> u) {
  constexpr ElemOf<V> kLn2High = kIsF32<V> ? 0x1.62e4p-1 : 0x1.62e42fefa38p-1;
  constexpr ElemOf<V> kLn2Low = kIsF32<V> ? 0x1.7f7d1cp-20 : 0x1.ef35793c7673p-45;
  // w = 1 + u as a double word. Its high part is reduced; its low part takes the same factor 2^-e.
  auto w = two_sum(splat<V>(1), u.high);
  w = fast_two_sum(w.high, w.low + u.low);
  const auto reduced = log_reduce(w.high);
  const auto near = reduced.e == 0;
  // 2^-e, from the distance of the exponents before and after the reduction.
  const V unit = from_bits<V>(bits_of(splat<V>(1)) - (bits_of(w.high) - bits_of(reduced.f + 1)));
  const auto mantissa =
      log_word(select(near, u.high, reduced.f), select(near, u.low, w.low * unit));
  const auto sum = two_sum(reduced.e * kLn2High, mantissa.high);
  return fast_two_sum(sum.high, sum.low + (mantissa.low + reduced.e * kLn2Low));
}

}  // namespace quern::simd
