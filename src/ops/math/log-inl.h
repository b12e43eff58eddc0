// log, log1p and the reduction x = 2^e * m, m in [sqrt(1/2), sqrt(2)), that all logarithms share.
#pragma once

#include "ops/math/double_word-inl.h"

namespace quern::simd {

// m - 1 and e. Meaningful for positive finite x; denormals are scaled up first.
template <class V>
struct LogReduced {
  V f;
  V e;
};
template <class V>
QUERN_SIMD_FN LogReduced<V> log_reduce(V x) {
  using Bits = UintElem<V>;
  constexpr int kShift = kMantissaBits<V>;
  constexpr ElemOf<V> kSmallestNormal = kIsF32<V> ? 0x1p-126f : 0x1p-1022;
  constexpr ElemOf<V> kUp = kIsF32<V> ? 0x1p+24f : 0x1p+54;
  // Bits of sqrt(1/2): subtracting them makes the exponent field change at sqrt(2) * 2^k.
  constexpr Bits kSqrtHalf = kIsF32<V> ? Bits{0x3f3504f3} : static_cast<Bits>(0x3fe6a09e667f3bcd);
  const auto tiny = x < kSmallestNormal;
  // Counted from the bits of sqrt(1/2), the exponent field of u is e (signed) and its mantissa
  // field what m has above sqrt(1/2).
  const UintOf<V> u = bits_of(select(tiny, x * kUp, x)) - kSqrtHalf;
  const V m = from_bits<V>((u & ((Bits{1} << kShift) - 1)) + kSqrtHalf);
  const V e = to_float<V>(as_signed<V>(u) >> kShift);
  return {m - 1, select(tiny, e - (kIsF32<V> ? 24 : 54), e)};
}

// log(1+s / 1-s) / s - 2 as a function of z = s^2.
template <class V>
QUERN_SIMD_FN V log_tail(V z) {
  if constexpr (kIsF32<V>) {
    return z * horner(z, 0x1.555554p-1f, 0x1.999bd2p-2f, 0x1.23f24ep-2f, 0x1.ec01bap-3f);
  } else {
    return z * horner(z, 0x1.5555555555592p-1, 0x1.999999997ff27p-2, 0x1.24924941e0494p-2,
                      0x1.c71c521541372p-3, 0x1.74663cba8d5e9p-3, 0x1.39a1edefe0a0ep-3,
                      0x1.2f0386b11cd69p-3);
  }
}

// e ln 2 + log(1 + f) + c, with s = f / (2 + f): log(1+f) = f - (f^2/2 - s (f^2/2 + R)).
template <class V>
QUERN_SIMD_FN V log_of_reduced(V f, V e, V c) {
  // e has at most 11 bits and kLn2High ends in zeros, so that e * kLn2High is exact. The small
  // terms join first.
  constexpr ElemOf<V> kLn2High = kIsF32<V> ? 0x1.62e4p-1 : 0x1.62e42fefa38p-1;
  constexpr ElemOf<V> kLn2Low = kIsF32<V> ? 0x1.7f7d1cp-20 : 0x1.ef35793c7673p-45;
  const V s = f / (f + 2);
  const V half_square = (f * f) * static_cast<ElemOf<V>>(0.5);
  const V r = log_tail(s * s);
  return e * kLn2High - ((half_square - (s * (half_square + r) + (e * kLn2Low + c))) - f);
}

// The cases outside (0, inf): NaN below 0, -inf at 0, +inf at +inf, NaN at NaN.
template <class V>
QUERN_SIMD_FN V log_special(V x, V y) {
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  y = select(x < inf, y, x + x);
  y = select(x > 0, y, select(x == 0, -inf, y));
  return select(x < 0, inf - inf, y);
}

// log(x), natural. 0.84 ulp over all f32 inputs.
template <class V>
QUERN_SIMD_FN V strict_log(V x) {
  const auto reduced = log_reduce(x);
  return log_special(x, log_of_reduced(reduced.f, reduced.e, V{}));
}

// log(1 + x + low), low far below x or 0.
template <class V>
QUERN_SIMD_FN V log1p_of(V x, V low) {
  const auto u = two_sum(splat<V>(1), x);
  const auto reduced = log_reduce(u.high);
  // What 1 + x loses to rounding changes the logarithm by (lost part) / u.
  const V correction = (u.low + low) / u.high;
  // Without scaling, x itself is the better f.
  const auto near = reduced.e == 0;
  const V y =
      log_of_reduced(select(near, x, reduced.f), reduced.e, select(near, low / u.high, correction));
  // x == 0 keeps its sign; the special cases are those of 1 + x, so -1 gives -infinity.
  return select(x == 0, x, log_special(u.high, y));
}

// log(1 + x), with full precision where x is small.
template <class V>
QUERN_SIMD_FN V strict_log1p(V x) {
  return log1p_of(x, V{});
}

}  // namespace quern::simd
