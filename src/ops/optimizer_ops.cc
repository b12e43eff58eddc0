// Optimisers that update each parameter on its own, and lars and lamb, which scale by norms.
#include <cmath>
#include <vector>

#include "ops/lanes.h"
#include "ops/optimizer.h"
#include "ops/optimizer_rules.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using op_parts::flag;
using op_parts::number;

// Updates each parameter with its states.
template <template <class> class Rule>
struct EachParameter {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    QUERN_ASSIGN_OR_RETURN(const int64_t step, next_step(context.inputs.back()));
    OptimizerTensors<T> tensors(context, step);
    const auto rule = make_optimizer_rule<Rule<T>>(context.attributes, tensors.step);
    constexpr auto kStates = static_cast<size_t>(Rule<T>::kStates);
    // A rule sees the states of one element as an array, as it does when T is a vector of elements.
    for (size_t i = 0; i < tensors.params.size(); ++i) {
      T states[kStates];
      for (size_t s = 0; s < kStates; ++s) states[s] = tensors.states[s][i];
      rule.update(tensors.params[i], tensors.grads[i], states);
      for (size_t s = 0; s < kStates; ++s) tensors.states[s][i] = states[s];
    }
    tensors.store(context);
    return {};
  }
};

// Norms -------------------------------------------------------------------------------------

// The Euclidean length: the root of a lanes(32) sum of squares. 0 for no elements.
template <class T>
T norm_of(const std::vector<T>& x) {
  return std::sqrt(lanes_sum<T>(static_cast<int64_t>(x.size()), [&](int64_t i) {
    return x[static_cast<size_t>(i)] * x[static_cast<size_t>(i)];
  }));
}

// You, Gitman and Ginsburg 2017 (arXiv 1708.03888): the rate times eta |p| / (|g| + wd |p| + eps).
// Norms are over the whole tensor: a tensor is a layer.
struct LarsKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const auto n = [&](const char* name) {
      return static_cast<T>(context.attributes.number(name));
    };
    const T lr = n("lr"), eta = n("eta"), momentum = n("momentum"), wd = n("wd"), eps = n("eps");
    QUERN_ASSIGN_OR_RETURN(const int64_t step, next_step(context.inputs.back()));
    OptimizerTensors<T> t(context, step);
    const T p_norm = norm_of(t.params), g_norm = norm_of(t.grads);
    // A norm that is 0, or NaN, gives no ratio: the step has the plain rate.
    const bool has_norms = p_norm > 0 && g_norm > 0;
    const T trust = has_norms ? (eta * p_norm) / ((g_norm + wd * p_norm) + eps) : T(1);
    const T rate = lr * trust;
    for (size_t i = 0; i < t.params.size(); ++i) {
      T& velocity = t.states[0][i];
      // Decay joins the gradient before the ratio scales both.
      velocity = momentum * velocity + rate * (t.grads[i] + wd * t.params[i]);
      t.params[i] = t.params[i] - velocity;
    }
    t.store(context);
    return {};
  }
};

// You et al. 2019 (arXiv 1904.00962): adam's direction with decay, scaled by |p| / |u|.
struct LambKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const T lr = static_cast<T>(context.attributes.number("lr"));
    const T wd = static_cast<T>(context.attributes.number("wd"));
    QUERN_ASSIGN_OR_RETURN(const int64_t step, next_step(context.inputs.back()));
    OptimizerTensors<T> t(context, step);
    // Two passes over the parameters, as the norm of the update needs all of it first.
    const auto moments = make_adam_moments<T>(context.attributes, t.step);
    std::vector<T> update(t.params.size());
    for (size_t i = 0; i < update.size(); ++i) {
      T states[] = {t.states[0][i], t.states[1][i]};
      update[i] = moments.direction(t.grads[i], states) + wd * t.params[i];
      t.states[0][i] = states[0];
      t.states[1][i] = states[1];
    }
    const T p_norm = norm_of(t.params), u_norm = norm_of(update);
    // As in lars: no ratio without two norms.
    const T trust = p_norm > 0 && u_norm > 0 ? p_norm / u_norm : T(1);
    const T rate = lr * trust;
    for (size_t i = 0; i < update.size(); ++i) t.params[i] = t.params[i] - rate * update[i];
    t.store(context);
    return {};
  }
};

// Of adam, adamw, adamax and lamb; rate and decay differ.
std::vector<AttributeDef> adam_attributes(double lr, double wd) {
  return {learning_rate(lr), number("beta1", 0.9, "Decay of the first moment."),
          number("beta2", 0.999, "Decay of the second moment."),
          number("eps", 1e-8, "Added to the root."), weight_decay(wd)};
}

