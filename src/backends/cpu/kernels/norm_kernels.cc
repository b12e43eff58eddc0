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

// inv = 1 / sqrt(mean(x^2) + eps); y = (x * inv) * w.
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

// Mean, then the mean of squared differences: two passes over a row that stays in a cache.
template <class T>
RowMoments<T> moments(const T* x, int64_t n, T eps) {
  using V = VectorFor<T>;
  const T count = static_cast<T>(n);
  const T mean =
      lanes_sum<V>(
          n, [&](int64_t i) { return load<V>(x + i); }, [&](int64_t i) { return x[i]; }) /
      count;
  const T variance = lanes_sum<V>(
                         n,
                         [&](int64_t i) {
                           const V d = load<V>(x + i) - mean;
                           return d * d;
                         },
                         [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) /
                     count;
  return {mean, T(1) / square_root(variance + eps)};
}

template <class T>
void layer_norm(const NormRow<T>& row) {
  const RowMoments<T> found = moments(row.x, row.n, row.eps);
  scale_row<true>(row, found.mean, found.inv);
}

// One weight and one bias for the whole row; a loop for each case keeps the branch out of it.
template <class T>
void normalize(const T* x, T* y, int64_t n, const RowMoments<T>& m, const T* weight,
               const T* bias) {
  using V = VectorFor<T>;
  const T mean = m.mean, inv = m.inv;
  const auto run = [&](auto step) {
    int64_t i = 0;
    for (; i + kLanesOf<V> <= n; i += kLanesOf<V>) {
      store(y + i, step((load<V>(x + i) - mean) * inv));
    }
    for (; i < n; ++i) y[i] = step((x[i] - mean) * inv);
  };
  const T w = weight == nullptr ? T(1) : *weight, b = bias == nullptr ? T(0) : *bias;
  if (weight != nullptr && bias != nullptr) return run([&](auto v) { return v * w + b; });
  if (weight != nullptr) return run([&](auto v) { return v * w; });
  if (bias != nullptr) return run([&](auto v) { return v + b; });
  run([](auto v) { return v; });
}

template <class T>
NormFunctions<T> functions() {
  return {.rms_norm = rms_norm<T>,
          .layer_norm = layer_norm<T>,
          .moments = moments<T>,
          .normalize = normalize<T>};
}

}  // namespace

template <>
NormKernels norm_kernels<kThisIsa>() {
  return {.f32 = functions<float>(), .f64 = functions<double>()};
}

}  // namespace quern::cpu
