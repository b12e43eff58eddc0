// asin, acos, atan and atan2.
#pragma once

#include "ops/math/simd.h"

namespace quern::simd {

// pi/2 in two words: the second is what the first rounds away.
template <class V>
inline constexpr ElemOf<V> kHalfPi = kIsF32<V> ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0;
template <class V>
inline constexpr ElemOf<V> kHalfPiLow = kIsF32<V> ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54;

// (asin(s) / s - 1) / s^2 as a function of z = s^2 <= 1/4.
template <class V>
QUERN_SIMD_FN V asin_tail(V z) {
  if constexpr (kIsF32<V>) {
    return horner(z, 0x1.55554cp-3f, 0x1.3338a4p-4f, 0x1.6ca962p-5f, 0x1.04bc44p-5f, 0x1.d6baccp-7f,
                  0x1.3423d2p-5f);
  } else {
    return horner(z, 0x1.5555555555384p-3, 0x1.333333336fe0dp-4, 0x1.6db6db419a15fp-5,
                  0x1.f1c72c803e86p-6, 0x1.6e89edaba6179p-6, 0x1.1c6c437300c9fp-6,
                  0x1.c6f651253f66p-7, 0x1.8ef3288071b8fp-7, 0x1.aa34381567425p-8,
                  0x1.410a6542836eep-6, -0x1.0b81c0e69bae3p-6, 0x1.05ff53de4a846p-5);
  }
}

// The angle asin(s) = s + correction, where s = |x| up to 1/2 and sqrt((1 - |x|) / 2) above:
// there asin|x| = pi/2 - 2 asin(s).
template <class V>
struct AsinParts {
  V s;
  V correction;
};
template <class V>
QUERN_SIMD_FN AsinParts<V> asin_parts(V a) {
  const ElemOf<V> half = static_cast<ElemOf<V>>(0.5);
  const auto far = a > half;
  const V z = select(far, (splat<V>(1) - a) * half, a * a);
  const V s = select(far, sqrt(z), a);
  return {s, (s * z) * asin_tail(z)};
}

// asin(x), odd. |x| above 1 gives NaN from the root of a negative number. Above 1/2 the small terms
// join before they meet pi/2, so that one rounding happens at the size of the result.
template <class V>
QUERN_SIMD_FN V strict_asin(V x) {
  const V a = abs(x);
  const auto p = asin_parts(a);
  const V far =
      splat<V>(kHalfPi<V>) - ((p.s + p.s) + ((p.correction + p.correction) - kHalfPiLow<V>));
  return flip_sign(select(a > static_cast<ElemOf<V>>(0.5), far, p.s + p.correction), sign_of(x));
}

// acos(x) in [0, pi], +0 at 1, NaN where |x| is above 1.
template <class V>
QUERN_SIMD_FN V strict_acos(V x) {
  const V a = abs(x);
  const auto p = asin_parts(a);
  const UintOf<V> sign = sign_of(x);
  // |x| <= 1/2: pi/2 - asin(x). x > 1/2: 2 asin(s). x < -1/2: pi - 2 asin(s).
  const V near = splat<V>(kHalfPi<V>) -
                 (flip_sign(p.s, sign) - (splat<V>(kHalfPiLow<V>) - flip_sign(p.correction, sign)));
  const V right = (p.s + p.correction) * 2;
  const V left = (splat<V>(kHalfPi<V>) - (p.s + (p.correction - kHalfPiLow<V>))) * 2;
  const V far = select(x < 0, left, right);
  return select(a > static_cast<ElemOf<V>>(0.5), far, near);
}

// (atan(t) / t - 1) / t^2 as a function of z = t^2, |t| <= 1/2.
template <class V>
QUERN_SIMD_FN V atan_tail(V z) {
  if constexpr (kIsF32<V>) {
    return horner(z, -0x1.555552p-2f, 0x1.999748p-3f, -0x1.24509ep-3f, 0x1.c07aa4p-4f,
                  -0x1.482e6ap-4f, 0x1.403534p-5f);
  } else {
    return horner(z, -0x1.5555555555518p-2, 0x1.99999999914d4p-3, -0x1.249249216fbafp-3,
                  0x1.c71c70967b8ep-4, -0x1.745cf54cdc752p-4, 0x1.3b11452b12b09p-4,
                  -0x1.10f3663e6e4fcp-4, 0x1.dfed03c3c835ap-5, -0x1.a3a7518c03aa9p-5,
                  0x1.571d8587e968fp-5, -0x1.c1f95bc0a4dc5p-6, 0x1.4c26851bc67ecp-7);
  }
}

// The angle of the point (|x|, y) or, with x_negative, (-|x|, y), for y >= 0; b = |x|.
// With t = min / max up to 1/2, (min - max) / (min + max) above (there min - max is exact):
// k pi/4 +- atan(t).
template <class V, class M>
QUERN_SIMD_FN V angle_of(V y, V b, M x_negative) {
  using E = ElemOf<V>;
  constexpr E kQuarterPi = kIsF32<V> ? 0x1.921fb4p-1 : 0x1.921fb54442d1p-1;  // 3 bits short
  constexpr E kQuarterPiLow = kIsF32<V> ? 0x1.4442d2p-25 : 0x1.08d313198a2ep-50;
  const auto steep = y > b;
  const V low = select(steep, b, y), high = select(steep, y, b);
  const auto middle = low > high * static_cast<E>(0.5);
  const V t = select(middle, low - high, low) / select(middle, low + high, high);
  const V z = t * t;
  const V one = splat<V>(1);
  // The multiple of pi/4 and the direction of t, octant by octant:
  //  low / high up to 1/2   0 + atan(t)
  //  above 1/2              pi/4 + atan(t), t <= 0
  //  steep                  pi/2 - one of these
  //  x negative             pi - all of this
  V k = select(middle, one, V{});
  V direction = select(steep, -one, one);
  k = select(steep, splat<V>(2) - k, k);
  direction = select(x_negative, -direction, direction);
  k = select(x_negative, splat<V>(4) - k, k);
  const V angle = t + (t * z) * atan_tail(z);
  return k * kQuarterPi + (direction * angle + k * kQuarterPiLow);
}

// atan(x) as the angle of the point (1, x). x != x is false in every lane that is a number, which
// makes a mask of the right type; NaN lanes are NaN by their arithmetic.
template <class V>
QUERN_SIMD_FN V strict_atan(V x) {
  return flip_sign(angle_of(abs(x), splat<V>(1), x != x), sign_of(x));
}

// C's atan2, also for zeros and infinities.
template <class V>
QUERN_SIMD_FN V strict_atan2(V y, V x) {
  constexpr ElemOf<V> kHuge = kIsF32<V> ? 0x1p+125 : 0x1p+1021;
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  const V one = splat<V>(1);
  V a = abs(y), b = abs(x);
  // Infinities against finite values, and two zeros, as plain points.
  // An infinite coordinate becomes 1 and a finite one beside it 0; (0, 0) becomes (1, 0), so that
  // the sign of x decides between 0 and pi.
  const auto infinite = (a == inf) | (b == inf);
  const V a1 = select(a == inf, one, V{}), b1 = select(b == inf, one, V{});
  a = select(infinite, a1, a);
  b = select(infinite, b1, select((a == 0) & (b == 0), one, b));
  // Sums must stay finite: past kHuge one could overflow. A quarter of both has the same angle.
  const auto huge = (a > kHuge) | (b > kHuge);
  const V quarter = select(huge, splat<V>(static_cast<ElemOf<V>>(0.25)), one);
  const V r = angle_of(a * quarter, b * quarter, sign_of(x) != 0);
  return select((x != x) | (y != y), x + y, flip_sign(r, sign_of(y)));
}

}  // namespace quern::simd
