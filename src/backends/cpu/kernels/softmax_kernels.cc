// Softmax, log-softmax and argmax of a row; compiled once per level.
#include "backends/cpu/kernels/softmax_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/exponentials-inl.h"
#include "backends/cpu/kernels/lanes-inl.h"
#include "ops/math/strict_math-inl.h"

namespace quern::cpu {
namespace {

// e[i] = exp(x[i] - max); e may be x. Returns the sum of e.
template <class T>
QUERN_INLINE T exponentials(const T* x, T* e, int64_t n, T max) {
  using V = VectorFor<T>;
  return lanes_sum_of_steps<V>(
      n, [&](int64_t i, V* partials) { add_exponentials<V>(x + i, e + i, max, partials); },
      [&](int64_t i) {
        const T y = simd::strict_exp(x[i] - max);
        e[i] = y;
        return y;
      });
}

// y[i] = f(x[i]) for vectors and single elements.
template <class T, class F>
QUERN_INLINE void for_row(const T* x, T* y, int64_t n, F f) {
  using V = VectorFor<T>;
  int64_t i = 0;
  for (; i + kLanesOf<V> <= n; i += kLanesOf<V>) store(y + i, f(load<V>(x + i)));
  for (; i < n; ++i) y[i] = f(x[i]);
}

template <class T>
void softmax(const T* x, T* y, int64_t n) {
  const T inv = T(1) / exponentials(x, y, n, largest(x, n));
  for_row(y, y, n, [&](auto e) { return e * inv; });
}

template <class T>
void log_softmax(const T* x, T* y, T* scratch, int64_t n) {
  const T max = largest(x, n);
  const T log_sum = simd::strict_log(exponentials(x, scratch, n, max));
  for_row(x, y, n, [&](auto v) { return (v - max) - log_sum; });
}

// True where one of kVectors vectors from x on has an element equal to `wanted`.
template <int kVectors, class T>
QUERN_INLINE bool has_equal(const T* x, T wanted) {
  using V = VectorFor<T>;
  auto equal = load<V>(x) == wanted;
  for (int v = 1; v < kVectors; ++v) equal |= load<V>(x + v * kLanesOf<V>) == wanted;
  decltype(equal[0] + 0) found = 0;
  for (int l = 0; l < kLanesOf<V>; ++l) found |= equal[l];
  return found != 0;
}

// A NaN is not equal to the maximum, and the maximum is NaN exactly if there is one.
template <class T>
int64_t argmax(const T* x, int64_t n) {
  constexpr int kVectors = 8;
  constexpr int64_t kStep = kVectors * kLanesOf<VectorFor<T>>;
  const T max = largest(x, n);
  int64_t i = 0;
  if (max != max) {
    while (x[i] == x[i]) ++i;
    return i;
  }
  while (i + kStep <= n && !has_equal<kVectors>(x + i, max)) i += kStep;
  while (x[i] != max) ++i;
  return i;
}

template <class T>
SoftmaxFunctions<T> functions() {
  return {.softmax = softmax<T>, .log_softmax = log_softmax<T>, .argmax = argmax<T>};
}

}  // namespace

template <>
SoftmaxKernels softmax_kernels<kThisIsa>() {
  return {.f32 = functions<float>(), .f64 = functions<double>()};
}

}  // namespace quern::cpu
