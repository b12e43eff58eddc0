// Self-exciting (Hawkes) processes: intensity, kernel matrix, log likelihood.
#include <vector>

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

// exp(-beta * (later - earlier)).
// beta in 1 / time; the product rounds before the exponential.
template <class T>
T decay(T beta, T later, T earlier) {
  return strict_exp(-(beta * (later - earlier)));
}

// The excitation at `time`: decays of the events strictly before it. Negative times are padding.
// lanes(32) over all n events, so that the place of a term does not depend on which events count.
// Events at the same time do not excite each other; NaN compares as neither, and counts nowhere.
template <class T>
T excitation(const T* events, int64_t n, T beta, T time, bool has_padding) {
  return lanes_sum<T>(n, [&](int64_t j) {
    const bool counts = events[j] < time && !(has_padding && events[j] < 0);
    return counts ? decay(beta, time, events[j]) : T(0);
  });
}

// intensity ---------------------------------------------------------------------------------

// Two published forms: at the events of K processes, or at the query times of one process.
// Estimator: times [K, N] with rates [K]; table: query [Q], times [N] and three scalars.
Result<Types> infer_intensity(const InferContext& context) {
  if (is_table(context)) {
    QUERN_ASSIGN_OR_RETURN(const TensorType query, float_port(context, 0, 1));
    QUERN_ASSIGN_OR_RETURN(const TensorType times, float_port(context, 1, 1));
    QUERN_TRY(expect_port(context, 1, {query.dtype, times.dims}));
    for (const size_t port : {2, 3, 4}) QUERN_TRY(expect_port(context, port, {query.dtype, {}}));
    return Types{query};
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType times, float_port(context, 0, 2));
  for (const size_t port : {1, 2, 3}) {
    QUERN_TRY(expect_port(context, port, {times.dtype, {times.dims[0]}}));
  }
  return Types{times};
}

// mu + alpha * excitation at each time.
struct IntensityKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    FloatOutput<T> lambda(context.outputs[0]);
    if (is_table(context)) {
      const FloatInput<T> query(context.inputs[0]), times(context.inputs[1]),
          alpha(context.inputs[2]), beta(context.inputs[3]), mu(context.inputs[4]);
      // O(Q N): the recursion of exponentials would be faster but would sum in another order.
      for (int64_t i = 0; i < lambda.size(); ++i) {
        lambda[i] =
            mu[0] + alpha[0] * excitation(times.data(), times.size(), beta[0], query[i], false);
      }
      return {};
    }
    const FloatInput<T> times(context.inputs[0]), alpha(context.inputs[1]), beta(context.inputs[2]),
        mu(context.inputs[3]);
    const int64_t n = context.inputs[0].shape[1];
    for (int64_t i = 0; i < lambda.size(); ++i) {
      const int64_t k = i / n;
      const T* row = times.data() + k * n;
      // The padded places themselves get 0, not mu.
      const bool is_padding = times[i] < 0;
      lambda[i] =
          is_padding ? T(0) : mu[k] + alpha[k] * excitation(row, n, beta[k], times[i], true);
    }
    return {};
  }
};

// kernel_matrix -----------------------------------------------------------------------------

// One row and one column for each event.
// [N] to [N, N].
Result<Types> infer_kernel_matrix(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType times, float_port(context, 0, 1));
  return Types{{times.dtype, {times.dims[0], times.dims[0]}}};
}

// The excitation of every pair of events. Zero where the events coincide: an event does not
// excite itself.
struct KernelMatrixKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    // Rates are attributes here, rounded to T once.
    const T alpha = static_cast<T>(context.attributes.number("alpha"));
    const T beta = static_cast<T>(context.attributes.number("beta"));
    bool is_lower = is_table(context);
    const std::string& triangle = context.attributes.text("triangle");
    if (triangle != "auto") is_lower = triangle == "lower";
    const FloatInput<T> times(context.inputs[0]);
    FloatOutput<T> k(context.outputs[0]);
    const int64_t n = times.size();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        // Row i, column j: in the upper triangle j is the later event, in the lower one i.
        const int64_t later = is_lower ? i : j, earlier = is_lower ? j : i;
        k[i * n + j] = earlier < later ? alpha * decay(beta, times[later], times[earlier]) : T(0);
      }
    }
    return {};
  }
};

// log_likelihood ----------------------------------------------------------------------------

// The estimator takes intensities and their integral; the table takes the events themselves.
// Estimator: intensities [N] of any model, with their integral as a vector of one element.
Result<Types> infer_log_likelihood(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType first, float_port(context, 0, 1));
  if (is_table(context)) {
    for (const size_t port : {1, 2, 3, 4}) QUERN_TRY(expect_port(context, port, {first.dtype, {}}));
  } else {
    QUERN_TRY(expect_port(context, 1, {first.dtype, {Dim::constant(1)}}));
  }
  return Types{{first.dtype, {}}};
}

