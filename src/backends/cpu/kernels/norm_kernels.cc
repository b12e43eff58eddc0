// RMS and layer norm of a row; compiled once per level.
#include "backends/cpu/kernels/norm_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/lanes-inl.h"

namespace quern::cpu {
namespace {

QUERN_INLINE float square_root(float x) {
  return __builtin_sqrtf(x);
}
QUERN_INLINE double square_root(double x) {
  return __builtin_sqrt(x);
}

// y = (x - shift) * inv, then * weight and + bias where present. Shift 0 is left out by the caller
// through kShifts, since x - 0 is exact anyway only for the compiler's eyes.
template <bool kShifts, class T>
QUERN_INLINE void scale_row(const NormRow<T>& row, T shift, T inv) {
  using V = VectorFor<T>;
  const auto apply = [&]<class X>(X x, int64_t i) {
    if constexpr (kShifts) x = x - shift;
    x = x * inv;
    if (row.weight != nullptr) x = x * load<X>(row.weight + i);
    if (row.bias != nullptr) x = x + load<X>(row.bias + i);
    store(row.y + i, x);
  };
  int64_t i = 0;
  for (; i + kLanesOf<V> <= row.n; i += kLanesOf<V>) apply(load<V>(row.x + i), i);
  for (; i < row.n; ++i) apply(row.x[i], i);
}

template <class T>
void rms_norm(const NormRow<T>& row) {
  using V = VectorFor<T>;
  const T sum = lanes_sum<V>(
      row.n,
      [&](int64_t i) {
        const V x = load<V>(row.x + i);
        return x * x;
      },
      [&](int64_t i) { return row.x[i] * row.x[i]; });
  const T mean = sum / static_cast<T>(row.n);
  scale_row<false>(row, T(0), T(1) / square_root(mean + row.eps));
}

template <class T>
void layer_norm(const NormRow<T>& row) {
  using V = VectorFor<T>;
  const T n = static_cast<T>(row.n);
  const T mean = lanes_sum<V>(
                     row.n, [&](int64_t i) { return load<V>(row.x + i); },
                     [&](int64_t i) { return row.x[i]; }) /
                 n;
  const T variance = lanes_sum<V>(
                         row.n,
                         [&](int64_t i) {
                           const V d = load<V>(row.x + i) - mean;
                           return d * d;
                         },
                         [&](int64_t i) { return (row.x[i] - mean) * (row.x[i] - mean); }) /
                     n;
  scale_row<true>(row, mean, T(1) / square_root(variance + row.eps));
}

template <class T>
NormFunctions<T> functions() {
  return {.rms_norm = rms_norm<T>, .layer_norm = layer_norm<T>};
}

}  // namespace

template <>
NormKernels norm_kernels<kThisIsa>() {
  return {.f32 = functions<float>(), .f64 = functions<double>()};
}

}  // namespace quern::cpu
