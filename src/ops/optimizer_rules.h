// Makes the update rules of optimisers (optimizer_rules-inl.h) from attributes. Attributes round to
// the compute type; arithmetic between them is in f64 before that.
#pragma once

#include <cstdint>

#include "ops/optimizer_rules-inl.h"
#include "quern/graph.h"

namespace quern {

// `step` counts from 1. T: float or double; Rule: one of the rules over T.
template <class Rule>
Rule make_optimizer_rule(const Attributes& attributes, int64_t step);

// The eight rules: F(operation's last name, Rule).
// Each list entry is declared below and defined in optimizer_rules.cc.
#define QUERN_OPTIMIZER_RULES(F) \
  F(adadelta, AdadeltaRule)      \
  F(adagrad, AdagradRule)        \
  F(adam, AdamRule)              \
  F(adamax, AdamaxRule)          \
  F(adamw, AdamWRule)            \
  F(lion, LionRule)              \
  F(rmsprop, RmsPropRule)        \
  F(sgd, SgdRule)

#define QUERN_DECLARE_RULE(name, Rule)                                                  \
  template <>                                                                           \
  simd::Rule<float> make_optimizer_rule<simd::Rule<float>>(const Attributes&, int64_t); \
  template <>                                                                           \
  simd::Rule<double> make_optimizer_rule<simd::Rule<double>>(const Attributes&, int64_t);
QUERN_OPTIMIZER_RULES(QUERN_DECLARE_RULE)
#undef QUERN_DECLARE_RULE

// Numbers that lamb shares with adam.
// Decays, their complements and the bias corrections of the step, from beta1, beta2 and eps.
template <class T>
simd::AdamMoments<T> make_adam_moments(const Attributes& attributes, int64_t step);
extern template simd::AdamMoments<float> make_adam_moments(const Attributes&, int64_t);
extern template simd::AdamMoments<double> make_adam_moments(const Attributes&, int64_t);

}  // namespace quern