// Log likelihood of a point process: sum of log intensities minus the integral of the intensity
// (Daley and Vere-Jones, proposition 7.2.III), which for exponential decays has a closed form.
// Table, with lambda(t_i) at each event and the compensator in closed form:
//   integral of lambda over [0, T] = mu T + (alpha / beta) sum over i of (1 - exp(-beta (T - t_i)))
struct LogLikelihoodKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> first(context.inputs[0]), second(context.inputs[1]);
    FloatOutput<T> ll(context.outputs[0]);
    const int64_t n = first.size();
    if (!is_table(context)) {
      ll[0] = lanes_sum<T>(n, [&](int64_t i) { return strict_log(first[i]); }) - second[0];
      return {};
    }
    const T* times = first.data();
    const T alpha = second[0];
    // Scalars are read as element 0.
    const FloatInput<T> beta(context.inputs[2]), mu(context.inputs[3]), horizon(context.inputs[4]);
    const T logs = lanes_sum<T>(n, [&](int64_t i) {
      const T lambda = mu[0] + alpha * excitation(times, n, beta[0], times[i], false);
      // The floor keeps one impossible event from making the sum -infinity; NaN passes strict_max.
      return strict_log(strict_max(static_cast<T>(1e-12), lambda));
    });
    const T reached =
        lanes_sum<T>(n, [&](int64_t i) { return T(1) - decay(beta[0], horizon[0], times[i]); });
    ll[0] = logs - (mu[0] * horizon[0] + (alpha / beta[0]) * reached);
    return {};
  }
};

}  // namespace

void register_hawkes_ops(OpRegistry& registry) {
  registry.add({.id = "hawkes.intensity",
                .doc = "mu + alpha * sum of exp(-beta (t - t_i)) over events strictly before t, "
                       "lanes(32). Estimator: at the events of K processes [K, N], negative times "
                       "are padding and give 0. Table: ports query, times, alpha, beta, mu.",
                .shape_rule = "Estimator: times [K, N], alpha, beta, mu [K]; lambda [K, N]. "
                              "Table: query [Q], times [N], scalars alpha, beta, mu; lambda "
                              "[Q]. One float dtype.",
                .edge_rule = "Times below 0 are padding and give 0 (estimator); NaN times "
                             "count as not before anything. No events give mu.",
                .f32_bound = 8,
                .table_inputs = {"query", "times", "alpha", "beta", "mu"},
                .inputs = {port("times"), port("alpha"), port("beta"), port("mu"),
                           table_port("mu_of_table")},
                .outputs = {port("lambda")},
                .attributes = {form_attribute()},
                .infer = infer_intensity,
                .reference = float_kernel<IntensityKernel>});
  registry.add(
      {.id = "hawkes.kernel_matrix",
       .doc = "K[i, j] = alpha exp(-beta |t_i - t_j|) in one triangle, 0 elsewhere and on "
              "the diagonal; by default the upper one in the estimator, the lower one in "
              "the table.",
       .shape_rule = "times [N], K [N, N] of one float dtype.",
       .edge_rule = "NaN times give 0. N = 0 gives none.",
       .f32_bound = 4,
       .inputs = {port("times")},
       .outputs = {port("K")},
       .attributes = {form_attribute(), number("alpha", kRequired, "Excitation."),
                      number("beta", kRequired, "Decay."),
                      text("triangle", "auto", "Which triangle.", {"auto", "lower", "upper"})},
       .infer = infer_kernel_matrix,
       .reference = float_kernel<KernelMatrixKernel>});
  registry.add({.id = "hawkes.log_likelihood",
                .doc = "Estimator: the sum of log intensities minus the integral. Table: ports "
                       "times, alpha, beta, mu, horizon T: sum of log max(1e-12, lambda(t_i)) - "
                       "(mu T + (alpha / beta) sum of 1 - exp(-beta (T - t_i))).",
                .shape_rule = "Estimator: intensities [N], integral [1]; ll is a scalar. "
                              "Table: times [N], scalars alpha, beta, mu, horizon; ll is a "
                              "scalar. One float dtype.",
                .edge_rule = "An intensity of 0 gives -infinity, below 0 NaN (estimator); "
                             "intensities count as at least 1e-12 (table). No events give "
                             "minus the integral.",
                .f32_bound = 8,
                .table_inputs = {"times", "alpha", "beta", "mu", "horizon"},
                .inputs = {port("intensities"), port("integral"), table_port("beta"),
                           table_port("mu"), table_port("horizon")},
                .outputs = {port("ll")},
                .attributes = {form_attribute()},
                .infer = infer_log_likelihood,
                .reference = float_kernel<LogLikelihoodKernel>});
}

}  // namespace quern
