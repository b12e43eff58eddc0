// Strict math for one value: the same bits on every machine and at every vector width.
// At most 2 ulp in f32 and 4 ulp in f64 (README.md lists what was measured); denormals are kept;
// special values as in C's <math.h> where it has the function. Kernels that work on vectors include
// strict_math-inl.h instead. Thread-safe: pure functions.
#pragma once

namespace quern {

// Goes up whenever a result bit of any function changes.
inline constexpr int kStrictMathVersion = 1;

float strict_exp(float x);
double strict_exp(double x);
float strict_exp2(float x);
double strict_exp2(double x);
float strict_expm1(float x);
double strict_expm1(double x);
float strict_log(float x);
double strict_log(double x);
float strict_log1p(float x);
double strict_log1p(double x);
float strict_log2(float x);
double strict_log2(double x);
float strict_log10(float x);
double strict_log10(double x);

// Any finite argument, reduced exactly.
float strict_sin(float x);
double strict_sin(double x);
float strict_cos(float x);
double strict_cos(double x);
float strict_tan(float x);
double strict_tan(double x);
float strict_asin(float x);
double strict_asin(double x);
float strict_acos(float x);
double strict_acos(double x);
float strict_atan(float x);
double strict_atan(double x);
float strict_atan2(float y, float x);
double strict_atan2(double y, double x);

float strict_sinh(float x);
double strict_sinh(double x);
float strict_cosh(float x);
double strict_cosh(double x);
float strict_tanh(float x);
double strict_tanh(double x);
float strict_asinh(float x);
double strict_asinh(double x);
float strict_acosh(float x);
double strict_acosh(double x);
float strict_atanh(float x);
double strict_atanh(double x);

float strict_erf(float x);
double strict_erf(double x);
float strict_erfc(float x);
double strict_erfc(double x);
float strict_cbrt(float x);
double strict_cbrt(double x);
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
