// Causal effects by regression: backdoor adjustment, CATE, instrumental variables, and the
// likelihood of a linear Gaussian graph. Estimators compute in f64 and round once.
#include <cmath>
#include <limits>
#include <vector>

#include "base/fail.h"
#include "ops/blocked.h"
#include "ops/directed_graph.h"
#include "ops/elementwise.h"
#include "ops/index_access.h"
#include "ops/lanes.h"
#include "ops/linear_algebra.h"
#include "ops/math/strict_math.h"
#include "ops/max_min.h"
#include "ops/register_ops.h"
#include "ops/two_forms.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// Rounds all values once to the dtype of the view.
void store_all(const TensorView& view, const std::vector<double>& values) {
  store_row(view, 0, static_cast<int64_t>(values.size()), values.data());
}

// backdoor_adjustment -----------------------------------------------------------------------

// Table: p_y_given_xz [..., Z], p_z [Z] to [...]. Estimator: Y [N], X [N, a], Z [N, b] to the a
// coefficients of X.
Result<Types> infer_backdoor(const InferContext& context) {
  if (is_table(context)) {
    QUERN_ASSIGN_OR_RETURN(TensorType p, float_port(context, 0));
    QUERN_TRY(type_rules::expect_rank_at_least("p_y_given_xz", p, 1));
    QUERN_TRY(expect_port(context, 1, {p.dtype, {p.dims.back()}}));
    p.dims.pop_back();
    return Types{p};
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType y, float_port(context, 0, 1));
  QUERN_ASSIGN_OR_RETURN(const TensorType x, float_port(context, 1, 2));
  QUERN_ASSIGN_OR_RETURN(const TensorType z, float_port(context, 2, 2));
  QUERN_TRY(expect_port(context, 1, {y.dtype, {y.dims[0], x.dims[1]}}));
  QUERN_TRY(expect_port(context, 2, {y.dtype, {y.dims[0], z.dims[1]}}));
  return Types{{y.dtype, {x.dims[1]}}};
}

// effect[i] = sum over z of P(y | x_i, z) P(z), the adjustment formula (Pearl, Causality, theorem
// 3.3.2), in the order blocked(256).
struct StratifiedKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> conditional(context.inputs[0]), p_z(context.inputs[1]);
    FloatOutput<T> effect(context.outputs[0]);
    for (int64_t i = 0; i < effect.size(); ++i) {
      const T* row = conditional.data() + i * p_z.size();
      effect[i] = blocked_sum<T>(p_z.size(), [&](int64_t z) { return row[z] * p_z[z]; });
    }
    return {};
  }
};

// Columns of the design: the intercept, X, Z. The ridge of 1e-10 keeps equal columns solvable and
// moves a well-posed fit by less than f32 shows; coefficients of X follow that of the intercept.
Result<void> run_backdoor(const KernelContext& context) {
  if (is_table(context)) return float_kernel<StratifiedKernel>(context);
  const Matrix x = load_matrix(context.inputs[1]), z = load_matrix(context.inputs[2]);
  const auto coefficients = least_squares(design_with_intercept(x.rows, {&x, &z}),
                                          load_all<double>(context.inputs[0]), 1e-10);
  store_all(context.outputs[0], {coefficients.begin() + 1, coefficients.begin() + 1 + x.cols});
  return {};
}

// cate --------------------------------------------------------------------------------------

// Table: two tensors of one type, of any rank. Estimator: X [N, d], T [N], Y [N] to an effect per
// sample.
Result<Types> infer_cate(const InferContext& context) {
  if (is_table(context)) {
    QUERN_ASSIGN_OR_RETURN(const TensorType treated, float_port(context, 0));
    QUERN_TRY(expect_port(context, 1, treated));
    return Types{treated};
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType x, float_port(context, 0, 2));
  const TensorType samples{x.dtype, {x.dims[0]}};
  QUERN_TRY(expect_port(context, 1, samples));
  QUERN_TRY(expect_port(context, 2, samples));
  return Types{samples};
}

// The table's formula, as BinaryKernel takes it.
struct Difference {
  template <class T>
  T operator()(T a, T b) const {
    return a - b;
  }
};

