// Strict math for one value: the same bits on every machine and at every vector width.
// At most 2 ulp in f32 and 4 ulp in f64 (README.md lists what was measured); denormals are kept;
// special values as in C's <math.h> where it has the function. Kernels that work on vectors include
// strict_math-inl.h instead. Thread-safe: pure functions.
#pragma once

namespace quern {

// Goes up whenever a result bit of any function changes.
inline constexpr int kStrictMathVersion = 1;

// exp(x): +0 at -infinity, +infinity from about 88.7 (f64: 709.8) on.
float strict_exp(float x);
double strict_exp(double x);
// 2^x, exact for whole x.
float strict_exp2(float x);
double strict_exp2(double x);
// exp(x) - 1 with full precision near 0; -1 at -infinity.
float strict_expm1(float x);
double strict_expm1(double x);
// Natural logarithm: -infinity at both zeros, NaN below 0.
float strict_log(float x);
double strict_log(double x);
// log(1 + x) with full precision near 0; -infinity at -1, NaN below it.
float strict_log1p(float x);
double strict_log1p(double x);
// Logarithms to base 2, exact for powers of two, and to base 10; special values as strict_log.
float strict_log2(float x);
double strict_log2(double x);
float strict_log10(float x);
double strict_log10(double x);

// Any finite argument, reduced exactly.
// Radians; NaN at both infinities.
float strict_sin(float x);
double strict_sin(double x);
float strict_cos(float x);
double strict_cos(double x);
float strict_tan(float x);
double strict_tan(double x);
// In [-pi/2, pi/2] and [0, pi]; NaN where |x| is above 1.
float strict_asin(float x);
double strict_asin(double x);
float strict_acos(float x);
double strict_acos(double x);
// In [-pi/2, pi/2].
float strict_atan(float x);
double strict_atan(double x);
// The angle of the point (x, y) in [-pi, pi], zeros and infinities as in C.
float strict_atan2(float y, float x);
double strict_atan2(double y, double x);

// Infinite from about 89.4 (f64: 710.5) on.
float strict_sinh(float x);
double strict_sinh(double x);
float strict_cosh(float x);
double strict_cosh(double x);
// Exactly +-1 from 10 (f64: 20) on.
float strict_tanh(float x);
double strict_tanh(double x);
float strict_asinh(float x);
double strict_asinh(double x);
// NaN below 1.
float strict_acosh(float x);
double strict_acosh(double x);
// Infinite at +-1, NaN beyond.
float strict_atanh(float x);
double strict_atanh(double x);

// erf, and erfc = 1 - erf with full precision where it is small (x large).
float strict_erf(float x);
double strict_erf(double x);
float strict_erfc(float x);
double strict_erfc(double x);
// The real cube root, also of negative x.
float strict_cbrt(float x);
double strict_cbrt(double x);
// x^y: 1 where x = 1 or y = 0, NaN or not; NaN for negative finite x and a y that is no integer.
float strict_pow(float x, float y);
double strict_pow(double x, double y);

// 1 / (1 + exp(-x)).
float strict_sigmoid(float x);
double strict_sigmoid(double x);
// x sigmoid(x), rounded as one function; -inf gives -0.
float strict_silu(float x);
double strict_silu(double x);
// log(1 + exp(-|x|)) + max(x, 0).
float strict_softplus(float x);
double strict_softplus(double x);
// Steps: t = x * 1/sqrt(2); e = erf(t); h = x * 0.5; y = h * (1 + e). -inf gives NaN.
float strict_gelu(float x);
double strict_gelu(double x);
// Steps: c = (x * x) * x; u = x + c * 0.044715; t = tanh(u * 0.7978845608028654); h = x * 0.5;
// y = h * (1 + t). -inf gives NaN.
float strict_gelu_tanh(float x);
double strict_gelu_tanh(double x);

}  // namespace quern
