// Sums of loss terms; compiled once per level.
#include "backends/cpu/kernels/loss_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/lanes-inl.h"
#include "ops/loss_terms-inl.h"

namespace quern::cpu {
namespace {

// The lanes(32) sum of Term over one chunk; elements past the last vector go one by one, with the
// same formula and so the same bits.
template <class T, class Term>
T sum_terms(const T* x, const T* y, int64_t n, T p, T q) {
  using V = VectorFor<T>;
  using L = Lane<T>;
  return lanes_sum<V>(
      n,
      [&](int64_t i) {
        const L term = Term()(load<L>(x + i), load<L>(y + i), p, q);
        return load<V>(&term);
      },
      [&](int64_t i) { return Term()(x[i], y[i], p, q); });
}

template <class T>
LossFunctions<T> functions() {
  const auto of = []<class Term>(Term) { return sum_terms<T, Term>; };
  return {.squared_error = of([](auto x, auto y, T, T) { return simd::squared_error(x, y); }),
          .absolute_error = of([](auto x, auto y, T, T) { return simd::absolute_error(x, y); }),
          .huber = of([](auto x, auto y, T p, T q) { return simd::huber_term(x, y, p, q); }),
          .binary_cross_entropy =
              of([](auto x, auto y, T, T) { return simd::binary_cross_entropy_term(x, y); }),
          .kl_divergence = of([](auto x, auto y, T, T) { return simd::kl_divergence_term(x, y); })};
}

}  // namespace

template <>
LossKernels loss_kernels<kThisIsa>() {
  return {.f32 = functions<float>(), .f64 = functions<double>()};
}

}  // namespace quern::cpu
