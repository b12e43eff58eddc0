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
float strict_log(float x);
double strict_log(double x);
float strict_sin(float x);
double strict_sin(double x);
float strict_cos(float x);
double strict_cos(double x);
float strict_tanh(float x);
double strict_tanh(double x);
// 1 / (1 + exp(-x)).
float strict_sigmoid(float x);
double strict_sigmoid(double x);
// x sigmoid(x), rounded as one function; -inf gives -0.
float strict_silu(float x);
double strict_silu(double x);
float strict_erf(float x);
// Steps: t = x * 1/sqrt(2); e = erf(t); h = x * 0.5; y = h * (1 + e). -inf gives NaN.
float strict_gelu(float x);
// Steps: c = (x * x) * x; u = x + c * 0.044715; t = tanh(u * 0.7978845608028654); h = x * 0.5;
// y = h * (1 + t). -inf gives NaN.
float strict_gelu_tanh(float x);
double strict_gelu_tanh(double x);
float strict_pow(float x, float y);
double strict_pow(double x, double y);

}  // namespace quern
