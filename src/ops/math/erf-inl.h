// erf, and the two forms of gelu.
#pragma once

#include "ops/math/exp-inl.h"
#include "ops/math/tanh-inl.h"

namespace quern::simd {

// |x| below 0.92: x + x P(x^2). Above: 1 - exp(Q(|x|)), Q the logarithm of erfc; 1 from 4 on.
template <class V>
requires kIsF32<V> QUERN_SIMD_FN V strict_erf(V x) {
  const V a = abs(x);
  const V z = a * a;
  const V small = a + a * horner(z, 0x1.06eba8p-3f, -0x1.812742p-2f, 0x1.ce2dfp-4f, -0x1.b80d6ap-6f,
                                 0x1.54c228p-8f, -0x1.aa2a74p-11f, 0x1.5cd768p-14f);
  const V b = at_most(a, 4.0f);
  const V exponent =
      horner(b, 0x1.34cb9ap-12f, -0x1.21505ap0f, -0x1.4394b8p-1f, -0x1.c24222p-4f, 0x1.af7dep-6f,
             -0x1.36046ep-8f, 0x1.35ba0cp-11f, -0x1.7c8044p-15f, 0x1.ae39b6p-20f);
  const auto e = exp_scaled(exponent);
  const V large = splat<V>(1) - e.p * power_of_two<V>(e.n);
  return flip_sign(select(a < 0.92f, small, large), sign_of(x));
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
