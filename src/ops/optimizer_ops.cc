// Optimisers that update each parameter on its own, and lars and lamb, which scale by norms.
#include <cmath>
#include <vector>

#include "ops/lanes.h"
#include "ops/math/strict_math.h"
#include "ops/max_min.h"
#include "ops/optimizer.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using op_parts::flag;
using op_parts::number;

// Attributes rounded to the compute type; arithmetic between them is in f64 before that.
template <class T>
struct Numbers {
  const Attributes& attributes;
  T operator()(const char* name) const { return static_cast<T>(attributes.number(name)); }
  double exact(const char* name) const { return attributes.number(name); }
  // 1 - attribute.
  T rest(const char* name) const { return static_cast<T>(1 - exact(name)); }
  // 1 - attribute^step.
  T correction(const char* name, int64_t step) const {
    return static_cast<T>(1 - strict_pow(exact(name), static_cast<double>(step)));
  }
};

// A rule is built once for a call and updates one parameter with its states (null: none).
template <template <class> class Rule>
struct EachParameter {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    OptimizerTensors<T> tensors(context);
    const Rule<T> rule(context.attributes, tensors.step);
    for (size_t i = 0; i < tensors.params.size(); ++i) {
      T* states[3] = {};
      for (size_t s = 0; s < tensors.states.size(); ++s) states[s] = &tensors.states[s][i];
      rule.update(tensors.params[i], tensors.grads[i], states);
    }
    tensors.store(context);
    return {};
  }
};

template <class T>
struct Sgd {
  T lr, momentum, wd;
  bool is_nesterov;
  Sgd(const Attributes& a, int64_t)
      : lr(Numbers<T>{a}("lr")),
        momentum(Numbers<T>{a}("momentum")),
        wd(Numbers<T>{a}("wd")),
        is_nesterov(a.flag("nesterov")) {}
  void update(T& p, T g, T* const* s) const {
    g = g + wd * p;
    T& velocity = *s[0];
    velocity = momentum * velocity + g;
    p = p - lr * (is_nesterov ? g + momentum * velocity : velocity);
  }
};

// The moments of Adam and its kin.
template <class T>
struct Moments {
  T b1, r1, b2, r2;
  explicit Moments(const Numbers<T>& n)
      : b1(n("beta1")), r1(n.rest("beta1")), b2(n("beta2")), r2(n.rest("beta2")) {}
  void update(T& m, T& v, T g) const {
    m = b1 * m + r1 * g;
    v = b2 * v + r2 * (g * g);
  }
};

// mhat / (sqrt(vhat) + eps), bias-corrected.
template <class T>
struct AdamStep {
  Moments<T> moments;
  T c1, c2, eps;
  AdamStep(const Numbers<T>& n, int64_t step)
      : moments(n),
        c1(n.correction("beta1", step)),
        c2(n.correction("beta2", step)),
        eps(n("eps")) {}
  T operator()(T g, T* const* s) const {
    moments.update(*s[0], *s[1], g);
    return (*s[0] / c1) / (std::sqrt(*s[1] / c2) + eps);
  }
};

template <class T>
struct Adam {
  AdamStep<T> direction;
  T lr, wd;
  Adam(const Attributes& a, int64_t step)
      : direction(Numbers<T>{a}, step), lr(Numbers<T>{a}("lr")), wd(Numbers<T>{a}("wd")) {}
  void update(T& p, T g, T* const* s) const { p = p - lr * direction(g + wd * p, s); }
};

template <class T>
struct AdamW {
  AdamStep<T> direction;
  T lr, keep;
  AdamW(const Attributes& a, int64_t step)
      : direction(Numbers<T>{a}, step),
        lr(Numbers<T>{a}("lr")),
        keep(static_cast<T>(1 - a.number("lr") * a.number("wd"))) {}
  void update(T& p, T g, T* const* s) const { p = p * keep - lr * direction(g, s); }
};

template <class T>
struct Adamax {
  T lr, wd, b1, r1, b2, eps;
  Adamax(const Attributes& a, int64_t step)
      : wd(Numbers<T>{a}("wd")),
        b1(Numbers<T>{a}("beta1")),
        r1(Numbers<T>{a}.rest("beta1")),
        b2(Numbers<T>{a}("beta2")),
        eps(Numbers<T>{a}("eps")) {
    const double correction = 1 - strict_pow(a.number("beta1"), static_cast<double>(step));
    lr = static_cast<T>(a.number("lr") / correction);
  }
  void update(T& p, T g, T* const* s) const {
    g = g + wd * p;
    T &m = *s[0], &u = *s[1];
    m = b1 * m + r1 * g;
    u = strict_max(b2 * u, std::abs(g) + eps);
    p = p - lr * (m / u);
  }
};

