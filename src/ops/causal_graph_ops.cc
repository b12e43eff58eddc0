// Causal models as graphs and matrices: counterfactuals, interventions, front door, Cholesky.
// Estimators compute in f64 and round once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/checked_math.h"
#include "base/fail.h"
#include "ops/blocked.h"
#include "ops/directed_graph.h"
#include "ops/elementwise.h"
#include "ops/index_access.h"
#include "ops/linear_algebra.h"
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

// cholesky ----------------------------------------------------------------------------------

// A square matrix of floats.
// a [N, N] to L [N, N]. The two extents must be one Dim, so a symbolic N works too.
Result<Types> infer_cholesky(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType a, float_port(context, 0, 2));
  QUERN_TRY(expect_port(context, 0, {a.dtype, {a.dims[0], a.dims[0]}}));
  return Types{a};
}

// Only the lower triangle is read, so nothing checks that a is symmetric.
// Entries above the diagonal are not read: the caller decides what a non-symmetric matrix means. A
// pivot is what remains of a diagonal entry; not above 0 includes NaN.
Result<void> run_cholesky(const KernelContext& context) {
  Matrix factor;
  const int64_t pivot = cholesky(load_matrix(context.inputs[0]), factor);
  if (pivot >= 0) {
    return fail::invalid("The matrix is not positive definite: its pivot {} is not above 0.",
                         pivot);
  }
  store_all(context.outputs[0], factor.values);
  return {};
}

// counterfactual ----------------------------------------------------------------------------

// The estimator takes one observation and a model; the table takes slopes per sample.
// Estimator: obs [N], intervention [2, N] (row 0 the mask, row 1 the values), model [N, N]. Table:
// y, slope, x, x_new, one type of rank 1.
Result<Types> infer_counterfactual(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType obs, float_port(context, 0, 1));
  if (is_table(context)) {
    for (const size_t port : {1, 2, 3}) QUERN_TRY(expect_port(context, port, obs));
    return Types{obs};
  }
  QUERN_TRY(expect_port(context, 1, {obs.dtype, {Dim::constant(2), obs.dims[0]}}));
  QUERN_TRY(expect_port(context, 2, {obs.dtype, {obs.dims[0], obs.dims[0]}}));
  return Types{obs};
}

// The table: a linear effect with known slope moves y by slope times the change of x.
// y + slope * (x_new - x), each step rounded, in the type of y; no order of nodes takes part.
struct SlopeKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> y(context.inputs[0]), slope(context.inputs[1]), x(context.inputs[2]),
        x_new(context.inputs[3]);
    FloatOutput<T> cf(context.outputs[0]);
    for (int64_t i = 0; i < cf.size(); ++i) cf[i] = y[i] + slope[i] * (x_new[i] - x[i]);
    return {};
  }
};

// The weighted sum of a node's parents.
// Column `node` of B weighs all nodes; those that are no parents have the weight 0, and 0 * NaN of
// such a node would be NaN.
double from_parents(const Matrix& model, const std::vector<double>& x, int64_t node) {
  return blocked_sum<double>(model.rows, [&](int64_t parent) {
    return model.at(parent, node) * x[static_cast<size_t>(parent)];
  });
}

// Abduction of the noise u = x - B^T x, action on the masked nodes, prediction of the others.
// The three steps of Pearl, Causality, section 7.1. The noise of a node is what the observed
// parents do not explain; it stays while the parents' new values come in. Nodes are visited parents
// first, so that cf of every parent is there. A fixed node ignores both its parents and its noise.
Result<void> run_counterfactual(const KernelContext& context) {
  if (is_table(context)) return float_kernel<SlopeKernel>(context);
  const auto obs = load_all<double>(context.inputs[0]);
  const Matrix intervention = load_matrix(context.inputs[1]),
               model = load_matrix(context.inputs[2]);
  // An edge is any weight but 0; NaN is one.
  QUERN_ASSIGN_OR_RETURN(const auto order, topological_order(model.rows, [&](int64_t i, int64_t j) {
                           return model.at(i, j) != 0;
                         }));
  std::vector<double> cf(obs.size());
  for (const int64_t node : order) {
    const double noise = obs[static_cast<size_t>(node)] - from_parents(model, obs, node);
    // Any mask but 0 fixes the node.
    const bool is_fixed = intervention.at(0, node) != 0;
    cf[static_cast<size_t>(node)] =
        is_fixed ? intervention.at(1, node) : from_parents(model, cf, node) + noise;
  }
  store_all(context.outputs[0], cf);
  return {};
}

