// Formulas of the activations, as templates over a lane type: float, double or a vector of them.
// One source for every backend that compiles C++; each comment gives the order of the steps, and
// every step rounds. NaN gives NaN. Constants round to the lane's type.
#pragma once

#include "ops/math/strict_math-inl.h"

namespace quern::simd {

// A literal of a formula, rounded once from f64 to the lane's type. A factor such as 1.702 is thus
// another number in f32 than in f64, as the rule on attributes in numerics asks.
template <class V>
QUERN_SIMD_FN V constant(double value) {
  return splat<V>(static_cast<ElemOf<V>>(value));
}

// Lane by lane strict_max and strict_min: NaN spreads, +0 is above -0.
template <class V>
QUERN_SIMD_FN V max_of(V a, V b) {
  // Where the operands compare equal their bits are the same, or they are the two zeros: the AND of
  // the bits clears the sign of a zero and leaves any other number alone. Where no comparison holds
  // one operand is NaN, and the sum carries it.
  const V equal = from_bits<V>(bits_of(a) & bits_of(b));
  return select(a > b, a, select(b > a, b, select(a == b, equal, a + b)));
}
template <class V>
QUERN_SIMD_FN V min_of(V a, V b) {
  // As above with OR, which sets the sign of a zero.
  const V equal = from_bits<V>(bits_of(a) | bits_of(b));
  return select(a < b, a, select(b < a, b, select(a == b, equal, a + b)));
}
// min(max(x, low), high).
template <class V>
QUERN_SIMD_FN V clamp(V x, V low, V high) {
  return min_of(max_of(x, low), high);
}
// x where it is NaN, else y.
// For formulas made of comparisons, all of which are false for NaN: without this the last branch
// would turn NaN into a number.
template <class V>
QUERN_SIMD_FN V keep_nan(V x, V y) {
  return select(x == x, y, x);
}

// -1, +0 or 1.
template <class V>
QUERN_SIMD_FN V sign(V x) {
  const V one = splat<V>(1);
  return select(x > V{}, one, select(x < V{}, -one, keep_nan(x, V{})));
}

// max(x, 0): +0 for -0.
template <class V>
QUERN_SIMD_FN V relu(V x) {
  return select(x > V{}, x, keep_nan(x, V{}));
}
// x > 0: x; else x * slope.
// NaN takes the second branch and stays NaN. A zero does too: its sign changes for a negative
// slope, and an infinite slope makes it NaN.
template <class V>
QUERN_SIMD_FN V leaky_relu(V x, V slope) {
  return select(x > V{}, x, x * slope);
}

// x * sigmoid(x). -inf gives NaN.
// sigmoid(-inf) is +0 and -inf * 0 is NaN; the limit -0 is not put in its place, so that the value
// is that of the stated steps.
template <class V>
QUERN_SIMD_FN V swish(V x) {
  return x * strict_sigmoid(x);
}
// log1p(exp(-|x|)) + max(x, 0).
// The exponent is never positive, so exp cannot overflow, and log1p keeps the digits of a small
// exponential. For large x the first term vanishes beside x.
template <class V>
QUERN_SIMD_FN V softplus(V x) {
  return strict_log1p(strict_exp(-abs(x))) + relu(x);
}
// -softplus(-x).
template <class V>
QUERN_SIMD_FN V log_sigmoid(V x) {
  return -softplus(-x);
}
// x * tanh(softplus(x)). -inf gives NaN.
// Misra 2019. For -inf: tanh(0) is 0, and -inf * 0 is NaN.
template <class V>
QUERN_SIMD_FN V mish(V x) {
  return x * strict_tanh(softplus(x));
}
// x / (1 + |x|). Infinities give NaN.
template <class V>
QUERN_SIMD_FN V softsign(V x) {
  return x / (constant<V>(1) + abs(x));
}
// x * sigmoid(x * 1.702). -inf gives NaN.
template <class V>
QUERN_SIMD_FN V quick_gelu(V x) {
  return x * strict_sigmoid(x * constant<V>(1.702));
}
// x - tanh(x). Infinities stay.
// Near 0 the difference cancels: tanh(x) is x - x^3 / 3, so that most digits of x go away. The
// absolute error stays that of tanh(x).
template <class V>
QUERN_SIMD_FN V tanh_shrink(V x) {
  return x - strict_tanh(x);
}

// x > 0: x; else expm1(x) * alpha.
// Clevert et al. 2015. Vectors compute both branches; an overflow of expm1 in the lanes that keep x
// is dropped by the select.
template <class V>
QUERN_SIMD_FN V elu(V x, V alpha) {
  return select(x > V{}, x, strict_expm1(x) * alpha);
}
// (x > 0: x; else expm1(x) * 1.6732632423543772) * 1.0507009873554805.
// Klambauer et al. 2017, "Self-Normalizing Neural Networks": the two constants make mean 0 and
// variance 1 a fixed point.
template <class V>
QUERN_SIMD_FN V selu(V x) {
  return elu(x, constant<V>(1.6732632423543772)) * constant<V>(1.0507009873554805);
}
// max(x, 0) + min(expm1(x / alpha) * alpha, 0).
// Barron 2017. Both terms are always computed; one of them is a zero for every number x.
template <class V>
QUERN_SIMD_FN V celu(V x, V alpha) {
  return relu(x) + min_of(strict_expm1(x / alpha) * alpha, V{});
}

// clamp(x / 6 + 0.5, 0, 1).
template <class V>
QUERN_SIMD_FN V hard_sigmoid(V x) {
  return clamp(x / constant<V>(6) + constant<V>(0.5), V{}, constant<V>(1));
}
// (x * clamp(x + 3, 0, 6)) / 6. -inf gives NaN.
// Howard et al. 2019 (MobileNetV3). The product comes before the division by 6.
template <class V>
QUERN_SIMD_FN V hard_swish(V x) {
  return (x * clamp(x + constant<V>(3), V{}, constant<V>(6))) / constant<V>(6);
}
// x > theta: x; else +0.
template <class V>
QUERN_SIMD_FN V threshold(V x, V theta) {
  return select(x > theta, x, keep_nan(x, V{}));
}
// |x| > lambda: x; else +0.
template <class V>
QUERN_SIMD_FN V hard_shrink(V x, V lambda) {
  return select(abs(x) > lambda, x, keep_nan(x, V{}));
}
// max(|x| - lambda, 0) with the sign of x; +0 for both zeros.
// Only the sign of x chooses the branch, so that NaN in x reaches keep_nan; lambda is a checked
// attribute and never NaN.
template <class V>
QUERN_SIMD_FN V soft_shrink(V x, V lambda) {
  const V size = relu(abs(x) - lambda);
  return select(x > V{}, size, select(x < V{}, -size, keep_nan(x, V{})));
}
// s = sin(x * alpha); x + (s * s) / beta. snake has beta = alpha.
// Ziyin et al. 2020, x + sin(alpha x)^2 / alpha.
template <class V>
QUERN_SIMD_FN V snake(V x, V alpha, V beta) {
  const V s = strict_sin(x * alpha);
  return x + (s * s) / beta;
}

// Gated forms: the two halves of a packed row.
// Which half is activated differs: the second one in glu, geglu, geglu_tanh and reglu, the first
// one in swiglu and siglu. `gate` is always the first half.
template <class V>
QUERN_SIMD_FN V glu(V gate, V up) {
  return gate * strict_sigmoid(up);
}
template <class V>
QUERN_SIMD_FN V geglu(V gate, V up) {
  return gate * strict_gelu(up);
}
template <class V>
QUERN_SIMD_FN V geglu_tanh(V gate, V up) {
  return gate * strict_gelu_tanh(up);
}
template <class V>
QUERN_SIMD_FN V swiglu(V gate, V up) {
  return swish(gate) * up;
}
template <class V>
QUERN_SIMD_FN V reglu(V gate, V up) {
  return gate * relu(up);
}
template <class V>
QUERN_SIMD_FN V siglu(V gate, V up) {
  return strict_sigmoid(gate) * up;
}

}  // namespace quern::simd
