// Active inference: belief updates, free energies, precision weighting.
#include <vector>

#include "base/fail.h"
#include "ops/dim_math.h"
#include "ops/elementwise.h"
#include "ops/lanes.h"
#include "ops/math/strict_math.h"
#include "ops/max_min.h"
#include "ops/register_ops.h"
#include "ops/two_forms.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// log(max(p, 1e-12)), so that p log p is 0 for p = 0.
// The floor is an f64 literal rounded to T. It bounds the logarithm at -27.6, so that an impossible
// outcome costs much but not infinity; NaN passes strict_max and stays.
template <class T>
T floored_log(T p) {
  return strict_log(strict_max(p, static_cast<T>(1e-12)));
}

// Sum of p (log p - log q) with floored logarithms.
// The terms fold in lanes(32). Where p is 0 its term is 0 times a finite difference.
template <class T>
T kl_sum(const FloatInput<T>& p, const FloatInput<T>& q) {
  return lanes_sum<T>(p.size(),
                      [&](int64_t i) { return p[i] * (floored_log(p[i]) - floored_log(q[i])); });
}

// Half the extent of a vector, which must be even.
Result<Dim> half_of(std::string_view port, const TensorType& type) {
  if (const auto half = divide_dim(type.dims[0], 2)) return *half;
  return fail::invalid(
      "Port '{}' has type {}; it holds means and logarithms, so its extent must be even.", port,
      type.to_string());
}

// belief_update -----------------------------------------------------------------------------

// Means and logarithms of spreads in one vector (estimator), or probabilities (table).
// Estimator: port 0 beliefs [2N], port 1 fe_grad [N]. Table: prior and likelihood of one type.
Result<Types> infer_belief_update(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType beliefs, float_port(context, 0, 1));
  if (is_table(context)) {
    QUERN_TRY(expect_port(context, 1, beliefs));
    return Types{beliefs};
  }
  QUERN_ASSIGN_OR_RETURN(const Dim half, half_of(type_rules::port_name(context, 0), beliefs));
  QUERN_TRY(expect_port(context, 1, {beliefs.dtype, {half}}));
  return Types{beliefs};
}

// A step down the gradient of the free energy, or Bayes' rule.
// Estimator, for entry i of N: mu' = mu - lr * (mu + g) and s' = s - lr * (exp(s) - 1), where s is
// a logarithm: the fixed point of s is 0, a spread of 1. Table: p * l / sum(p * l), the product
// made twice with equal bits rather than stored. A sum of 0 divides 0 by 0: NaN, for a prior and a
// likelihood that exclude each other.
struct BeliefUpdateKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> a(context.inputs[0]), b(context.inputs[1]);
    FloatOutput<T> out(context.outputs[0]);
    if (is_table(context)) {
      const T sum = lanes_sum<T>(a.size(), [&](int64_t i) { return a[i] * b[i]; });
      for (int64_t i = 0; i < out.size(); ++i) out[i] = (a[i] * b[i]) / sum;
      return {};
    }
    const T lr = static_cast<T>(context.attributes.number("lr"));
    const int64_t n = b.size();
    // `a` holds mu in [0, n) and the logarithms in [n, 2n).
    for (int64_t i = 0; i < n; ++i) {
      out[i] = a[i] - lr * (a[i] + b[i]);
      out[n + i] = a[n + i] - lr * (strict_exp(a[n + i]) - T(1));
    }
    return {};
  }
};

// expected_free_energy ----------------------------------------------------------------------

