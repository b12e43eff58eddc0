// Markov blankets: flows, mutual information, partition.
#include <cmath>
#include <limits>
#include <vector>

#include "base/fail.h"
#include "ops/blocked.h"
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

// Parts of a graph around its internal nodes: the blanket is sensory and active nodes, the rest is
// external. Labels in tables are these numbers; any other number is in no part.
enum Label : int64_t { kInternal = 0, kSensory = 1, kActive = 2, kExternal = 3 };

// flows -------------------------------------------------------------------------------------

// Estimator: x [n], W [m, n] and a bias [m] give flow [m]. Table: mi [N, N] and a label for each
// node give flow [N]. The matrix is read first, since its extents fix all others.
Result<Types> infer_flow(const InferContext& context) {
  if (is_table(context)) {
    QUERN_ASSIGN_OR_RETURN(const TensorType mi, float_port(context, 0, 2));
    QUERN_TRY(expect_port(context, 0, {mi.dtype, {mi.dims[0], mi.dims[0]}}));
    QUERN_TRY(expect_integers(context, 1, {mi.dims[0]}));
    return Types{{mi.dtype, {mi.dims[0]}}};
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType w, float_port(context, 1, 2));
  const TensorType flow{w.dtype, {w.dims[0]}};
  QUERN_TRY(expect_port(context, 0, {w.dtype, {w.dims[1]}}));
  if (context.inputs[2] != nullptr) QUERN_TRY(expect_port(context, 2, flow));
  return Types{flow};
}

// The sum of the mutual information with internal nodes, at nodes with this label.
template <class T>
void table_flow(const KernelContext& context, Label label) {
  const FloatInput<T> mi(context.inputs[0]);
  const std::vector<int64_t> labels = load_indices(context.inputs[1]);
  FloatOutput<T> flow(context.outputs[0]);
  const int64_t n = flow.size();
  for (int64_t i = 0; i < n; ++i) {
    const bool is_chosen = labels[static_cast<size_t>(i)] == label;
    // Other nodes add 0 at their own index: the lanes of the sum depend on N alone, not on the
    // labels.
    flow[i] = !is_chosen ? T(0) : lanes_sum<T>(n, [&](int64_t j) {
      return labels[static_cast<size_t>(j)] == kInternal ? mi[i * n + j] : T(0);
    });
  }
}

// W x, each row a blocked(256) sum as in a matrix product, then the bias in one more rounding.
template <class T>
void affine_flow(const KernelContext& context) {
  const FloatInput<T> x(context.inputs[0]), w(context.inputs[1]), bias(context.inputs[2]);
  FloatOutput<T> flow(context.outputs[0]);
  for (int64_t i = 0; i < flow.size(); ++i) {
    const T sum = blocked_sum<T>(x.size(), [&](int64_t k) { return w[i * x.size() + k] * x[k]; });
    flow[i] = bias.is_present() ? sum + bias[i] : sum;
  }
}

// The table keeps the rows of `label`. The estimator's formula is the same for every flow: the
// caller's W says from where to where it goes.
template <Label label>
struct FlowKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    if (is_table(context))
      table_flow<T>(context, label);
    else
      affine_flow<T>(context);
    return {};
  }
};

// mutual_information ------------------------------------------------------------------------

// Estimator: samples X [N, a] and Y [N, b]. Table: a joint distribution [A, B] in one port.
Result<Types> infer_mutual_information(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType x, float_port(context, 0, 2));
  if (is_table(context)) return Types{{x.dtype, {}}};
  QUERN_ASSIGN_OR_RETURN(const TensorType y, float_port(context, 1, 2));
  QUERN_TRY(expect_port(context, 1, {x.dtype, {x.dims[0], y.dims[1]}}));
  return Types{{x.dtype, {}}};
}

// log det of the covariance (divided by the samples) of columns; -inf where it is singular.
double log_determinant(const Matrix& samples) {
  Matrix centred = samples, covariance(samples.cols, samples.cols), factor;
  const auto n = static_cast<double>(samples.rows);
  for (int64_t j = 0; j < samples.cols; ++j) {
    const double mean =
        lanes_mean<double>(samples.rows, [&](int64_t s) { return samples.at(s, j); });
    for (int64_t s = 0; s < samples.rows; ++s) centred.at(s, j) = samples.at(s, j) - mean;
  }
  for (int64_t i = 0; i < samples.cols; ++i) {
    // The lower triangle alone, as cholesky reads no more.
    for (int64_t j = 0; j <= i; ++j) {
      covariance.at(i, j) =
          blocked_sum<double>(samples.rows,
                              [&](int64_t s) { return centred.at(s, i) * centred.at(s, j); }) /
          n;
    }
  }
  if (cholesky(covariance, factor) >= 0) return -std::numeric_limits<double>::infinity();
  // det S = product of the squared diagonal of its factor, so log det S = 2 * sum of logarithms.
  double sum = 0;
  for (int64_t i = 0; i < factor.rows; ++i) sum = sum + strict_log(factor.at(i, i));
  return 2 * sum;
}