// do_calculus -------------------------------------------------------------------------------

// The estimator returns mean and covariance in one vector; its extent must be known and fit.
// Estimator: cov [N, N], mask [N], values [N] to a vector [N + N^2] that holds both results, since
// the operation has one output; N must be a constant, because N + N^2 of a symbol is no Dim.
Result<Types> infer_do(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType matrix, float_port(context, 0, 2));
  QUERN_TRY(expect_port(context, 0, {matrix.dtype, {matrix.dims[0], matrix.dims[0]}}));
  QUERN_TRY(expect_integers(context, 1, {matrix.dims[0]}));
  if (is_table(context)) return Types{matrix};
  QUERN_TRY(expect_port(context, 2, {matrix.dtype, {matrix.dims[0]}}));
  QUERN_ASSIGN_OR_RETURN(const int64_t n, type_rules::constant_dim("cov", matrix, 0));
  const auto square = checked_multiply(n, n);
  const auto size = square ? checked_add(n, *square) : std::nullopt;
  if (size) return Types{{matrix.dtype, {Dim::constant(*size)}}};
  return fail::invalid("Port 'cov' has type {}; n + n * n elements are over the limit of 2^63 - 1.",
                       matrix.to_string());
}

// Intervening on a node cuts the edges that lead into it (Pearl, Causality, 2nd ed., definition
// 3.2.1).
// out[i, j] is at i * n + j: i % n in the loop is the column, which is the edge's target.
struct CutEdgesKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> adjacency(context.inputs[0]);
    const std::vector<int64_t> mask = load_indices(context.inputs[1]);
    FloatOutput<T> out(context.outputs[0]);
    const auto n = static_cast<int64_t>(mask.size());
    for (int64_t i = 0; i < out.size(); ++i) {
      out[i] = mask[static_cast<size_t>(i % n)] != 0 ? T(0) : adjacency[i];
    }
    return {};
  }
};

// A Gaussian with mean 0 given its fixed entries: S_rf S_ff^-1 from the left, solved column by
// column of the free entries.
// For fixed entries f with the values v_f and free entries r:
//   mean_r = S_rf S_ff^-1 v_f            cov_rr = S_rr - S_rf S_ff^-1 S_fr
// Row r of S_rf S_ff^-1 (`gain`) comes from solving S_ff g = S_fr with its Cholesky factor. Fixed
// entries get their value as mean, and rows and columns of zeros as covariance.
Result<void> run_do(const KernelContext& context) {
  if (is_table(context)) return float_kernel<CutEdgesKernel>(context);
  const Matrix cov = load_matrix(context.inputs[0]);
  const std::vector<int64_t> mask = load_indices(context.inputs[1]);
  const auto values = load_all<double>(context.inputs[2]);
  // In ascending order, both.
  std::vector<int64_t> fixed, free;
  for (int64_t i = 0; i < cov.rows; ++i) {
    (mask[static_cast<size_t>(i)] != 0 ? fixed : free).push_back(i);
  }
  // S_ff row by row; without fixed entries it is 0 x 0 and always has a factor.
  Matrix block(static_cast<int64_t>(fixed.size()), static_cast<int64_t>(fixed.size())), factor;
  for (size_t i = 0; i < block.values.size(); ++i) {
    block.values[i] = cov.at(fixed[i / fixed.size()], fixed[i % fixed.size()]);
  }
  const int64_t pivot = cholesky(block, factor);
  if (pivot >= 0) {
    return fail::invalid(
        "The covariance in 'cov' of the fixed entries is not positive definite: the pivot of entry "
        "{} is not above 0.",
        fixed[static_cast<size_t>(pivot)]);
  }
  // [mean | covariance], zeros where nothing is written below.
  std::vector<double> out(static_cast<size_t>(cov.rows + cov.rows * cov.rows));
  for (const int64_t i : fixed) out[static_cast<size_t>(i)] = values[static_cast<size_t>(i)];
  for (const int64_t i : free) {
    std::vector<double> row;
    for (const int64_t f : fixed) row.push_back(cov.at(i, f));
    const auto gain = solve_cholesky(factor, row);
    // blocked(256) over the fixed entries, of the gain times what `term` gives for each.
    const auto weighted = [&](auto&& term) {
      return blocked_sum<double>(block.rows, [&](int64_t k) {
        return gain[static_cast<size_t>(k)] * term(fixed[static_cast<size_t>(k)]);
      });
    };
    out[static_cast<size_t>(i)] =
        weighted([&](int64_t f) { return values[static_cast<size_t>(f)]; });
    for (const int64_t j : free) {
      out[static_cast<size_t>(cov.rows + i * cov.rows + j)] =
          cov.at(i, j) - weighted([&](int64_t f) { return cov.at(f, j); });
    }
  }
  store_all(context.outputs[0], out);
  return {};
}