template <class T>
struct Lion {
  T lr, wd, b1, r1, b2, r2;
  Lion(const Attributes& a, int64_t)
      : lr(Numbers<T>{a}("lr")),
        wd(Numbers<T>{a}("wd")),
        b1(Numbers<T>{a}("beta1")),
        r1(Numbers<T>{a}.rest("beta1")),
        b2(Numbers<T>{a}("beta2")),
        r2(Numbers<T>{a}.rest("beta2")) {}
  void update(T& p, T g, T* const* s) const {
    T& m = *s[0];
    const T mixed = b1 * m + r1 * g;
    const T sign = mixed != mixed ? mixed : static_cast<T>((mixed > 0) - (mixed < 0));
    p = p - lr * (sign + wd * p);
    m = b2 * m + r2 * g;
  }
};

template <class T>
struct RmsProp {
  T lr, alpha, rest, eps, momentum, wd;
  bool is_centered;
  RmsProp(const Attributes& a, int64_t)
      : lr(Numbers<T>{a}("lr")),
        alpha(Numbers<T>{a}("alpha")),
        rest(Numbers<T>{a}.rest("alpha")),
        eps(Numbers<T>{a}("eps")),
        momentum(Numbers<T>{a}("momentum")),
        wd(Numbers<T>{a}("wd")),
        is_centered(a.flag("centered")) {}
  void update(T& p, T g, T* const* s) const {
    g = g + wd * p;
    T &square = *s[0], &mean = *s[1], &velocity = *s[2];
    square = alpha * square + rest * (g * g);
    T variance = square;
    if (is_centered) {
      mean = alpha * mean + rest * g;
      variance = square - mean * mean;
    }
    velocity = momentum * velocity + g / (std::sqrt(variance) + eps);
    p = p - lr * velocity;
  }
};

template <class T>
struct Adagrad {
  T lr, eps, wd;
  Adagrad(const Attributes& a, int64_t step) : eps(Numbers<T>{a}("eps")), wd(Numbers<T>{a}("wd")) {
    lr =
        static_cast<T>(a.number("lr") / (1 + static_cast<double>(step - 1) * a.number("lr_decay")));
  }
  void update(T& p, T g, T* const* s) const {
    g = g + wd * p;
    T& sum = *s[0];
    sum = sum + g * g;
    p = p - lr * (g / (std::sqrt(sum) + eps));
  }
};

template <class T>
struct Adadelta {
  T lr, rho, rest, eps, wd;
  Adadelta(const Attributes& a, int64_t)
      : lr(Numbers<T>{a}("lr")),
        rho(Numbers<T>{a}("rho")),
        rest(Numbers<T>{a}.rest("rho")),
        eps(Numbers<T>{a}("eps")),
        wd(Numbers<T>{a}("wd")) {}
  void update(T& p, T g, T* const* s) const {
    g = g + wd * p;
    T &square = *s[0], &moved = *s[1];
    square = rho * square + rest * (g * g);
    const T delta = (std::sqrt(moved + eps) / std::sqrt(square + eps)) * g;
    moved = rho * moved + rest * (delta * delta);
    p = p - lr * delta;
  }
};

// Norms -------------------------------------------------------------------------------------

template <class T>
T norm_of(const std::vector<T>& x) {
  return std::sqrt(lanes_sum<T>(static_cast<int64_t>(x.size()), [&](int64_t i) {
    return x[static_cast<size_t>(i)] * x[static_cast<size_t>(i)];
  }));
}

struct LarsKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const Numbers<T> n{context.attributes};
    const T lr = n("lr"), eta = n("eta"), momentum = n("momentum"), wd = n("wd"), eps = n("eps");
    OptimizerTensors<T> t(context);
    const T p_norm = norm_of(t.params), g_norm = norm_of(t.grads);
    const bool has_norms = p_norm > 0 && g_norm > 0;
    const T trust = has_norms ? (eta * p_norm) / ((g_norm + wd * p_norm) + eps) : T(1);
    const T rate = lr * trust;
    for (size_t i = 0; i < t.params.size(); ++i) {
      T& velocity = t.states[0][i];
      velocity = momentum * velocity + rate * (t.grads[i] + wd * t.params[i]);
      t.params[i] = t.params[i] - velocity;
    }
    t.store(context);
    return {};
  }
};