// adam and adamax: Kingma and Ba 2014 (arXiv 1412.6980); adamw: Loshchilov and Hutter 2017 (arXiv
// 1711.05101); lion: Chen et al. 2023 (arXiv 2302.06675).
void register_adam_family(OpRegistry& registry) {
  registry.add(optimizer_op("adam",
                            "g += wd p; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr "
                            "(m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps).",
                            {"m", "v"}, adam_attributes(1e-4, 0),
                            float_kernel<EachParameter<simd::AdamRule>>));
  registry.add(optimizer_op("adamw", "p *= 1 - lr wd, then train.optimizer.adam without decay.",
                            {"m", "v"}, adam_attributes(1e-4, 1e-2),
                            float_kernel<EachParameter<simd::AdamWRule>>));
  registry.add(optimizer_op("adamax",
                            "g += wd p; m as in adam; u = max(b2 u, |g| + eps); p -= (lr / (1 - "
                            "b1^t)) (m / u).",
                            {"m", "u"}, adam_attributes(2e-3, 0),
                            float_kernel<EachParameter<simd::AdamaxRule>>));
  registry.add(optimizer_op("lamb",
                            "u = the direction of adam + wd p; p -= lr (|p| / |u|) u; the ratio is "
                            "1 where a norm is 0. Norms are roots of lanes(32) sums.",
                            {"m", "v"}, adam_attributes(1e-4, 0), float_kernel<LambKernel>));
  registry.add(optimizer_op(
      "lion", "p -= lr (sign(b1 m + (1 - b1) g) + wd p); m = b2 m + (1 - b2) g.", {"m"},
      {learning_rate(1e-4), number("beta1", 0.9, "Mix of the step."),
       number("beta2", 0.99, "Decay of m."), weight_decay(0)},
      float_kernel<EachParameter<simd::LionRule>>));
}

}  // namespace

// rmsprop: Tieleman and Hinton 2012; adagrad: Duchi, Hazan and Singer 2011; adadelta: Zeiler 2012
// (arXiv 1212.5701).
void register_optimizer_ops(OpRegistry& registry) {
  register_adam_family(registry);
  registry.add(optimizer_op("sgd",
                            "g += wd p; v = momentum v + g; p -= lr v, or lr (g + momentum v) with "
                            "nesterov.",
                            {"velocity"},
                            {learning_rate(1e-2), number("momentum", 0.9, "Decay of v."),
                             weight_decay(0), flag("nesterov", false, "Look ahead.")},
                            float_kernel<EachParameter<simd::SgdRule>>));
  registry.add(optimizer_op(
      "rmsprop",
      "g += wd p; s = alpha s + (1 - alpha) g^2 (centered: minus the square "
      "of the mean gradient); v = momentum v + g / (sqrt(s) + eps); p -= lr v.",
      {"square", "mean", "velocity"},
      {learning_rate(1e-3), number("alpha", 0.99, "Decay of s."),
       number("eps", 1e-8, "Added to the root."), number("momentum", 0.0, "Decay of v."),
       weight_decay(0), flag("centered", false, "Use the variance.")},
      float_kernel<EachParameter<simd::RmsPropRule>>));
  registry.add(optimizer_op("adagrad",
                            "g += wd p; s += g^2; p -= lr / (1 + (t - 1) lr_decay) (g / (sqrt(s) + "
                            "eps)).",
                            {"sum"},
                            {learning_rate(1e-2), number("eps", 1e-10, "Added to the root."),
                             weight_decay(0), number("lr_decay", 0.0, "Fall of the rate.")},
                            float_kernel<EachParameter<simd::AdagradRule>>));
  registry.add(optimizer_op("adadelta",
                            "g += wd p; s = rho s + (1 - rho) g^2; d = sqrt(a + eps) / sqrt(s + "
                            "eps) g; a = rho a + (1 - rho) d^2; p -= lr d.",
                            {"square", "moved"},
                            {learning_rate(1.0), number("rho", 0.9, "Decay of s and a."),
                             number("eps", 1e-6, "Inside the roots."), weight_decay(0)},
                            float_kernel<EachParameter<simd::AdadeltaRule>>));
  registry.add(
      optimizer_op("lars",
                   "v = momentum v + lr trust (g + wd p); p -= v; trust = eta |p| / (|g| + "
                   "wd |p| + eps), 1 where a norm is 0. Norms are roots of lanes(32) sums.",
                   {"velocity"},
                   {learning_rate({}), number("eta", 1e-3, "Trust coefficient."),
                    number("momentum", 0.9, "Decay of v."), weight_decay(1e-4),
                    number("eps", 1e-8, "Added to the denominator.")},
                   float_kernel<LarsKernel>));
}

}  // namespace quern