// One value per policy, or one for the table's single policy.
// Estimator: q_pi [K policies, N outcomes] to [K]. Table: predicted and preferred observations [N]
// and states [M], to a scalar; the two vectors may differ in extent.
Result<Types> infer_expected_free_energy(const InferContext& context) {
  if (!is_table(context)) {
    // Port 1, p_o_s, is declared but not read, so nothing checks it.
    QUERN_ASSIGN_OR_RETURN(const TensorType q, float_port(context, 0, 2));
    return Types{{q.dtype, {q.dims[0]}}};
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType predicted, float_port(context, 0, 1));
  QUERN_TRY(expect_port(context, 1, predicted));
  QUERN_ASSIGN_OR_RETURN(const TensorType state, float_port(context, 2, 1));
  QUERN_TRY(expect_port(context, 2, {predicted.dtype, state.dims}));
  return Types{{predicted.dtype, {}}};
}

// Risk plus ambiguity for a table; for the estimator the entropy of each policy's outcomes.
// Risk is the divergence of the predicted from the preferred observations; ambiguity is the entropy
// of the predicted state. The estimator adds 1e-12 to p where the table floors at it: each form
// keeps its own definition.
struct ExpectedFreeEnergyKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> q(context.inputs[0]);
    FloatOutput<T> efe(context.outputs[0]);
    if (is_table(context)) {
      const FloatInput<T> preferred(context.inputs[1]), state(context.inputs[2]);
      const T risk = kl_sum(q, preferred);
      const T entropy =
          -lanes_sum<T>(state.size(), [&](int64_t i) { return state[i] * floored_log(state[i]); });
      efe[0] = risk + entropy;
      return {};
    }
    // The type rule has checked rank 2, so that row k begins at k * n.
    const int64_t n = context.inputs[0].shape[1];
    for (int64_t k = 0; k < efe.size(); ++k) {
      efe[k] = -lanes_sum<T>(n, [&](int64_t i) {
        const T p = q[k * n + i];
        return p * strict_log(p + static_cast<T>(1e-12));
      });
    }
    return {};
  }
};

// free_energy -------------------------------------------------------------------------------

// Half means, half logarithms of variances; or three distributions over the same outcomes.
// The halves are not split in memory; the kernel indexes both.
Result<Types> infer_free_energy(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType q, float_port(context, 0, 1));
  if (is_table(context)) {
    QUERN_TRY(expect_port(context, 1, q));
    QUERN_TRY(expect_port(context, 2, q));
  } else {
    QUERN_TRY(half_of(type_rules::port_name(context, 0), q));
  }
  return Types{{q.dtype, {}}};
}

// The estimator's closed form: the Kullback-Leibler divergence of a diagonal Gaussian from the
// standard normal. The table's: inaccuracy plus complexity.
// KL of N(mu, v) from N(0, 1) for one entry: (mu^2 + v - log v - 1) / 2 with v = exp(log_variance).
// The inner sum goes from left to right as written, the factor 1/2 comes once at the end (it is
// exact).
struct FreeEnergyKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> q(context.inputs[0]);
    FloatOutput<T> fe(context.outputs[0]);
    if (is_table(context)) {
      const FloatInput<T> likelihood(context.inputs[1]), prior(context.inputs[2]);
      const T inaccuracy =
          -lanes_sum<T>(q.size(), [&](int64_t i) { return q[i] * floored_log(likelihood[i]); });
      fe[0] = inaccuracy + kl_sum(q, prior);
      return {};
    }
    const int64_t n = q.size() / 2;
    fe[0] = T(0.5) * lanes_sum<T>(n, [&](int64_t i) {
              const T mean = q[i], log_variance = q[n + i];
              return ((mean * mean + strict_exp(log_variance)) - log_variance) - T(1);
            });
    return {};
  }
};

// precision_weight --------------------------------------------------------------------------

// Errors times precisions; the estimator stores logarithms of them, which keeps them positive.
// The type rule is infer_same_floats: both forms have equal shapes, and differ in exp alone.
struct PrecisionWeightKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> error(context.inputs[0]), precision(context.inputs[1]);
    FloatOutput<T> w(context.outputs[0]);
    const bool is_log = !is_table(context);
    for (int64_t i = 0; i < w.size(); ++i) {
      w[i] = error[i] * (is_log ? strict_exp(precision[i]) : precision[i]);
    }
    return {};
  }
};

}  // namespace

