// sin, cos and tan over the whole range: reduction by pi/2 to a double word, then one polynomial
// each.
#pragma once

#include "ops/math/double_word-inl.h"
#include "ops/math/exp-inl.h"
#include "ops/math/payne_hanek-inl.h"

namespace quern::simd {

// |x| = k pi/2 + (high + low), |high| <= pi/4 and a little; quadrant holds k in its low two bits.
template <class V>
struct TrigReduced {
  V high;
  V low;
  UintOf<V> quadrant;
};

// Up to here k has at most 9 bits (f64: 20), so that k times a part of pi/2 is exact.
template <class V>
inline constexpr ElemOf<V> kTrigNear = kIsF32<V> ? 800 : 1600000;

// pi/2 = a + b + c + d. k a, k b, k c are exact, and so are the sums but for what `low` keeps.
template <class V>
QUERN_SIMD_FN TrigReduced<V> trig_reduce_near(V x) {
  using E = ElemOf<V>;
  constexpr E kTwoOverPi = kIsF32<V> ? 0x1.45f306p-1 : 0x1.45f306dc9c883p-1;
  constexpr E kA = kIsF32<V> ? 0x1.921cp+0 : 0x1.921fb544p+0;
  constexpr E kB = kIsF32<V> ? 0x1.daap-15 : 0x1.0b4611a6p-34;
  constexpr E kC = kIsF32<V> ? 0x1.10b4p-30 : 0x1.3198a2ep-69;
  constexpr E kD = kIsF32<V> ? 0x1.84698ap-48 : 0x1.b839a252049c1p-104;
  // Next to an odd multiple of pi/4, k may be one off: then |high| is a little above pi/4.
  const auto k = round_to_int(x * kTwoOverPi);
  const auto b = fast_two_sum(x - k.value * kA, -(k.value * kB));
  const auto c = fast_two_sum(b.high, -(k.value * kC));
  const auto r = fast_two_sum(c.high, (b.low + c.low) - k.value * kD);
  return {r.high, r.low, __builtin_bit_cast(UintOf<V>, k.n)};
}

// x >= 0. All lanes take the cheap reduction, clipped to its range; the far one runs only if some
// lane needs it. Infinite lanes give anything: their users select NaN.
template <class V>
QUERN_SIMD_FN TrigReduced<V> trig_reduce(V x) {
  auto r = trig_reduce_near(at_most(x, kTrigNear<V>));
  const auto far = x > kTrigNear<V>;
  if (any(far)) {
    const auto f = payne_hanek(x);
    r.high = select(far, f.high, r.high);
    r.low = select(far, f.low, r.low);
    r.quadrant = select(far, f.quadrant, r.quadrant);
  }
  return r;
}

// sin(r + low) and cos(r + low) as double words (the low parts are for tan).
template <class V>
QUERN_SIMD_FN DoubleWord<V> sin_word(V r, V low) {
  const V z = r * r;
  V tail;
  if constexpr (kIsF32<V>) {
    tail = horner(z, -0x1.555556p-3f, 0x1.111164p-7f, -0x1.a0485ep-13f, 0x1.77de1p-19f);
  } else {
    tail = horner(z, -0x1.5555555555548p-3, 0x1.111111110f75dp-7, -0x1.a01a019bf222ep-13,
                  0x1.71de355f05599p-19, -0x1.ae5e5471f5503p-26, 0x1.5d8e3511cdcf2p-33);
  }
  return fast_two_sum(r, r * z * tail + low);
}
template <class V>
QUERN_SIMD_FN DoubleWord<V> cos_word(V r, V low) {
  const V z = r * r;
  const V half = z * static_cast<ElemOf<V>>(0.5);
  const V one = splat<V>(1);
  const V w = one - half;
  V tail;
  if constexpr (kIsF32<V>) {
    tail = horner(z, 0x1.55554ap-5f, -0x1.6c0c2ap-10f, 0x1.99e8fcp-16f);
  } else {
    tail = horner(z, 0x1.555555555554bp-5, -0x1.6c16c16c15016p-10, 0x1.a01a019c8f3eep-16,
                  -0x1.27e4f7f19d4b2p-22, 0x1.1ee9dbd0d86a6p-29, -0x1.8fa681e38524p-37);
  }
  return fast_two_sum(w, ((one - w) - half) + (z * z * tail - r * low));
}

// sin(|x| + turn * pi/2) with its sign changed by `sign`; NaN for infinities.
template <class V>
QUERN_SIMD_FN V sine_from(V x, UintElem<V> turn, UintOf<V> sign) {
  const V a = abs(x);
  const auto r = trig_reduce(a);
  // cos(x) = sin(x + pi/2): a turn of one quadrant.
  const UintOf<V> quadrant = r.quadrant + turn;
  const V s = sin_word(r.high, r.low).high;
  const V c = cos_word(r.high, r.low).high;
  const V y = select((quadrant & 1) != 0, c, s);
  // Quadrants 2 and 3 negate: their bit 1 moves to the sign bit.
  const UintOf<V> half_turn = (quadrant & 2) << (kIsF32<V> ? 30 : 62);
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  return select(a < inf, flip_sign(y, half_turn ^ sign), x - x);
}

// sin(x), odd: sin(-0) is -0.
template <class V>
QUERN_SIMD_FN V strict_sin(V x) {
  return sine_from(x, 0, sign_of(x));
}
// cos(x), even.
template <class V>
QUERN_SIMD_FN V strict_cos(V x) {
  return sine_from(x, 1, UintOf<V>{});
}

// sin / cos, or -cos / sin in odd quadrants, divided as double words.
template <class V>
QUERN_SIMD_FN V strict_tan(V x) {
  const V a = abs(x);
  const auto r = trig_reduce(a);
  const auto s = sin_word(r.high, r.low);
  const auto c = cos_word(r.high, r.low);
  const auto odd = (r.quadrant & 1) != 0;
  const DoubleWord<V> top = {select(odd, c.high, s.high), select(odd, c.low, s.low)};
  const DoubleWord<V> bottom = {select(odd, s.high, c.high), select(odd, s.low, c.low)};
  // Odd quadrants are -cos / sin: bit 0 moves to the sign bit.
  const V y = flip_sign(divide_words(top, bottom).high, r.quadrant << (kIsF32<V> ? 31 : 63));
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  // Here x^3 / 3 is below half an ulp of x; x itself keeps denormals.
  const V near = select(a < (kIsF32<V> ? 0x1p-13f : 0x1p-28), a, y);
  return select(a < inf, flip_sign(near, sign_of(x)), x - x);
}

}  // namespace quern::simd