// frontdoor_adjustment ----------------------------------------------------------------------

// The table is one sum; the estimator's bins must be few enough for a matrix of their pairs.
// Table: p_m_given_x [M], p_y_given_xm [X, M], p_x [X]. Estimator: Y, X, M of one length.
Result<Types> infer_frontdoor(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType first, float_port(context, 0, 1));
  if (is_table(context)) {
    QUERN_ASSIGN_OR_RETURN(const TensorType p_x, float_port(context, 2, 1));
    QUERN_TRY(expect_port(context, 1, {first.dtype, {p_x.dims[0], first.dims[0]}}));
    QUERN_TRY(expect_port(context, 2, {first.dtype, p_x.dims}));
    return Types{{first.dtype, {}}};
  }
  QUERN_TRY(expect_port(context, 1, first));
  QUERN_TRY(expect_port(context, 2, first));
  const int64_t bins = context.attributes.integer("bins");
  // Two matrices of bins x bins are made: 4,096 bins are 128 MiB each.
  if (bins < 1 || bins > 4096) {
    return fail::invalid("Attribute 'bins' is {}; it must be from 1 to 4096.", bins);
  }
  return Types{{first.dtype, {Dim::constant(bins)}}};
}

// Sums of p_m * p_x * p_y over x and m.
// For each m the sum over x comes first, then its product with p_m; both sums are blocked(256).
struct FrontdoorTableKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> p_m(context.inputs[0]), p_y(context.inputs[1]), p_x(context.inputs[2]);
    FloatOutput<T> effect(context.outputs[0]);
    effect[0] = blocked_sum<T>(p_m.size(), [&](int64_t m) {
      return p_m[m] * blocked_sum<T>(p_x.size(),
                                     [&](int64_t x) { return p_y[x * p_m.size() + m] * p_x[x]; });
    });
    return {};
  }
};

// bin = rank * bins / N, ranks stable: equal values keep their order.
// Equal-frequency bins keep the same number of samples in each, up to one, whatever the values are.
// NaN comes last, as in NumPy's argsort: a comparison that fails both ways with everything would be
// no order, and the bins would depend on the sorting algorithm.
std::vector<size_t> equal_frequency_bins(const std::vector<double>& values, int64_t bins) {
  std::vector<size_t> order(values.size()), result(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return std::isnan(values[b]) ? !std::isnan(values[a]) : values[a] < values[b];
  });
  for (size_t rank = 0; rank < order.size(); ++rank) {
    result[order[rank]] = rank * static_cast<size_t>(bins) / order.size();
  }
  return result;
}

// E[Y | do X = b] = sum over m of P(m | b) sum over x of P(x) E[Y | m, x], over bins.
// Pearl's front-door formula (Causality, theorem 3.3.4) with frequencies for the probabilities:
//   P(m | b) = count(m, b) / count(b)   P(x) = count(x) / N   E[Y | m, x] = sum(m, x) / count(m, x)
// A cell without samples is 0 / 0, and its NaN spreads: the data do not say what its mean is.
Result<void> run_frontdoor(const KernelContext& context) {
  if (is_table(context)) return float_kernel<FrontdoorTableKernel>(context);
  const auto y = load_all<double>(context.inputs[0]);
  const int64_t bins = context.attributes.integer("bins");
  const auto x_bin = equal_frequency_bins(load_all<double>(context.inputs[1]), bins);
  const auto m_bin = equal_frequency_bins(load_all<double>(context.inputs[2]), bins);
  Matrix sums(bins, bins), counts(bins, bins);  // [m, x]
  // Counts are doubles, exact far past any number of samples.
  std::vector<double> x_counts(static_cast<size_t>(bins)), effect;
  for (size_t s = 0; s < y.size(); ++s) {
    const auto m = static_cast<int64_t>(m_bin[s]), x = static_cast<int64_t>(x_bin[s]);
    sums.at(m, x) = sums.at(m, x) + y[s];
    counts.at(m, x) += 1;
    x_counts[x_bin[s]] += 1;
  }
  for (int64_t b = 0; b < bins; ++b) {
    double total = 0;
    for (int64_t m = 0; m < bins; ++m) {
      double mean = 0;
      for (int64_t x = 0; x < bins; ++x) {
        const double p_x = x_counts[static_cast<size_t>(x)] / static_cast<double>(y.size());
        mean = mean + p_x * (sums.at(m, x) / counts.at(m, x));
      }
      const double p_m = counts.at(m, b) / x_counts[static_cast<size_t>(b)];
      total = total + p_m * mean;
    }
    effect.push_back(total);
  }
  store_all(context.outputs[0], effect);
  return {};
}

}  // namespace