// The fit of one arm, evaluated at all samples; NaNs where the arm does not determine it.
// The rows of the members make a smaller design of the same columns, whose fit is then evaluated
// for all samples: what each would have had in this arm. Without a ridge, an arm with fewer members
// than columns has a singular system and gives NaN.
std::vector<double> fit_arm(const Matrix& design, const std::vector<double>& y,
                            const std::vector<bool>& is_member) {
  Matrix arm(0, design.cols);
  std::vector<double> arm_y;
  for (int64_t s = 0; s < design.rows; ++s) {
    if (!is_member[static_cast<size_t>(s)]) continue;
    for (int64_t j = 0; j < design.cols; ++j) arm.values.push_back(design.at(s, j));
    arm_y.push_back(y[static_cast<size_t>(s)]);
    ++arm.rows;
  }
  return predict(design, least_squares(arm, arm_y, 0));
}

// A T-learner with linear models: fit treated and control apart, subtract. 0.5 separates 0 from 1
// and shares of them; NaN counts as control, since no comparison holds for it.
Result<void> run_cate(const KernelContext& context) {
  if (is_table(context)) return float_kernel<BinaryKernel<Difference>>(context);
  const Matrix x = load_matrix(context.inputs[0]);
  const Matrix design = design_with_intercept(x.rows, {&x});
  const auto y = load_all<double>(context.inputs[2]);
  std::vector<bool> is_treated, is_control;
  for (const double t : load_all<double>(context.inputs[1])) {
    is_treated.push_back(t > 0.5);
    is_control.push_back(!(t > 0.5));
  }
  auto effect = fit_arm(design, y, is_treated);
  const auto control = fit_arm(design, y, is_control);
  for (size_t s = 0; s < effect.size(); ++s) effect[s] = effect[s] - control[s];
  store_all(context.outputs[0], effect);
  return {};
}

// iv_estimate -------------------------------------------------------------------------------

// X may be a vector or a matrix; the result has one coefficient for each of its columns.
Result<Types> infer_iv(const InferContext& context) {
  if (is_table(context)) {
    QUERN_ASSIGN_OR_RETURN(const TensorType z, float_port(context, 0, 1));
    QUERN_TRY(expect_port(context, 1, z));
    QUERN_TRY(expect_port(context, 2, z));
    return Types{{z.dtype, {}}};
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType z, float_port(context, 0, 2));
  QUERN_ASSIGN_OR_RETURN(const TensorType x, float_port(context, 1));
  const Dim columns = x.rank() == 2 ? x.dims[1] : Dim::constant(1);
  // A vector X is compared as [N], not as [N, 1].
  const std::vector<Dim> wanted =
      x.rank() == 2 ? std::vector<Dim>{z.dims[0], columns} : std::vector<Dim>{z.dims[0]};
  QUERN_TRY(expect_port(context, 1, {z.dtype, wanted}));
  QUERN_TRY(expect_port(context, 2, {z.dtype, {z.dims[0]}}));
  return Types{{z.dtype, {columns}}};
}

// Wald's ratio Cov(z, y) / Cov(z, x), both with lanes(32) means and the divisor N, which cancels. A
// covariance below 1e-12 has no usable quotient, and gives 0.
struct CovarianceRatioKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> z(context.inputs[0]), x(context.inputs[1]), y(context.inputs[2]);
    FloatOutput<T> beta(context.outputs[0]);
    const T denominator = covariance(z, x);
    const bool is_zero = std::abs(denominator) < static_cast<T>(1e-12);
    beta[0] = is_zero ? T(0) : covariance(z, y) / denominator;
    return {};
  }

  // Two passes: the means first, then the products of the differences.
  template <class T>
  static T covariance(const FloatInput<T>& a, const FloatInput<T>& b) {
    const int64_t n = a.size();
    const T mean_a = lanes_mean<T>(n, [&](int64_t i) { return a[i]; });
    const T mean_b = lanes_mean<T>(n, [&](int64_t i) { return b[i]; });
    return lanes_mean<T>(n, [&](int64_t i) { return (a[i] - mean_a) * (b[i] - mean_b); });
  }
};

