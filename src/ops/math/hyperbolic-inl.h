// sinh, cosh and the inverse hyperbolic functions. tanh stands in tanh-inl.h.
#pragma once

#include "ops/math/exp-inl.h"
#include "ops/math/log_word-inl.h"

namespace quern::simd {

// exp(a) / 2 for a >= 0; finite wherever sinh and cosh are.
template <class V>
QUERN_SIMD_FN V half_exp(V a) {
  // One past the limit of exp: half of it overflows ln 2 later.
  const auto e = exp_scaled(at_most(a, kExpHighest<V> + 1));
  return scale(e.p, e.n - 1);
}

// |x| below 1: x + x^3 P(x^2). Above: H - 1/(4 H), H = exp(|x|) / 2.
template <class V>
QUERN_SIMD_FN V strict_sinh(V x) {
  const V a = abs(x);
  const V z = a * a;
  V tail;
  if constexpr (kIsF32<V>) {
    tail = horner(z, 0x1.555556p-3f, 0x1.1110ecp-7f, 0x1.a01adp-13f, 0x1.76ac86p-19f);
  } else {
    tail = horner(z, 0x1.5555555555556p-3, 0x1.1111111111041p-7, 0x1.a01a01a03167ep-13,
                  0x1.71de3a4077167p-19, 0x1.ae646b3299e51p-26, 0x1.6118e9df66163p-33,
                  0x1.b52b9e5774ebfp-41);
  }
  // The leading term is a itself, so zeros and denormals come back bit for bit.
  const V small = a + (a * z) * tail;
  const V h = half_exp(a);
  const V large = h - splat<V>(static_cast<ElemOf<V>>(0.25)) / h;
  return flip_sign(select(a < 1, small, large), sign_of(x));
}

// cosh(x) = H + 1 / (4 H). It overflows where H does, from about 89.4 (f64: 710.5) on, not earlier
// as exp(|x|) would.
template <class V>
QUERN_SIMD_FN V strict_cosh(V x) {
  const V h = half_exp(abs(x));
  return h + splat<V>(static_cast<ElemOf<V>>(0.25)) / h;
}

// Up to here x^3 / 6 is below half an ulp of x; from kInverseLarge on 1 is nothing next to x^2.
template <class V>
inline constexpr ElemOf<V> kInverseTiny = kIsF32<V> ? 0x1p-13 : 0x1p-28;
template <class V>
inline constexpr ElemOf<V> kInverseLarge = kIsF32<V> ? 0x1p+13 : 0x1p+28;

// log(2 a) for large a.
template <class V>
QUERN_SIMD_FN V log_of_twice(V a) {
  const auto reduced = log_reduce(a);
  return log_of_reduced(reduced.f, reduced.e + 1, V{});
}

// log(1 + (a + a^2 / (1 + sqrt(1 + a^2)))) in double words; log(2a) for large a = |x|.
template <class V>
QUERN_SIMD_FN V strict_asinh(V x) {
  const V a = abs(x);
  // Inside these limits the square neither underflows nor drowns the 1; other lanes are replaced at
  // the end.
  const V b = at_least(at_most(a, kInverseLarge<V>), kInverseTiny<V>);
  const auto square = two_product(b, b);
  auto sum = two_sum(splat<V>(1), square.high);
  auto bottom = sqrt_word(fast_two_sum(sum.high, sum.low + square.low));
  sum = two_sum(splat<V>(1), bottom.high);
  const auto quotient = divide_words(square, fast_two_sum(sum.high, sum.low + bottom.low));
  sum = two_sum(b, quotient.high);
  const V middle = log1p_word(fast_two_sum(sum.high, sum.low + quotient.low)).high;
  // log_reduce wants finite values; asinh of infinity is infinity, and NaN passes here too.
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  const V large = select(a < inf, log_of_twice(a), a);
  const V y = select(a < kInverseTiny<V>, a, select(a < kInverseLarge<V>, middle, large));
  return flip_sign(y, sign_of(x));
}

// log(1 + (t + sqrt(t (t + 2)))), t = x - 1, in double words; log(2x) for large x; NaN below 1.
template <class V>
QUERN_SIMD_FN V strict_acosh(V x) {
  // x - 1 as a double word keeps all digits near 1, where acosh(x) is about sqrt(2 (x - 1)).
  const auto t = two_sum(at_most(x, kInverseLarge<V>), splat<V>(-1));
  auto sum = two_sum(t.high, splat<V>(2));
  const auto root = sqrt_word(multiply_words(t, {sum.high, sum.low + t.low}));
  sum = two_sum(t.high, root.high);
  const V middle = log1p_word(fast_two_sum(sum.high, sum.low + (t.low + root.low))).high;
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  const V large = select(x < inf, log_of_twice(x), x + x);
  const V y = select(x < kInverseLarge<V>, middle, large);
  // Below 1 there is no value. A NaN fails this comparison and those before it: x + x gives it.
  return select(x < 1, inf - inf, y);
}

// log(1 + 2a / (1 - a)) / 2 in double words, a = |x|; NaN above 1.
template <class V>
QUERN_SIMD_FN V strict_atanh(V x) {
  const V a = abs(x);
  const V b = at_least(a, kInverseTiny<V>);
  const auto quotient = divide_words({b + b, V{}}, two_sum(splat<V>(1), -b));
  const V middle = log1p_word(quotient).high * static_cast<ElemOf<V>>(0.5);
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  V y = select(a < kInverseTiny<V>, a, middle);
  // |x| = 1 is the pole. Beyond it, and for NaN, both comparisons fail and inf - inf makes a NaN.
  y = select(a < 1, y, select(a == 1, inf, inf - inf));
  return flip_sign(y, sign_of(x));
}

}  // namespace quern::simd
