// Numbers of the update rules.
#include "ops/optimizer_rules.h"

#include "ops/math/strict_math.h"

namespace quern {
namespace {

// Attributes by name. `lr` and the like round once to T; what is computed from them stays f64
// until then.
template <class T>
struct Numbers {
  const Attributes& attributes;
  T operator()(const char* name) const { return static_cast<T>(attributes.number(name)); }
  double exact(const char* name) const { return attributes.number(name); }
  // 1 - attribute.
  // In f64, then one rounding: 1 - 0.999f would lose digits that the moments need.
  T rest(const char* name) const { return static_cast<T>(1 - exact(name)); }
  // 1 - attribute^step.
  T correction(const char* name, int64_t step) const {
    return static_cast<T>(1 - strict_pow(exact(name), static_cast<double>(step)));
  }
};

// One overload per rule; fields in the order of its declaration. The step counts from 1.
template <class T>
void make(const Numbers<T>& n, int64_t, simd::SgdRule<T>& rule) {
  rule = {n("lr"), n("momentum"), n("wd"), n.attributes.flag("nesterov")};
}
template <class T>
void make(const Numbers<T>& n, int64_t step, simd::AdamRule<T>& rule) {
  rule = {make_adam_moments<T>(n.attributes, step), n("lr"), n("wd")};
}
template <class T>
void make(const Numbers<T>& n, int64_t step, simd::AdamWRule<T>& rule) {
  rule = {make_adam_moments<T>(n.attributes, step), n("lr"),
          // One factor for every parameter, from f64.
          static_cast<T>(1 - n.exact("lr") * n.exact("wd"))};
}
template <class T>
void make(const Numbers<T>& n, int64_t step, simd::AdamaxRule<T>& rule) {
  // The bias correction joins the rate in f64; the kernel divides by nothing that depends on the
  // step.
  const double correction = 1 - strict_pow(n.exact("beta1"), static_cast<double>(step));
  rule = {static_cast<T>(n.exact("lr") / correction),
          n("wd"),
          n("beta1"),
          n.rest("beta1"),
          n("beta2"),
          n("eps")};
}
template <class T>
void make(const Numbers<T>& n, int64_t, simd::LionRule<T>& rule) {
  rule = {n("lr"), n("wd"), n("beta1"), n.rest("beta1"), n("beta2"), n.rest("beta2")};
}
template <class T>
void make(const Numbers<T>& n, int64_t, simd::RmsPropRule<T>& rule) {
  rule = {n("lr"),
          n("alpha"),
          n.rest("alpha"),
          n("eps"),
          n("momentum"),
          n("wd"),
          n.attributes.flag("centered")};
}
template <class T>
void make(const Numbers<T>& n, int64_t step, simd::AdagradRule<T>& rule) {
  // The first step has the full rate.
  const double fall = 1 + static_cast<double>(step - 1) * n.exact("lr_decay");
  rule = {static_cast<T>(n.exact("lr") / fall), n("eps"), n("wd")};
}
template <class T>
void make(const Numbers<T>& n, int64_t, simd::AdadeltaRule<T>& rule) {
  rule = {n("lr"), n("rho"), n.rest("rho"), n("eps"), n("wd")};
}

// Fills a rule by the overload for its type.
template <class Rule, class T>
Rule made(const Attributes& attributes, int64_t step) {
  Rule rule;
  make(Numbers<T>{attributes}, step, rule);
  return rule;
}

}  // namespace

template <class T>
simd::AdamMoments<T> make_adam_moments(const Attributes& attributes, int64_t step) {
  const Numbers<T> n{attributes};
  return {n("beta1"),
          n.rest("beta1"),
          n("beta2"),
          n.rest("beta2"),
          n.correction("beta1", step),
          n.correction("beta2", step),
          n("eps")};
}
template simd::AdamMoments<float> make_adam_moments(const Attributes&, int64_t);
template simd::AdamMoments<double> make_adam_moments(const Attributes&, int64_t);

// Both types of each rule on the list.
#define QUERN_DEFINE_RULE(name, Rule)                                                             \
  template <>                                                                                     \
  simd::Rule<float> make_optimizer_rule<simd::Rule<float>>(const Attributes& a, int64_t step) {   \
    return made<simd::Rule<float>, float>(a, step);                                               \
  }                                                                                               \
  template <>                                                                                     \
  simd::Rule<double> make_optimizer_rule<simd::Rule<double>>(const Attributes& a, int64_t step) { \
    return made<simd::Rule<double>, double>(a, step);                                             \
  }
QUERN_OPTIMIZER_RULES(QUERN_DEFINE_RULE)
#undef QUERN_DEFINE_RULE

}  // namespace quern