// Two-stage least squares: the fit of each column of X by Z stands in for the column.
// Stage 1 replaces each column of X by its fit on [1, Z]; stage 2 regresses Y on [1, fitted X].
// Without a ridge in either, since its bias would carry over from stage to stage.
Result<void> run_iv(const KernelContext& context) {
  if (is_table(context)) return float_kernel<CovarianceRatioKernel>(context);
  const Matrix z = load_matrix(context.inputs[0]);
  Matrix x = load_matrix(context.inputs[1]);
  const Matrix instruments = design_with_intercept(z.rows, {&z});
  for (int64_t j = 0; j < x.cols; ++j) {
    std::vector<double> column;
    for (int64_t s = 0; s < x.rows; ++s) column.push_back(x.at(s, j));
    const auto fitted = predict(instruments, least_squares(instruments, column, 0));
    for (int64_t s = 0; s < x.rows; ++s) x.at(s, j) = fitted[static_cast<size_t>(s)];
  }
  const auto beta =
      least_squares(design_with_intercept(x.rows, {&x}), load_all<double>(context.inputs[2]), 0);
  store_all(context.outputs[0], {beta.begin() + 1, beta.end()});
  return {};
}

// dag_markov_factorization ------------------------------------------------------------------

// Table: p [N] to a scalar. Estimator: X [N, V] and edges [V, V] of integers.
Result<Types> infer_dag(const InferContext& context) {
  if (is_table(context)) {
    QUERN_ASSIGN_OR_RETURN(const TensorType p, float_port(context, 0, 1));
    return Types{{p.dtype, {}}};
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType x, float_port(context, 0, 2));
  QUERN_TRY(expect_integers(context, 1, {x.dims[1], x.dims[1]}));
  return Types{{x.dtype, {}}};
}

// The product of the factors p(x_i | parents_i), none below 1e-12, so that one impossible factor
// does not hide the others.
struct ProductKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> p(context.inputs[0]);
    FloatOutput<T> result(context.outputs[0]);
    result[0] = lanes_product<T>(
        p.size(), [&](int64_t i) { return strict_max(static_cast<T>(1e-12), p[i]); });
    return {};
  }
};

// log likelihood of a node given its parents: a regression with an intercept, variance / N.
// With the maximum-likelihood variance s^2 = RSS / N the log likelihood of N normal residuals is
// -N/2 (log(2 pi s^2) + 1). s^2 = 0 gives +infinity: the parents explain the node exactly.
double node_likelihood(const Matrix& x, int64_t node, const std::vector<int64_t>& adjacency) {
  std::vector<int64_t> columns;
  for (int64_t j = 0; j < x.cols; ++j) {
    // Column `node` of the adjacency: edges (j, node).
    if (adjacency[static_cast<size_t>(j * x.cols + node)] != 0) columns.push_back(j);
  }
  Matrix parents(x.rows, static_cast<int64_t>(columns.size()));
  std::vector<double> y;
  for (int64_t s = 0; s < x.rows; ++s) {
    y.push_back(x.at(s, node));
    for (size_t j = 0; j < columns.size(); ++j) {
      parents.at(s, static_cast<int64_t>(j)) = x.at(s, columns[j]);
    }
  }
  // A root has the intercept alone: its mean.
  const Matrix design = design_with_intercept(x.rows, {&parents});
  const auto fitted = predict(design, least_squares(design, y, 0));
  const double variance = lanes_mean<double>(x.rows, [&](int64_t s) {
    const double rest = y[static_cast<size_t>(s)] - fitted[static_cast<size_t>(s)];
    return rest * rest;
  });
  const double two_pi = 6.283185307179586476925;
  return -0.5 * static_cast<double>(x.rows) * (strict_log(two_pi * variance) + 1);
}

