// exp and exp2, with the two-step scaling that their relatives (tanh, sigmoid, erf, pow) reuse.
#pragma once

#include "ops/math/simd.h"

namespace quern::simd {

// n + fraction, n the nearest integer; |z| < 2^22.
template <class V>
struct Rounded {
  V value;  // n as a float
  IntOf<V> n;
};
// The integer stands in the low bits of z + magic, so the difference of two bit patterns is n,
// below zero too.
template <class V>
QUERN_SIMD_FN Rounded<V> round_to_int(V z) {
  const V shifted = z + kRoundMagic<V>;
  const UintOf<V> n = bits_of(shifted) - bits_of(splat<V>(kRoundMagic<V>));
  return {shifted - kRoundMagic<V>, as_signed<V>(n)};
}

// The same in one step where the integer is not used, but n may be -0: for users to whom both zeros
// are one.
template <class V>
QUERN_SIMD_FN Rounded<V> round_to_either_zero(V z) {
  const auto rounded = round_to_int(z);
  if constexpr (requires(V v) { nearest_whole(v); }) {
    return {nearest_whole(z), rounded.n};
  } else {
    return rounded;
  }
}

// The value p * 2^n, p near 1: scaled in two exact steps so that only the last one can round.
template <class V>
struct Scaled {
  V p;
  IntOf<V> n;
  V value;  // n as a float
};
// 2^floor(n / 2) and 2^ceil(n / 2). With both biases added before the halving, one addition (which
// joins that of round_to_int) serves the two exponent fields.
template <class V>
struct ScaleFactors {
  V low;
  V high;
};
template <class V>
QUERN_SIMD_FN ScaleFactors<V> scale_factors(IntOf<V> n) {
  // sum = n + 2 bias = low + high, the two biased exponent fields.
  const UintOf<V> sum = __builtin_bit_cast(UintOf<V>, n) + UintElem<V>{2 * kBias<V>};
  const UintOf<V> low = sum >> 1;
  return {from_bits<V>(low << kMantissaBits<V>), from_bits<V>((sum - low) << kMantissaBits<V>)};
}
// p * 2^n with one rounding, into the denormals and up to infinity: halving n keeps the first
// product a normal number, hence exact.
template <class V>
QUERN_SIMD_FN V scale(V p, IntOf<V> n) {
  const auto factors = scale_factors<V>(n);
  return (p * factors.low) * factors.high;
}
// The same where n is known as a float too.
template <class V>
QUERN_SIMD_FN V scale(V p, IntOf<V> n, V value) {
  if constexpr (kHasTimesPower<V>) {
    return times_power(p, value);  // the same single rounding
  } else {
    return scale(p, n);
  }
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <class V>
QUERN_SIMD_FN V exp_tail(V r) {
  if constexpr (kIsF32<V>) {
    return horner(r, 0x1.fffffap-2f, 0x1.555492p-3f, 0x1.555a26p-5f, 0x1.123984p-7f,
                  0x1.694ccp-10f);
  } else {
    return horner(r, 0x1p-1, 0x1.5555555555557p-3, 0x1.5555555555557p-5, 0x1.111111111004dp-7,
                  0x1.6c16c16c156a2p-10, 0x1.a01a01ac20fc4p-13, 0x1.a01a01ab9a61p-16,
                  0x1.71de01a1ad725p-19, 0x1.27e4cfa93cbffp-22, 0x1.af4ee430652acp-26,
                  0x1.1f86fc33b678cp-29);
  }
}

template <class V>
inline constexpr ElemOf<V> kLog2e = kIsF32<V> ? 0x1.715476p+0 : 0x1.71547652b82fep+0;
// ln 2 in two parts, the first short enough for an exact product with n.
template <class V>
inline constexpr ElemOf<V> kLn2High = kIsF32<V> ? 0x1.62e4p-1 : 0x1.62e42fefa38p-1;
template <class V>
inline constexpr ElemOf<V> kLn2Low = kIsF32<V> ? 0x1.7f7d1cp-20 : 0x1.ef35793c7673p-45;

// x + n * part, the product exact.
template <class V>
QUERN_SIMD_FN V add_exact_product(V n, ElemOf<V> part, V x) {
  // The product has no rounding of its own, so the fused step and the two separate ones agree.
  if constexpr (requires(V v) { exact_product_add(v, v, v); }) {
    return exact_product_add(n, splat<V>(part), x);
  } else {
    return x + n * part;
  }
}

// x = n ln 2 + (r + low).
template <class V>
struct ExpReduced {
  V r;
  V low;
  IntOf<V> n;
  V value;  // n as a float
};
// Cody and Waite: k * kLn2High is exact and lies near x, so `high` is exact too. Only r rounds, and
// low keeps what it lost.
template <class V>
QUERN_SIMD_FN ExpReduced<V> exp_reduce(V x) {
  const auto k = round_to_either_zero(x * kLog2e<V>);
  const V high = add_exact_product(k.value, -kLn2High<V>, x);
  const V low = k.value * kLn2Low<V>;
  const V r = high - low;
  return {r, (high - r) - low, k.n, k.value};
}
// The same with n negated, x = -n ln 2 + (r + low), for users of 2^-n: the same r and low, since
// every step is symmetric.
template <class V>
QUERN_SIMD_FN ExpReduced<V> exp_reduce_negated(V x) {
  const auto k = round_to_either_zero(x * -kLog2e<V>);
  const V high = add_exact_product(k.value, kLn2High<V>, x);
  const V low = k.value * kLn2Low<V>;
  const V r = high + low;
  return {r, (high - r) + low, k.n, k.value};
}

// exp of x in the clamped range, unscaled: p in [0.7, 1.42].
template <class V>
QUERN_SIMD_FN Scaled<V> exp_scaled(V x) {
  const auto reduced = exp_reduce(x);
  const V r = reduced.r;
  return {(r + (r * r) * exp_tail(r)) + 1, reduced.n, reduced.value};
}

// p * 2^n where the result is a normal number: one exact step.
template <class V>
QUERN_SIMD_FN V scale_normal(const Scaled<V>& e) {
  if constexpr (kHasTimesPower<V>) {
    return times_power(e.p, e.value);
  } else {
    return e.p * power_of_two<V>(e.n);
  }
}

// Where exp is +0 and +inf for certain.
template <class V>
inline constexpr ElemOf<V> kExpLowest = kIsF32<V> ? -104 : -746;
template <class V>
inline constexpr ElemOf<V> kExpHighest = kIsF32<V> ? 89 : 710;

// exp(x). The limits make +0 of -infinity and of all that is too small, +infinity of all that is
// too large; NaN passes both. 0.99 ulp over all f32 inputs.
template <class V>
QUERN_SIMD_FN V strict_exp(V x) {
  const auto e = exp_scaled(at_least(at_most(x, kExpHighest<V>), kExpLowest<V>));
  return scale(e.p, e.n, e.value);
}

// 2^(r + low) - 1 for |r| <= 1/2, low below an ulp of r.
template <class V>
QUERN_SIMD_FN V exp2_minus_1(V r, V low) {
  if constexpr (kIsF32<V>) {
    return r * horner(r, 0x1.62e43p-1f, 0x1.ebfbd8p-3f, 0x1.c6af76p-5f, 0x1.3b30ap-7f,
                      0x1.5f0b82p-10f, 0x1.3fa206p-13f) +
           low * 0x1.62e43p-1f;
  } else {
    return r * horner(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c5a6p-3, 0x1.c6b08d704a12cp-5,
                      0x1.3b2ab6fb9fda5p-7, 0x1.5d87fe789e971p-10, 0x1.4309130f6d122p-13,
                      0x1.ffcbfc66852eep-17, 0x1.62bfc658596c2p-20, 0x1.b52522bd3ee3ap-24,
                      0x1.e61d45626fc27p-28, 0x1.e973173572cd1p-32) +
           low * 0x1.62e42fefa39efp-1;
  }
}

// 2^x, exact for whole x. x - k is exact, so r has no low part. Past the limits +0 and +infinity.
template <class V>
QUERN_SIMD_FN V strict_exp2(V x) {
  const V limited = at_least(at_most(x, kIsF32<V> ? 129 : 1025), kIsF32<V> ? -151 : -1076);
  const auto k = round_to_int(limited);
  return scale(exp2_minus_1(limited - k.value, V{}) + 1, k.n, k.value);
}

// (expm1(r) - r) / r^2 for |r| <= ln(2) / 2, good to the relative error of expm1 itself.
template <class V>
QUERN_SIMD_FN V expm1_tail(V r) {
  if constexpr (kIsF32<V>) {
    return horner(r, 0x1p-1f, 0x1.555554p-3f, 0x1.5554fp-5f, 0x1.111306p-7f, 0x1.6d436ep-10f,
                  0x1.9e0c14p-13f);
  } else {
    return exp_tail(r);
  }
}

// x = n ln 2 + r, p = expm1(r): 2^n p + (2^n - 1), at half scale so that 2^n stays finite.
// -1 from -20 (f64: -40) down: the limit only keeps n in the range of power_of_two.
template <class V>
QUERN_SIMD_FN V strict_expm1(V x) {
  const auto e = exp_reduce(at_least(at_most(x, kExpHighest<V>), kIsF32<V> ? -20 : -40));
  const V p = e.r + ((e.r * e.r) * expm1_tail(e.r) + e.low);
  const V half_unit = power_of_two<V>(e.n - 1);
  const V y = (half_unit * p + (half_unit - static_cast<ElemOf<V>>(0.5))) * 2;
  // Here x^2 / 2 is below half an ulp of x; x itself also keeps denormals and the sign of zero.
  return select(abs(x) < (kIsF32<V> ? 0x1p-30f : 0x1p-60), x, y);
}

}  // namespace quern::simd