void register_active_inference_ops(OpRegistry& registry) {
  registry.add({.id = "active_inference.belief_update",
                .doc = "Estimator: beliefs [mu | log sigma] to mu - lr (mu + fe_grad), log sigma - "
                       "lr (exp(log sigma) - 1). Table: ports prior, likelihood: their product "
                       "divided by its sum, NaN for a sum of 0.",
                .shape_rule = "Estimator: beliefs [2N], fe_grad [N] of one float dtype; new "
                              "[2N]. Table: prior, likelihood, new [N].",
                .edge_rule = "NaN and infinities follow the formula; a product that sums to "
                             "0 gives NaN (table). No elements give none.",
                .f32_bound = 8,
                .f32_cancels = true,
                .table_inputs = {"prior", "likelihood"},
                .inputs = {port("beliefs"), port("fe_grad")},
                .outputs = {port("new")},
                .attributes = {form_attribute(), number("lr", 1e-2, "Learning rate.")},
                .infer = infer_belief_update,
                .reference = float_kernel<BeliefUpdateKernel>});
  registry.add({.id = "active_inference.expected_free_energy",
                .doc = "Estimator: -sum q log(q + 1e-12) of each row of q_pi; p_o_s is not read. "
                       "Table: ports pred_obs, pref_obs, pred_state: KL(pred_obs || pref_obs) plus "
                       "the entropy of pred_state, logarithms of max(p, 1e-12).",
                .shape_rule = "Estimator: q_pi [K, N], p_o_s of any type; efe [K]. Table: "
                              "pred_obs, pref_obs [N], pred_state [M]; efe is a scalar. One "
                              "float dtype.",
                .edge_rule = "0 log 0 is 0; NaN spreads to its row (table: to the result). "
                             "No elements sum to 0.",
                .f32_bound = 8,
                .table_inputs = {"pred_obs", "pref_obs", "pred_state"},
                .inputs = {port("q_pi"), optional_port("p_o_s"), table_port("pred_state")},
                .outputs = {port("efe")},
                .attributes = {form_attribute()},
                .infer = infer_expected_free_energy,
                .reference = float_kernel<ExpectedFreeEnergyKernel>});
  registry.add({.id = "active_inference.free_energy",
                .doc = "Estimator: q = [mu | log variance]: half the sum of mu^2 + exp(lv) - lv - "
                       "1, the KL to a standard normal. Table: -sum q log likelihood + KL(q || "
                       "prior), logarithms of max(p, 1e-12).",
                .shape_rule = "Estimator: q [2N]; fe is a scalar. Table: q, likelihood, "
                              "prior [N] of one float dtype; fe is a scalar.",
                .edge_rule = "0 log 0 is 0; NaN gives NaN; exp(lv) may overflow to "
                             "infinity. No elements give 0.",
                .f32_bound = 8,
                .table_inputs = {"q", "likelihood", "prior"},
                .inputs = {port("q"), table_port("likelihood"), table_port("prior")},
                .outputs = {port("fe")},
                .attributes = {form_attribute()},
                .infer = infer_free_energy,
                .reference = float_kernel<FreeEnergyKernel>});
  registry.add({.id = "active_inference.precision_weight",
                .doc = "error * precision; the estimator's precision is a logarithm: error * "
                       "exp(precision).",
                .shape_rule = "error, precision, w: one float dtype and shape.",
                .edge_rule = "NaN gives NaN; 0 times infinity is NaN; exp may overflow to "
                             "infinity. No elements give none.",
                .f32_bound = 4,
                .inputs = {port("error"), port("precision")},
                .outputs = {port("w")},
                .attributes = {form_attribute()},
                .infer = infer_same_floats,
                .reference = float_kernel<PrecisionWeightKernel>});
}

}  // namespace quern
