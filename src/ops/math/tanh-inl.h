// tanh, sigmoid, silu and softplus on the shared exp.
#pragma once

#include "ops/math/double_word-inl.h"
#include "ops/math/exp-inl.h"
#include "ops/math/log-inl.h"

namespace quern::simd {

// (tanh(x) / x - 1) / x^2 as a function of z = x^2, for |x| < 0.56.
template <class V>
QUERN_SIMD_FN V tanh_tail(V z) {
  if constexpr (kIsF32<V>) {
    return horner(z, -0x1.555548p-2f, 0x1.110c7p-3f, -0x1.b90a76p-5f, 0x1.584238p-6f,
                  -0x1.958c74p-8f);
  } else {
    return horner(z, -0x1.555555555554bp-2, 0x1.1111111110229p-3, -0x1.ba1ba1b92cf62p-5,
                  0x1.664f484733bebp-6, -0x1.226e2cb94785ap-7, 0x1.d6d23bb42ff34p-9,
                  -0x1.7d8afa1859b4dp-10, 0x1.345b9c942c0a1p-11, -0x1.e7d6cb67aff4dp-13,
                  0x1.58dde7cebdd4p-14, -0x1.3bba913633219p-16);
  }
}

// |x| below 0.56: x + x^3 P(x^2). Above: 1 - 2 / (exp(2|x|) + 1), 1 from 10 (f64: 20) on.
template <class V>
QUERN_SIMD_FN V strict_tanh(V x) {
  const V a = abs(x);
  // At most exp(20) (f64: exp(40)), a normal number, so one exact scaling is enough. Larger |x|
  // give 1.
  const auto e = exp_scaled(at_most(a, kIsF32<V> ? 10 : 20) * 2);
  const V grown = scale_normal(e);
  const V large = splat<V>(1) - splat<V>(2) / (grown + 1);
  const V z = a * a;
  const V small = a + (a * z) * tanh_tail(z);
  return flip_sign(select(a < static_cast<ElemOf<V>>(0.56), small, large), sign_of(x));
}

// 1 + exp(a) = 2^-n (d.high + d.low) for 0 <= a < 110 (f64: 760), n <= 0; d.high in [0.7, 2.42].
template <class V>
struct OnePlusExp {
  DoubleWord<V> d;
  IntOf<V> n;
  V value;  // n as a float
};
template <class V>
QUERN_SIMD_FN OnePlusExp<V> one_plus_exp(V a) {
  const auto e = exp_reduce_negated(a);
  const V w = e.r + (e.r * e.r) * exp_tail(e.r);
  const auto p = fast_two_sum(splat<V>(1), w);
  // 2^n, or something as good as 0 next to p.
  V unit;
  if constexpr (kHasTimesPower<V>) {
    unit = times_power(splat<V>(1), e.value);
  } else {
    unit = power_of_two<V>(select(e.n < 1 - kBias<V>, IntOf<V>{} + (1 - kBias<V>), e.n));
  }
  const auto sum = fast_two_sum(p.high, unit);
  return {{sum.high, sum.low + (p.low + e.low)}, e.n, e.value};
}

// The same at S times the size, for types with fused steps: a sum at that size is one fused step of
// a term, and S 2^n is a normal number (n > -160, f64: -1098) that the rounding of n makes by one
// shift. Every value is S times that of one_plus_exp, to the last bit.
template <class V>
struct ScaledOnePlusExp {
  DoubleWord<V> d;  // S D
  V unit;           // S 2^n
};
// log2 S. Odd, so that it and the bias make an even number, which leaves ties of the rounding
// alone.
template <class V>
inline constexpr int kUpscaleBits = kIsF32<V> ? 33 : 75;
template <class V>
inline constexpr ElemOf<V> kUpscale = kIsF32<V> ? 0x1p33 : 0x1p75;
template <class V>
inline constexpr bool kHasFusedSteps = requires(V v) {
  exact_product_add(v, v, v);
};
template <class V>
QUERN_SIMD_FN ScaledOnePlusExp<V> scaled_one_plus_exp(V a) {
  // The last bits of z + magic are the exponent field of S 2^n.
  constexpr ElemOf<V> kMagic = kRoundMagic<V> + (kBias<V> + kUpscaleBits<V>);
  const V shifted = a * -kLog2e<V> + kMagic;
  const V n = shifted - kMagic;
  const V unit = from_bits<V>(bits_of(shifted) << kMantissaBits<V>);
  const V high = add_exact_product(n, kLn2High<V>, a);
  const V low = n * kLn2Low<V>;
  const V r = high + low;
  const V r_low = (high - r) + low;
  const V w = r + (r * r) * exp_tail(r);
  const V s = splat<V>(kUpscale<V>);
  const V p = exact_product_add(w, s, s);
  const V p_low = exact_product_add(w, s, s - p);
  const auto sum = fast_two_sum(p, unit);
  return {{sum.high, sum.low + exact_product_add(r_low, s, p_low)}, unit};
}

// With 1 + exp(|x|) = 2^-n D: s = 2^n / D; x < 0: s, else 1 - s. Denormal results are kept.
template <class V>
QUERN_SIMD_FN V strict_sigmoid(V x) {
  // Past the limit of exp s is +0.
  const V a = at_most(abs(x), -kExpLowest<V>);
  V s;
  if constexpr (kHasFusedSteps<V>) {
    const auto e = scaled_one_plus_exp(a);
    const V q = splat<V>(1) / e.d.high;
    s = (q - (q * q) * e.d.low) * e.unit;
  } else {
    const auto e = one_plus_exp(a);
    const V q = splat<V>(1) / e.d.high;
    // 1 / (h + l) = q - q^2 l to first order, q = 1 / h.
    s = scale(q - (q * q) * e.d.low, e.n, e.value);
  }
  return select(x < 0, s, splat<V>(1) - s);
}

// 1 / x within 13 %, x normal: for corrections.
// Negating the bit pattern negates the exponent and mirrors the mantissa, roughly.
template <class V>
QUERN_SIMD_FN V rough_reciprocal(V x) {
  constexpr UintElem<V> kTwiceOne =
      kIsF32<V> ? UintElem<V>{0x7ef311c7} : static_cast<UintElem<V>>(0x7fde623822fc16e6);
  return from_bits<V>(kTwiceOne - bits_of(x));
}

// With 1 + exp(|x|) = 2^-n D: m = 2^n |x| / D; x < 0: -m, else x - m. -inf gives -0, the limit.
template <class V>
QUERN_SIMD_FN V strict_silu(V x) {
  // From here on x exp(x) rounds to zero, so the limit changes no result and keeps inf * 0 away.
  const V a = at_most(abs(x), kIsF32<V> ? 110 : 760);
  V m;
  if constexpr (kHasFusedSteps<V>) {
    const auto e = scaled_one_plus_exp(a);
    // a grows too, so that a small quotient keeps its bits. S 2^n times it is exact: n is 0 where
    // it may be denormal, and it is large where n is low. So the last product alone rounds.
    const V q = (a * kUpscale<V>) / e.d.high;
    m = (q - q * (e.d.low * rough_reciprocal(e.d.high))) * e.unit * (1 / kUpscale<V>);
  } else {
    const auto e = one_plus_exp(a);
    const V q = a / e.d.high;
    m = scale(q - q * (e.d.low * rough_reciprocal(e.d.high)), e.n, e.value);
  }
  return select(x < 0, -m, x - m);
}

// log(1 + exp(-|x|)) + max(x, 0), the exponential with its rounding error.
template <class V>
QUERN_SIMD_FN V strict_softplus(V x) {
  const auto e = exp_reduce(at_least(-abs(x), kExpLowest<V>));
  const auto p = fast_two_sum(splat<V>(1), e.r + (e.r * e.r) * exp_tail(e.r));
  const V l = log1p_of(scale(p.high, e.n), scale(p.low + e.low, e.n));
  // max(x, 0) is +0 for NaN; l carries the NaN.
  return l + select(x > 0, x, V{});
}

}  // namespace quern::simd
