// cbrt: a quadratic guess, Halley's iteration, then one Newton step with an exact residual.
#pragma once

#include "ops/math/double_word-inl.h"
#include "ops/math/exp-inl.h"

namespace quern::simd {

// The real cube root, with the sign of x: m = |x| / 2^(3q) is exact, the iteration works on m, and
// 2^q scales the root back exactly unless it was denormal. Error 0.50 ulp in f32 and f64. Zeros,
// infinities and NaN give x + x, which has their value and sign.
template <class V>
QUERN_SIMD_FN V strict_cbrt(V x) {
  using E = ElemOf<V>;
  constexpr int kShift = kMantissaBits<V>;
  constexpr E kSmallestNormal = kIsF32<V> ? 0x1p-126 : 0x1p-1022;
  // Both powers are multiples of 3 and lift the smallest denormal into the normal range.
  constexpr E kUp = kIsF32<V> ? 0x1p+24 : 0x1p+54;
  // |x| = 2^(3q) m, 1 <= m < 8.
  const V a = abs(x);
  const auto tiny = a < kSmallestNormal;
  const UintOf<V> u = bits_of(select(tiny, a * kUp, a));
  const V e = to_float<V>(as_signed<V>(u >> kShift) - kBias<V>);
  // e = 3q + 0, 1 or 2: (e - 1) / 3 lies within 1/3 of q and rounds to it.
  const auto q = round_to_int((e - 1) * static_cast<E>(1.0 / 3));
  // The exponent field less 3q leaves m = 1 to 8 with the mantissa of x.
  const UintOf<V> rest = __builtin_bit_cast(UintOf<V>, signed_bits_of(V{}) + q.n * 3);
  const V m = from_bits<V>(u - (rest << kShift));
  // 1.6 % off, then 3e-6, then (f64) 1e-17.
  V y = horner(m, 0x1.8666cp-1f, 0x1.12826p-2f, -0x1.e0ba6p-7f);
  constexpr int kIterations = kIsF32<V> ? 1 : 2;
  // Halley: y (y^3 + 2m) / (2y^3 + m), which triples the correct digits.
  for (int i = 0; i < kIterations; ++i) {
    const V cube = (y * y) * y;
    y = y * ((cube + (m + m)) / ((cube + cube) + m));
  }
  // Newton: y - (y^3 - m) / (3 y^2). The cube is a double word, because y^3 - m cancels all digits
  // that one word has.
  const auto square = two_product(y, y);
  auto cube = two_product(square.high, y);
  const V residual = (cube.high - m) + (cube.low + square.low * y);
  y = y - residual / (square.high * 3);
  // Denormals were scaled by 2^24 or 2^54, whose roots are 2^8 and 2^18.
  const IntOf<V> n = select(tiny, q.n - (kIsF32<V> ? 8 : 18), q.n);
  const V inf = from_bits<V>(UintOf<V>{} + kInfBits<V>);
  const V root = flip_sign(y * power_of_two<V>(n), sign_of(x));
  return select((a == 0) | (a == inf) | (x != x), x + x, root);
}

}  // namespace quern::simd
