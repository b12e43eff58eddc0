// Loops over the update rules of ops/optimizer_rules-inl.h; compiled once per level.
#include "backends/cpu/kernels/optimizer_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/lanes-inl.h"
#include "ops/optimizer_rules-inl.h"

namespace quern::cpu {
namespace {

// rule_numbers is a Rule<T>: the table of functions has one type for all rules. Elements past the
// last vector take the scalar form of the same formulas.
template <class T, template <class> class Rule>
void update(const void* rule_numbers, const OptimizerPass<T>& pass) {
  using V = Lane<T>;
  constexpr int kWidth = sizeof(V) / sizeof(T);
  constexpr int kStates = Rule<T>::kStates;
  const Rule<T> rule = *static_cast<const Rule<T>*>(rule_numbers);
  int64_t i = 0;
  for (; i + kWidth <= pass.n; i += kWidth) {
    V p = load<V>(pass.params + i);
    V states[kStates];
    for (int s = 0; s < kStates; ++s) {
      states[s] = pass.states[s] == nullptr ? V{} : load<V>(pass.states[s] + i);
    }
    rule.update(p, load<V>(pass.grads + i), states);
    store(pass.new_params + i, p);
    for (int s = 0; s < kStates; ++s) store(pass.new_states[s] + i, states[s]);
  }
  for (; i < pass.n; ++i) {
    T p = pass.params[i];
    T states[kStates];
    for (int s = 0; s < kStates; ++s) {
      states[s] = pass.states[s] == nullptr ? T(0) : pass.states[s][i];
    }
    rule.update(p, pass.grads[i], states);
    pass.new_params[i] = p;
    for (int s = 0; s < kStates; ++s) pass.new_states[s][i] = states[s];
  }
}

template <class T>
OptimizerFunctions<T> functions() {
  return {.adadelta = update<T, simd::AdadeltaRule>,
          .adagrad = update<T, simd::AdagradRule>,
          .adam = update<T, simd::AdamRule>,
          .adamax = update<T, simd::AdamaxRule>,
          .adamw = update<T, simd::AdamWRule>,
          .lion = update<T, simd::LionRule>,
          .rmsprop = update<T, simd::RmsPropRule>,
          .sgd = update<T, simd::SgdRule>};
}

}  // namespace

template <>
OptimizerKernels optimizer_kernels<kThisIsa>() {
  return {.f32 = functions<float>(), .f64 = functions<double>()};
}

}  // namespace quern::cpu