// Jointly Gaussian X and Y share (log det S_x + log det S_y - log det S_xy) / 2 nats (Cover and
// Thomas, Elements of Information Theory, chapter 8). Rounding can leave a small negative number,
// which becomes 0. Infinity where only the joint covariance is singular, NaN where that of X or Y
// is.
double gaussian_information(const KernelContext& context) {
  const Matrix x = load_matrix(context.inputs[0]), y = load_matrix(context.inputs[1]);
  Matrix both(x.rows, x.cols + y.cols);
  for (int64_t s = 0; s < x.rows; ++s) {
    for (int64_t j = 0; j < x.cols; ++j) both.at(s, j) = x.at(s, j);
    for (int64_t j = 0; j < y.cols; ++j) both.at(s, x.cols + j) = y.at(s, j);
  }
  const double sum = (log_determinant(x) + log_determinant(y)) - log_determinant(both);
  return strict_max(0.5 * sum, 0.0);
}

// The sum over cells of p log(p / (p_x p_y)) in nats; the marginals are row and column sums of the
// table, which is not normalised first. A cell of 0 adds 0, the limit, before any logarithm. 1e-12
// keeps a product of 0 from dividing.
template <class T>
T table_information(const TensorView& joint) {
  const FloatInput<T> p(joint);
  const int64_t rows = joint.shape[0], cols = joint.shape[1];
  std::vector<T> row_sums, col_sums;
  for (int64_t i = 0; i < rows; ++i) {
    row_sums.push_back(lanes_sum<T>(cols, [&](int64_t j) { return p[i * cols + j]; }));
  }
  for (int64_t j = 0; j < cols; ++j) {
    col_sums.push_back(lanes_sum<T>(rows, [&](int64_t i) { return p[i * cols + j]; }));
  }
  return lanes_sum<T>(p.size(), [&](int64_t k) {
    const T product =
        row_sums[static_cast<size_t>(k / cols)] * col_sums[static_cast<size_t>(k % cols)];
    return p[k] == 0 ? T(0) : p[k] * strict_log(p[k] / (product + static_cast<T>(1e-12)));
  });
}

// The estimator computes in f64 for every dtype, because determinants of covariances are small, and
// rounds once. The table computes in the type of its cells.
struct MutualInformationKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    FloatOutput<T> mi(context.outputs[0]);
    mi[0] = is_table(context) ? table_information<T>(context.inputs[0])
                              : static_cast<T>(gaussian_information(context));
    return {};
  }
};

// partition ---------------------------------------------------------------------------------

// The estimator reorders the elements of x, the table writes a label for each node (i64).
Result<Types> infer_partition(const InferContext& context) {
  if (is_table(context)) {
    const TensorType& internal = *context.inputs[1];
    QUERN_TRY(type_rules::expect_rank("internal", internal, 1));
    QUERN_TRY(expect_integers(context, 1, internal.dims));
    QUERN_TRY(expect_integers(context, 0, {internal.dims[0], internal.dims[0]}));
    return Types{{DType::kI64, internal.dims}};
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType x, float_port(context, 0, 1));
  QUERN_TRY(expect_integers(context, 1, {Dim::constant(4), x.dims[0]}));
  return Types{x};
}

// Elements of x under the masks sensory, active, internal, external, one after the other.
struct GatherKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> x(context.inputs[0]);
    const std::vector<int64_t> masks = load_indices(context.inputs[1]);
    FloatOutput<T> p(context.outputs[0]);
    int64_t count = 0;
    // The masks stand one after the other, so i mod N is the element that mask entry i selects.
    // Counting goes on past the end of p: the error names how many were selected.
    for (size_t i = 0; i < masks.size(); ++i) {
      if (masks[i] == 0) continue;
      if (count < p.size()) p[count] = x[static_cast<int64_t>(i) % x.size()];
      ++count;
    }
    if (count == p.size()) return {};
    return fail::invalid("Port 'masks' selects {} elements; it must select {}, those of 'p'.",
                         count, p.size());
  }
};

