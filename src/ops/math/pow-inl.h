// pow: 2^(y log2|x|) with the logarithm as a double word, then the special cases of C's pow.
#pragma once

#include "ops/math/exp-inl.h"
#include "ops/math/log_word-inl.h"

namespace quern::simd {

// 2^(y log2 a) for positive finite a and any y but NaN.
template <class V>
QUERN_SIMD_FN V pow_positive(V a, V y) {
  constexpr ElemOf<V> kFar = kIsF32<V> ? 200 : 1200;  // +inf above, +0 below the negative
  const auto l = log2_word(a);
  // One word tells which results overflow or vanish. Their y becomes 0, so that no infinity enters
  // the double-word steps.
  const V estimate = y * l.high;
  const auto over = estimate > kFar;
  const auto under = estimate < -kFar;
  const V tame = select(over, V{}, select(under, V{}, y));
  // t = y log2(a) in two words; its nearest integer goes to the exponent, the rest to the
  // polynomial.
  const auto product = two_product(tame, l.high);
  const auto t = fast_two_sum(product.high, product.low + tame * l.low);
  const auto k = round_to_int(t.high);
  const auto r = fast_two_sum(t.high - k.value, t.low);
  const V p = exp2_minus_1(r.high, r.low) + 1;
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  return select(over, inf, select(under, V{}, scale(p, k.n)));
}

// All ones (true) where |y| is an integer, and where it is an odd one.
template <class V>
QUERN_SIMD_FN auto is_integer(V a) {
  constexpr ElemOf<V> kUnit = kIsF32<V> ? 0x1p+23 : 0x1p+52;  // from here on every value is one
  // Adding 2^23 (f64: 2^52) rounds to an integer.
  return select(a < kUnit, (a + kUnit) - kUnit, a) == a;
}
template <class V>
QUERN_SIMD_FN auto is_odd_integer(V a) {
  constexpr ElemOf<V> kUnit = kIsF32<V> ? 0x1p+23 : 0x1p+52;
  // Between the unit and twice the unit the last bit of the mantissa counts ones; above, all are
  // even.
  const UintOf<V> low_bit = bits_of(select(a < kUnit, a + kUnit, a)) & 1;
  return (low_bit != 0) & is_integer(a) & (a < kUnit * 2);
}

// C's pow (C11, F.10.4.4): 1 where x = 1 or y = 0, NaN or not; NaN for a negative finite x and a y
// that is no integer; the sign of x where y is odd. 1.34 ulp (f64: 1.12).
template <class V>
QUERN_SIMD_FN V strict_pow(V x, V y) {
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  const V one = splat<V>(1);
  const V ax = abs(x), ay = abs(y);
  V r = pow_positive(ax, y);
  // Also for infinite y, where y * log2(1) was NaN.
  r = select(ax == one, one, r);
  // 0 and inf: whether the power grows past all bounds.
  r = select(ax == 0, select(y < 0, inf, V{}), r);
  r = select(ax == inf, select(y < 0, V{}, inf), r);
  const UintOf<V> odd_mask = select(is_odd_integer(ay), UintOf<V>{} + kSignBit<V>, UintOf<V>{});
  r = flip_sign(r, odd_mask & bits_of(x));
  const V nan = inf - inf;
  r = select((x < 0) & (ax < inf), select(is_integer(ay), r, nan), r);
  r = select((x != x) | (y != y), x + y, r);
  return select((x == one) | (y == 0), one, r);
}

}  // namespace quern::simd
