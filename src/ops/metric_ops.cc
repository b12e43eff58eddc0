// Running metrics: accuracy, perplexity, F1. Counts go in and out, so that calls accumulate.
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/index_access.h"
#include "ops/lanes.h"
#include "ops/math/strict_math.h"
#include "ops/max_min.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using namespace type_rules;
using Types = std::vector<TensorType>;

// Outputs: the value and the counts, both f64.
// Counts may come in any float dtype; they leave in f64, exact up to 2^53 rows.
template <int num_counts>
Result<Types> metric_types(const InferContext& context) {
  const TensorType counts{DType::kF64, {Dim::constant(num_counts)}};
  if (context.inputs[2] != nullptr) {
    QUERN_TRY(expect_float("counts", *context.inputs[2]));
    QUERN_TRY(
        expect_vector("counts", context.inputs[2], counts.dims[0], "the counts of the metric"));
  }
  return Types{{DType::kF64, {}}, counts};
}

// Rows of scores and one class id for each.
Result<Types> infer_rows(const InferContext& context) {
  QUERN_TRY(expect_float(port_name(context, 0), *context.inputs[0]));
  QUERN_TRY(expect_rank(port_name(context, 0), *context.inputs[0], 2));
  QUERN_TRY(expect_dtype("targets", *context.inputs[1], {DType::kI64, DType::kI32}));
  QUERN_TRY(expect_rank("targets", *context.inputs[1], 1));
  QUERN_TRY(
      expect_dim("targets", *context.inputs[1], 0, context.inputs[0]->dims[0], "one for each row"));
  return metric_types<2>(context);
}

// Two tensors of one float type, scores and targets alike.
Result<Types> infer_f1(const InferContext& context) {
  QUERN_TRY(expect_float("predicted", *context.inputs[0]));
  QUERN_TRY(expect_same_type(context, 1, *context.inputs[0], "predicted"));
  return metric_types<3>(context);
}

// The counts so far: zeros where the port is absent.
std::vector<double> load_counts(const KernelContext& context) {
  std::vector<double> counts = load_all<double>(context.inputs[2]);
  counts.resize(static_cast<size_t>(context.outputs[1].shape[0]));
  return counts;
}

// Writes the metric and the counts that the next call starts from.
void store_metric(const KernelContext& context, double value, const std::vector<double>& counts) {
  context.outputs[0].as<double>()[0] = value;
  std::ranges::copy(counts, context.outputs[1].as<double>());
}

// The argmax of each row against its class id, with the tie rule of reduction.argmax.
// counts: hits, rows.
struct AccuracyKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> predicted(context.inputs[0]);
    const int64_t n = context.inputs[0].shape.last();
    const std::vector<int64_t> targets = load_indices(context.inputs[1]);
    std::vector<double> counts = load_counts(context);
    for (size_t row = 0; row < targets.size(); ++row) {
      const T* scores = predicted.data() + static_cast<int64_t>(row) * n;
      int64_t best = 0;
      for (int64_t i = 1; i < n; ++i) {
        if (is_larger_or_nan(scores[i], scores[best])) best = i;
      }
      // A row without classes, or a class id that is no class, is a miss and not an error.
      counts[0] += n > 0 && best == targets[row];
    }
    counts[1] += static_cast<double>(targets.size());
    store_metric(context, counts[0] / counts[1], counts);
    return {};
  }
};

// exp of the mean negative log probability of the targets. All ids are checked before anything
// is counted.
// counts: the sum of -log(p + 1e-9), rows.
struct PerplexityKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> probs(context.inputs[0]);
    const int64_t n = context.inputs[0].shape.last();
    const std::vector<int64_t> targets = load_indices(context.inputs[1]);
    for (size_t row = 0; row < targets.size(); ++row) {
      if (targets[row] >= 0 && targets[row] < n) continue;
      return fail::out_of_range("The class id {} in row {} is outside the {} classes.",
                                targets[row], row, n);
    }
    const auto num_rows = static_cast<int64_t>(targets.size());
    std::vector<double> counts = load_counts(context);
    // The sum of one call is lanes(32) over its rows and joins the sum so far: how rows are split
    // over calls may show in the last bits. 1e-9 bounds the cost of a probability of 0 at 20.7
    // nats.
    counts[0] += lanes_sum<double>(num_rows, [&](int64_t row) {
      const int64_t id = targets[static_cast<size_t>(row)];
      return -strict_log(static_cast<double>(probs[row * n + id]) + 1e-9);
    });
    counts[1] += static_cast<double>(num_rows);
    store_metric(context, strict_exp(counts[0] / counts[1]), counts);
    return {};
  }
};

// The harmonic mean of precision and recall; both thresholds are 0.5.
struct F1Kernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> predicted(context.inputs[0]), targets(context.inputs[1]);
    std::vector<double> counts = load_counts(context);  // true, false positives, false negatives
    // A NaN is below the threshold.
    for (int64_t i = 0; i < predicted.size(); ++i) {
      const bool is_predicted = predicted[i] >= T(0.5), is_positive = targets[i] >= T(0.5);
      counts[0] += is_predicted && is_positive;
      counts[1] += is_predicted && !is_positive;
      counts[2] += !is_predicted && is_positive;
    }
    // 2 tp / (2 tp + fp + fn) is the harmonic mean without the divisions by 0 of its two parts.
    const double total = 2 * counts[0] + counts[1] + counts[2];
    store_metric(context, total > 0 ? 2 * counts[0] / total : 0, counts);
    return {};
  }
};

// The operation and its alias bench.metric.NAME.
// `scores` names port 0; the two ids share kernel and words.
void add_metric(OpRegistry& registry, const std::string& name, std::string doc, std::string scores,
                OpDef::Infer infer, OpDef::Kernel kernel) {
  const OpDef op = {.id = "bench." + name,
                    .doc = std::move(doc) + " 'counts' of an earlier call are added to; f64.",
                    .shape_rule =
                        "Scores of floats, targets, and counts of floats, optional; value "
                        "f64 is a scalar, counts_out f64. accuracy and perplexity: [N, "
                        "C] and class ids i32 or i64 [N]; f1: two tensors of one float "
                        "type.",
                    .edge_rule =
                        "No rows so far: accuracy and perplexity are NaN, F1 is 0. A "
                        "class id out of range is an error in perplexity.",
                    .f32_bound = 8,
                    .inputs = {port(std::move(scores)), port("targets"), optional_port("counts")},
                    .outputs = {port("value"), port("counts_out")},
                    .infer = infer,
                    .reference = kernel};
  registry.add(alias_of(op, "bench.metric." + name));
  registry.add(op);
}

}  // namespace

void register_metric_ops(OpRegistry& registry) {
  add_metric(registry, "accuracy",
             "The share of rows whose largest score (NaN counts as largest, lowest index among "
             "equals) is the target; counts: hits, rows.",
             "predicted", infer_rows, float_kernel<AccuracyKernel>);
  add_metric(registry, "perplexity",
             "exp of the mean of -log(p + 1e-9), p the probability of the target; counts: sum, "
             "rows.",
             "probs", infer_rows, float_kernel<PerplexityKernel>);
  add_metric(registry, "f1",
             "2 tp / (2 tp + fp + fn) with positive from 0.5 on, 0 without positives; counts: tp, "
             "fp, fn.",
             "predicted", infer_f1, float_kernel<F1Kernel>);
}

}  // namespace quern