// A node with an edge to an internal node is sensory, one with an edge from one active.
Result<void> label_nodes(const KernelContext& context) {
  // adjacency[a * n + b] is the edge from a to b.
  const std::vector<int64_t> adjacency = load_indices(context.inputs[0]);
  const std::vector<int64_t> internal = load_indices(context.inputs[1]);
  const size_t n = internal.size();
  for (size_t node = 0; node < n; ++node) {
    bool is_parent = false, is_child = false;
    for (size_t other = 0; other < n; ++other) {
      if (internal[other] == 0) continue;
      is_parent = is_parent || adjacency[node * n + other] != 0;
      is_child = is_child || adjacency[other * n + node] != 0;
    }
    // An edge each way makes a node sensory: the test for parents comes first.
    const Label outer = is_parent ? kSensory : (is_child ? kActive : kExternal);
    context.outputs[0].as<int64_t>()[node] = internal[node] != 0 ? kInternal : outer;
  }
  return {};
}

Result<void> run_partition(const KernelContext& context) {
  return is_table(context) ? label_nodes(context) : float_kernel<GatherKernel>(context);
}

// The definition of both flows. `input` names port 0 of the estimator; `where` says in the document
// which rows a table keeps.
OpDef flow_op(std::string id, std::string where, std::string input, OpDef::Kernel kernel) {
  return {.id = std::move(id),
          .doc =
              "Estimator: W x + bias, sums blocked(256). Table: ports mi [N, N], labels [N]: "
              "the sum of mi over internal nodes (label 0) at " +
              std::move(where) + ", else 0; lanes(32).",
          .shape_rule =
              "Estimator: the vector [n], W [m, n], bias [m]; flow [m]. "
              "Table: mi [N, N], labels [N] of integers; flow [N]. One float "
              "dtype.",
          .edge_rule =
              "NaN and infinities spread to the rows that read them. N = 0 "
              "gives none.",
          .f32_bound = 32,
          .table_inputs = {"mi", "labels"},
          .inputs = {port(std::move(input)), port("W"), optional_port("bias")},
          .outputs = {port("flow")},
          .attributes = {form_attribute()},
          .infer = infer_flow,
          .reference = kernel};
}

}  // namespace

void register_markov_blanket_ops(OpRegistry& registry) {
  registry.add(flow_op("markov_blanket.flow_active", "active nodes (label 2)", "x_int",
                       float_kernel<FlowKernel<kActive>>));
  registry.add(flow_op("markov_blanket.flow_internal", "internal nodes", "x_sens",
                       float_kernel<FlowKernel<kInternal>>));
  registry.add({.id = "markov_blanket.mutual_information",
                .doc =
                    "Estimator: half of log det S_x + log det S_y - log det S_xy, at least 0, of "
                    "the covariances of samples X [N, a], Y [N, b], in f64. Table: port joint: "
                    "the sum of p log(p / (p_x p_y + 1e-12)); zeros add 0.",
                .shape_rule = "Estimator: X [N, a], Y [N, b]; mi is a scalar. Table: joint "
                              "[A, B]; mi is a scalar. One float dtype.",
                .edge_rule = "A singular joint covariance gives +infinity, a singular one of X or "
                             "Y alone NaN; NaN gives NaN (estimator). No cells give 0 (table).",
                .f32_bound = 64,
                .table_inputs = {"joint"},
                .inputs = {port("X"), optional_port("Y")},
                .outputs = {port("mi")},
                .attributes = {form_attribute()},
                .infer = infer_mutual_information,
                .reference = float_kernel<MutualInformationKernel>});
  registry.add({.id = "markov_blanket.partition",
                .doc = "Estimator: the elements of x under four masks [4, N] (sensory, active, "
                       "internal, external), one after the other. Table: ports adjacency [N, N] "
                       "(source, target), internal [N]: label 0 internal, 1 sensory (an edge to an "
                       "internal node, also where both ways), 2 active (an edge from one), 3 "
                       "external.",
                .shape_rule = "Estimator: x [N] floats, masks [4, N] of integers; p [N]. "
                              "Table: adjacency [N, N], internal [N] of integers; p i64 [N].",
                .edge_rule = "NaN and infinities are copied. Masks that select more or "
                             "fewer entries than x has are an error. N = 0 gives none.",
                .f32_bound = 0,
                .table_inputs = {"adjacency", "internal"},
                .inputs = {port("x"), port("masks")},
                .outputs = {port("p")},
                .attributes = {form_attribute()},
                .infer = infer_partition,
                .reference = run_partition});
}

}  // namespace quern