void register_causal_graph_ops(OpRegistry& registry) {
  registry.add({.id = "causal.cholesky",
                .doc = "The lower factor L of a = L L^T, in f64; the lower triangle of a is read, "
                       "zeros above. A matrix that is not positive definite is an error.",
                .shape_rule = "a [N, N], L [N, N] of one float dtype.",
                .edge_rule = "A pivot that is not above 0 (NaN included) is an error. N = 0 "
                             "gives an empty factor.",
                .f32_bound = 16,
                .inputs = {port("a")},
                .outputs = {port("L")},
                .infer = infer_cholesky,
                .reference = run_cholesky});
  registry.add({.id = "causal.counterfactual",
                .doc = "Estimator: a linear model x = B^T x + u with B [N, N] (source, target), "
                       "intervention [2, N] (mask, values): the noise of obs, the fixed nodes, the "
                       "others anew; a cycle is an error. Table: ports y, slope, x, x_new: y + "
                       "slope (x_new - x).",
                .shape_rule = "Estimator: obs [N], intervention [2, N], model [N, N]; cf "
                              "[N]. Table: y, slope, x, x_new, cf [N]. One float dtype.",
                .edge_rule = "NaN and infinities spread along the edges. A cycle in the "
                             "model is an error. N = 0 gives none.",
                .f32_bound = 8,
                .table_inputs = {"y", "slope", "x", "x_new"},
                .inputs = {port("obs"), port("intervention"), port("model"), table_port("x_new")},
                .outputs = {port("cf")},
                .attributes = {form_attribute()},
                .infer = infer_counterfactual,
                .reference = run_counterfactual});
  registry.add({.id = "causal.do_calculus",
                .doc = "Estimator: a Gaussian of covariance cov and mean 0 given the values of the "
                       "masked entries (conditioning): [mean N | covariance N^2]. Table: ports adj "
                       "[N, N], mask [N]: the columns of masked nodes become 0.",
                .shape_rule = "Estimator: cov [N, N], mask [N] of integers, values [N]; adj "
                              "[N + N^2]. Table: adj [N, N], mask [N]; adj [N, N].",
                .edge_rule = "A covariance of the masked entries that is not positive "
                             "definite is an error (estimator). N = 0 gives none.",
                .f32_bound = 32,
                .table_inputs = {"adj", "mask"},
                .inputs = {port("cov"), port("mask"), optional_port("values")},
                .outputs = {port("adj")},
                .attributes = {form_attribute()},
                .infer = infer_do,
                .reference = run_do});
  registry.add({.id = "causal.frontdoor_adjustment",
                .doc =
                    "Estimator: E[Y | do X = b] for each of 'bins' bins of equal frequency of X, "
                    "through M; an empty cell gives NaN. Table: ports p_m_given_x [M], "
                    "p_y_given_xm [X, M], p_x [X]: the sum of their products.",
                .shape_rule = "Estimator: Y, X, M [N]; effect [bins]. Table: p_m_given_x "
                              "[M], p_y_given_xm [X, M], p_x [X]; effect is a scalar. One "
                              "float dtype.",
                .edge_rule = "Cells without samples give NaN (estimator); NaN spreads. "
                             "Empty tables sum to 0.",
                .f32_bound = 16,
                .table_inputs = {"p_m_given_x", "p_y_given_xm", "p_x"},
                .inputs = {port("Y"), port("X"), port("M")},
                .outputs = {port("effect")},
                .attributes = {form_attribute(), integer("bins", 2, "Bins of the estimator.")},
                .infer = infer_frontdoor,
                .reference = run_frontdoor});
}

}  // namespace quern
