// erf, erfc, and the two forms of gelu.
#pragma once

#include "ops/math/double_word-inl.h"
#include "ops/math/exp-inl.h"
#include "ops/math/tanh-inl.h"

namespace quern::simd {

// (1 + 2a) exp(a^2) erfc(a), a smooth function between 1 and 1.27, of t = (a - k) / (a + k);
// k = 3, 0 <= a <= 10.1 in f32; k = 3.5, a <= 27.3 in f64.
// The centre k puts t between -1 and 0.55 (f64: 0.78), where one polynomial serves the whole range.
template <class V>
QUERN_SIMD_FN DoubleWord<V> erfc_factor(V a) {
  constexpr ElemOf<V> kCentre = kIsF32<V> ? 3 : 3.5;
  const V t = (a - kCentre) / (a + kCentre);
  if constexpr (kIsF32<V>) {
    const V p = t * horner(t, -0x1.15c08ap-3f, -0x1.85a15ap-5f, 0x1.09842ap-3f, -0x1.e88a42p-4f,
                           0x1.17bacap-4f, -0x1.85cc26p-6f, 0x1.5203bp-9f, 0x1.05ab42p-9f,
                           -0x1.a133a8p-11f, -0x1.21d0f2p-12f);
    return fast_two_sum(splat<V>(0x1.40c522p+0f), p + 0x1.ac9c7p-25f);
  } else {
    const V p = t * horner(t, -0x1.1ebd220ea5934p-3, -0x1.59e2c284b0fd1p-7, 0x1.8f702ec6b2c8ep-4,
                           -0x1.d76830c354674p-4, 0x1.686106047ce16p-4, -0x1.8ff5ef768644ep-5,
                           0x1.38ec666daf30dp-6, -0x1.143c4cc9dc27fp-8, -0x1.3cf36220d5042p-12,
                           0x1.27e66dfe2457fp-11, -0x1.fda9a442bbea4p-14, -0x1.66e51d864e672p-15,
                           0x1.9710bb05cf366p-16, 0x1.391e69bfe8a0fp-19, -0x1.0043d3c76e912p-18,
                           -0x1.cfa7cb6673063p-25, 0x1.45202e2404f3cp-21, 0x1.453e85d63cd6bp-28,
                           -0x1.a03d9cef8ffe5p-24, -0x1.29bc5864f8dd2p-27, 0x1.8e78c6eacf43fp-27,
                           0x1.8dd576cfa6858p-29);
    return fast_two_sum(splat<V>(0x1.3e0a99a0ee914p+0), p - 0x1.c965bf887847ap-57);
  }
}

// erfc(a) = exp(-a^2) F(a) / (1 + 2a) for 0 <= a; +0 where it ends (10.1; f64: 27.3).
// Double words throughout; the scaling by 2^n comes last, so denormal results round once.
// exp(-b^2) needs the square's low word: its absolute error is the relative error of the result,
// and b^2 reaches 102 (f64: 745).
template <class V>
QUERN_SIMD_FN V erfc_positive(V a) {
  const V b = at_most(a, static_cast<ElemOf<V>>(kIsF32<V> ? 10.1 : 27.3));
  const auto square = two_product(b, b);
  const auto e = exp_reduce(-square.high);
  const auto r = fast_two_sum(e.r, e.low - square.low);
  const auto p = fast_two_sum(splat<V>(1), r.high + ((r.high * r.high) * exp_tail(r.high) + r.low));
  const auto top = multiply_words(p, erfc_factor(b));
  const auto q = divide_words(top, two_sum(splat<V>(1), b + b));
  return scale(q.high, e.n);
}

// erf(a) = a + a P(a^2) for 0 <= a < 0.92 (f64: 1).
// The first coefficient is 2 / sqrt(pi) - 1, so a itself is the leading term and tiny a lose
// nothing.
template <class V>
QUERN_SIMD_FN V erf_near_zero(V a) {
  const V z = a * a;
  if constexpr (kIsF32<V>) {
    return a + a * horner(z, 0x1.06eba8p-3f, -0x1.812742p-2f, 0x1.ce2dfp-4f, -0x1.b80d6ap-6f,
                          0x1.54c228p-8f, -0x1.aa2a74p-11f, 0x1.5cd768p-14f);
  } else {
    return a + a * horner(z, 0x1.06eba8214db69p-3, -0x1.812746b0379fdp-2, 0x1.ce2f21a04362dp-4,
                          -0x1.b82ce312abf08p-6, 0x1.565bcd12991cp-8, -0x1.c02db49b09506p-11,
                          0x1.f9a335388d2f5p-14, -0x1.f4d333884b5cap-17, 0x1.b9ee95850f6f4p-20,
                          -0x1.5f9828c55da1dp-23, 0x1.fc78cbccf5c9p-27, -0x1.46794feb151abp-30,
                          0x1.297830425e2e7p-34);
  }
}

// |x| below 1/2: 1 - erf(x). Above: erfc(|x|), or 2 less it.
// Below 1/2 erfc is above 0.47 and the subtraction loses at most a bit.
template <class V>
QUERN_SIMD_FN V strict_erfc(V x) {
  const V a = abs(x);
  const V near = splat<V>(1) - flip_sign(erf_near_zero(a), sign_of(x));
  const V y = erfc_positive(a);
  return select(a < static_cast<ElemOf<V>>(0.5), near, select(x < 0, splat<V>(2) - y, y));
}

// f32: from 0.92 on 1 - exp(Q(|x|)), Q the logarithm of erfc; 1 from 4 on.
// f64: from 1 on 1 - erfc(|x|).
// 1 - erfc loses little, since erfc is below 0.16 (f32: 0.2) there. The sign of x is put back last,
// so that erf is odd bit for bit and erf(-0) = -0.
template <class V>
QUERN_SIMD_FN V strict_erf(V x) {
  const V a = abs(x);
  const V small = erf_near_zero(a);
  if constexpr (kIsF32<V>) {
    const V b = at_most(a, 4.0f);
    const V exponent =
        horner(b, 0x1.34cb9ap-12f, -0x1.21505ap0f, -0x1.4394b8p-1f, -0x1.c24222p-4f, 0x1.af7dep-6f,
               -0x1.36046ep-8f, 0x1.35ba0cp-11f, -0x1.7c8044p-15f, 0x1.ae39b6p-20f);
    const auto e = exp_scaled(exponent);
    const V large = splat<V>(1) - scale_normal(e);
    return flip_sign(select(a < 0.92f, small, large), sign_of(x));
  } else {
    const V large = splat<V>(1) - erfc_positive(a);
    return flip_sign(select(a < 1, small, large), sign_of(x));
  }
}

// Steps: t = x * f(1/sqrt 2); e = erf(t); h = x * 0.5; y = h * (1 + e). -inf gives NaN.
template <class V>
QUERN_SIMD_FN V strict_gelu(V x) {
  const V e = strict_erf(x * static_cast<ElemOf<V>>(0.70710678118654752440));
  return (x * static_cast<ElemOf<V>>(0.5)) * (e + 1);
}

// Steps: c = (x * x) * x; u = x + c * 0.044715; t = tanh(u * 0.7978845608028654); h = x * 0.5;
// y = h * (1 + t). -inf gives NaN.
template <class V>
QUERN_SIMD_FN V strict_gelu_tanh(V x) {
  const V cubed = (x * x) * x;
  const V inner = x + cubed * static_cast<ElemOf<V>>(0.044715);
  const V t = strict_tanh(inner * static_cast<ElemOf<V>>(0.7978845608028654));
  return (x * static_cast<ElemOf<V>>(0.5)) * (t + 1);
}

}  // namespace quern::simd