// The order itself is not used; asking for it finds cycles, for which the product of conditionals
// is no density. The nodes' terms add in ascending index.
Result<void> run_dag(const KernelContext& context) {
  if (is_table(context)) return float_kernel<ProductKernel>(context);
  const Matrix x = load_matrix(context.inputs[0]);
  const std::vector<int64_t> adjacency = load_indices(context.inputs[1]);
  QUERN_TRY(topological_order(x.cols, [&](int64_t i, int64_t j) {
    return adjacency[static_cast<size_t>(i * x.cols + j)] != 0;
  }));
  double sum = 0;
  for (int64_t node = 0; node < x.cols; ++node) sum = sum + node_likelihood(x, node, adjacency);
  store_all(context.outputs[0], {sum});
  return {};
}

}  // namespace

void register_causal_regression_ops(OpRegistry& registry) {
  registry.add({.id = "causal.backdoor_adjustment",
                .doc =
                    "Estimator: the coefficients of X in the regression of Y [N] on 1, X [N, a], "
                    "Z [N, b] with a ridge of 1e-10. Table: ports p_y_given_xz [..., Z], p_z "
                    "[Z]: their product summed over z.",
                .shape_rule = "Estimator: Y [N], X [N, a], Z [N, b]; effect [a]. Table: "
                              "p_y_given_xz [..., Z], p_z [Z]; effect [...]. One float dtype.",
                .edge_rule = "NaN or infinity in a sample gives NaN coefficients "
                             "(estimator) and spreads to its row (table). No samples give "
                             "zeros.",
                .f32_bound = 64,
                .table_inputs = {"p_y_given_xz", "p_z"},
                .inputs = {port("Y"), port("X"), optional_port("Z")},
                .outputs = {port("effect")},
                .attributes = {form_attribute()},
                .infer = infer_backdoor,
                .reference = run_backdoor});
  registry.add({.id = "causal.cate",
                .doc = "Estimator: X [N, d], T [N] (treated above 0.5), Y [N]: the difference of "
                       "the two arms' regressions at each row of X, NaN where an arm is empty or "
                       "does not determine its fit. Table: ports treated, control: a difference.",
                .shape_rule = "Estimator: X [N, d], T, Y [N]; cate [N]. Table: treated, "
                              "control, cate of one type. One float dtype.",
                .edge_rule = "An empty arm, or one that does not determine its fit, gives "
                             "NaN everywhere. No elements give none.",
                .f32_bound = 64,
                .table_inputs = {"treated", "control"},
                .inputs = {port("X"), port("T"), optional_port("Y")},
                .outputs = {port("cate")},
                .attributes = {form_attribute()},
                .infer = infer_cate,
                .reference = run_cate});
  registry.add({.id = "causal.iv_estimate",
                .doc = "Estimator: two-stage least squares of Y [N] on X [N] or [N, a] with the "
                       "instruments Z [N, b], intercepts in both. Table: Cov(Z, Y) / Cov(Z, X), 0 "
                       "where |Cov(Z, X)| < 1e-12.",
                .shape_rule = "Estimator: Z [N, b], X [N] or [N, a], Y [N]; beta [a]. Table: "
                              "Z, X, Y [N]; beta is a scalar. One float dtype.",
                .edge_rule = "Instruments that do not determine the fit give NaN "
                             "(estimator); a covariance with X below 1e-12 gives 0 (table); "
                             "NaN spreads.",
                .f32_bound = 64,
                .inputs = {port("Z"), port("X"), port("Y")},
                .outputs = {port("beta")},
                .attributes = {form_attribute()},
                .infer = infer_iv,
                .reference = run_iv});
  registry.add({.id = "causal.dag_markov_factorization",
                .doc = "Estimator: the log likelihood of X [N, V] with each node regressed on its "
                       "parents, adj [V, V] (source, target), variance / N; a cycle is an error. "
                       "Table: port p: the product of max(1e-12, p).",
                .shape_rule = "Estimator: X [N, V], adj [V, V] of integers; logp is a "
                              "scalar. Table: p [N]; logp is a scalar.",
                .edge_rule = "A cycle is an error. A node without residual variance gives "
                             "+infinity. No factors give 1 (table).",
                .f32_bound = 64,
                .table_inputs = {"p"},
                .inputs = {port("X"), optional_port("adj")},
                .outputs = {port("logp")},
                .attributes = {form_attribute()},
                .infer = infer_dag,
                .reference = run_dag});
}

}  // namespace quern