struct LambKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const Numbers<T> n{context.attributes};
    const T lr = n("lr"), wd = n("wd");
    OptimizerTensors<T> t(context);
    const AdamStep<T> direction(n, t.step);
    std::vector<T> update(t.params.size());
    for (size_t i = 0; i < update.size(); ++i) {
      T* const states[] = {&t.states[0][i], &t.states[1][i]};
      update[i] = direction(t.grads[i], states) + wd * t.params[i];
    }
    const T p_norm = norm_of(t.params), u_norm = norm_of(update);
    const T trust = p_norm > 0 && u_norm > 0 ? p_norm / u_norm : T(1);
    const T rate = lr * trust;
    for (size_t i = 0; i < update.size(); ++i) t.params[i] = t.params[i] - rate * update[i];
    t.store(context);
    return {};
  }
};

std::vector<AttributeDef> adam_attributes(double lr, double wd) {
  return {learning_rate(lr), number("beta1", 0.9, "Decay of the first moment."),
          number("beta2", 0.999, "Decay of the second moment."),
          number("eps", 1e-8, "Added to the root."), weight_decay(wd)};
}

void register_adam_family(OpRegistry& registry) {
  registry.add(optimizer_op("adam",
                            "g += wd p; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr "
                            "(m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps).",
                            {"m", "v"}, adam_attributes(1e-4, 0),
                            float_kernel<EachParameter<Adam>>));
  registry.add(optimizer_op("adamw", "p *= 1 - lr wd, then train.optimizer.adam without decay.",
                            {"m", "v"}, adam_attributes(1e-4, 1e-2),
                            float_kernel<EachParameter<AdamW>>));
  registry.add(optimizer_op("adamax",
                            "g += wd p; m as in adam; u = max(b2 u, |g| + eps); p -= (lr / (1 - "
                            "b1^t)) (m / u).",
                            {"m", "u"}, adam_attributes(2e-3, 0),
                            float_kernel<EachParameter<Adamax>>));
  registry.add(optimizer_op("lamb",
                            "u = the direction of adam + wd p; p -= lr (|p| / |u|) u; the ratio is "
                            "1 where a norm is 0. Norms are roots of lanes(32) sums.",
                            {"m", "v"}, adam_attributes(1e-4, 0), float_kernel<LambKernel>));
  registry.add(optimizer_op(
      "lion", "p -= lr (sign(b1 m + (1 - b1) g) + wd p); m = b2 m + (1 - b2) g.", {"m"},
      {learning_rate(1e-4), number("beta1", 0.9, "Mix of the step."),
       number("beta2", 0.99, "Decay of m."), weight_decay(0)},
      float_kernel<EachParameter<Lion>>));
}

}  // namespace

void register_optimizer_ops(OpRegistry& registry) {
  register_adam_family(registry);
  registry.add(optimizer_op("sgd",
                            "g += wd p; v = momentum v + g; p -= lr v, or lr (g + momentum v) with "
                            "nesterov.",
                            {"velocity"},
                            {learning_rate(1e-2), number("momentum", 0.9, "Decay of v."),
                             weight_decay(0), flag("nesterov", false, "Look ahead.")},
                            float_kernel<EachParameter<Sgd>>));
  registry.add(optimizer_op(
      "rmsprop",
      "g += wd p; s = alpha s + (1 - alpha) g^2 (centered: minus the square "
      "of the mean gradient); v = momentum v + g / (sqrt(s) + eps); p -= lr v.",
      {"square", "mean", "velocity"},
      {learning_rate(1e-3), number("alpha", 0.99, "Decay of s."),
       number("eps", 1e-8, "Added to the root."), number("momentum", 0.0, "Decay of v."),
       weight_decay(0), flag("centered", false, "Use the variance.")},
      float_kernel<EachParameter<RmsProp>>));
  registry.add(optimizer_op("adagrad",
                            "g += wd p; s += g^2; p -= lr / (1 + (t - 1) lr_decay) (g / (sqrt(s) + "
                            "eps)).",
                            {"sum"},
                            {learning_rate(1e-2), number("eps", 1e-10, "Added to the root."),
                             weight_decay(0), number("lr_decay", 0.0, "Fall of the rate.")},
                            float_kernel<EachParameter<Adagrad>>));
  registry.add(optimizer_op("adadelta",
                            "g += wd p; s = rho s + (1 - rho) g^2; d = sqrt(a + eps) / sqrt(s + "
                            "eps) g; a = rho a + (1 - rho) d^2; p -= lr d.",
                            {"square", "moved"},
                            {learning_rate(1.0), number("rho", 0.9, "Decay of s and a."),
                             number("eps", 1e-6, "Inside the roots."), weight_decay(0)},
                            float_kernel<EachParameter<Adadelta>>));
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
