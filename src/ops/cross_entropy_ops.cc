// Cross entropy of softmax against class ids or probabilities, and its gradient.
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/index_access.h"
#include "ops/lanes.h"
#include "ops/math/strict_math.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using namespace type_rules;
using Types = std::vector<TensorType>;

// Integer targets are class ids, float ones are probabilities.
// i32 and i64, as labels come; other integers are no targets.
bool are_class_ids(DType dtype) {
  return dtype == DType::kI64 || dtype == DType::kI32;
}

// logits [C] or [batch, C]; targets of the same type, or class ids for each row.
// Of one class id: a scalar for logits [C], a vector [B] for [B, C]. Probabilities have the type of
// the logits, so that a row meets its row.
Result<void> check_ports(const InferContext& context) {
  const TensorType& logits = *context.inputs[0];
  const TensorType& targets = *context.inputs[1];
  QUERN_TRY(expect_float("logits", logits));
  if (logits.rank() != 1 && logits.rank() != 2) {
    return fail::invalid("Port 'logits' has type {}; it needs rank 1 or 2.", logits.to_string());
  }
  if (!are_class_ids(targets.dtype)) return expect_same_type(context, 1, logits, "logits");
  const std::vector<Dim> rows(logits.dims.begin(), logits.dims.end() - 1);
  if (targets.dims == rows) return {};
  return fail::invalid("Port 'targets' has type {}; it needs one class id for each row of {}.",
                       targets.to_string(), logits.to_string());
}

// The loss is one number, whatever the batch.
Result<Types> infer_cross_entropy(const InferContext& context) {
  QUERN_TRY(check_ports(context));
  return Types{{context.inputs[0]->dtype, {}}};
}
// The gradient is with respect to the logits.
Result<Types> infer_cross_entropy_grad(const InferContext& context) {
  QUERN_TRY(check_ports(context));
  return Types{*context.inputs[0]};
}

// The checked ids; none where the targets are probabilities.
// An error names row and id: a label past the classes is a data error that clamping would hide.
Result<std::vector<int64_t>> class_ids(const TensorView& targets, int64_t num_classes) {
  if (!are_class_ids(targets.dtype)) return std::vector<int64_t>{};
  std::vector<int64_t> ids = load_indices(targets);
  for (size_t row = 0; row < ids.size(); ++row) {
    if (ids[row] >= 0 && ids[row] < num_classes) continue;
    return fail::out_of_range("The class id {} in row {} is outside the {} classes.", ids[row], row,
                              num_classes);
  }
  return ids;
}

// Maximum and sum of exponentials of one row.
// The maximum is subtracted before exp, so that nothing overflows: exp(x - max) is at most 1. With
// +infinity or NaN in the row, or only -infinity, max or x - max is NaN or infinite and the row is
// NaN.
template <class T>
struct RowSoftmax {
  T max, sum;
  RowSoftmax(const T* row, int64_t n)
      : max(lanes_max<T>(n, [&](int64_t i) { return row[i]; })),
        sum(lanes_sum<T>(n, [&](int64_t i) { return strict_exp(row[i] - max); })) {}
  // (x - m) - log(s), as numerics writes it: two roundings, and no quotient.
  T log_softmax(T x) const { return (x - max) - strict_log(sum); }
};

// Rows, the divisor of a mean over them, and whichever targets there are.
// `divisor` is the number of rows, as the compute type; a vector of logits counts as no batch and
// is divided by 1.
template <class T>
struct Batch {
  int64_t rows, classes;
  T divisor;
  FloatInput<T> logits;
  FloatInput<T> targets;  // empty with class ids

  explicit Batch(const KernelContext& context)
      : rows(context.inputs[0].shape.num_rows()),
        classes(context.inputs[0].shape.last()),
        divisor(static_cast<T>(context.inputs[0].shape.rank() == 2 ? rows : 1)),
        logits(context.inputs[0]),
        // The view of an absent tensor, which FloatInput reads as empty.
        targets(are_class_ids(context.inputs[1].dtype) ? TensorView{} : context.inputs[1]) {}
};

// A row without classes has neither a maximum nor a probability.
Result<void> check_classes(const KernelContext& context) {
  if (context.inputs[0].shape.last() > 0) return {};
  return fail::invalid("Cross entropy needs at least one class; 'logits' has the shape {}.",
                       context.inputs[0].shape.to_string());
}

// The mean over the rows of -log softmax at the target, from the logits: softmax first would
// lose the digits of small probabilities.
// With ids the sum over classes has one term, which is taken directly. With probabilities every
// class adds t * log_softmax, also for t = 0: 0 times -infinity is NaN there.
struct CrossEntropyKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    QUERN_TRY(check_classes(context));
    const Batch<T> batch(context);
    QUERN_ASSIGN_OR_RETURN(const auto ids, class_ids(context.inputs[1], batch.classes));
    const auto row_loss = [&](int64_t r) {
      const T* row = batch.logits.data() + r * batch.classes;
      const RowSoftmax<T> softmax(row, batch.classes);
      if (!ids.empty()) return -softmax.log_softmax(row[ids[static_cast<size_t>(r)]]);
      const T* target = batch.targets.data() + r * batch.classes;
      return -lanes_sum<T>(batch.classes,
                           [&](int64_t i) { return target[i] * softmax.log_softmax(row[i]); });
    };
    FloatOutput<T> loss(context.outputs[0]);
    // lanes(32) over the rows, then one division. No rows: 0 / 0.
    loss[0] = lanes_sum<T>(batch.rows, row_loss) / batch.divisor;
    return {};
  }
};

// (softmax * sum(t) - t) / rows. The sum is 1 for class ids; other targets need not sum to 1.
// The derivative of -sum t (x - m - log s): the softmax times sum(t), minus t. As in numerics,
// softmax is e * (1 / s).
struct CrossEntropyGradKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    QUERN_TRY(check_classes(context));
    const Batch<T> batch(context);
    QUERN_ASSIGN_OR_RETURN(const auto ids, class_ids(context.inputs[1], batch.classes));
    FloatOutput<T> grads(context.outputs[0]);
    for (int64_t r = 0; r < batch.rows; ++r) {
      const int64_t first = r * batch.classes;
      const T* row = batch.logits.data() + first;
      const RowSoftmax<T> softmax(row, batch.classes);
      // One-hot targets are made on the way: 1 at the id, else 0.
      const auto target = [&](int64_t i) {
        if (ids.empty()) return batch.targets[first + i];
        return T(ids[static_cast<size_t>(r)] == i);
      };
      // With ids the sum is one 1 and zeros: exactly 1.
      const T total = lanes_sum<T>(batch.classes, target);
      const T inverse = T(1) / softmax.sum;
      for (int64_t i = 0; i < batch.classes; ++i) {
        const T probability = strict_exp(row[i] - softmax.max) * inverse;
        grads[first + i] = (probability * total - target(i)) / batch.divisor;
      }
    }
    return {};
  }
};

}  // namespace

void register_cross_entropy_ops(OpRegistry& registry) {
  registry.add({.id = "train.loss.cross_entropy",
                .doc = "The mean over rows of -sum(t * log_softmax(logits)), log_softmax = (x - m) "
                       "- log(s); integer targets are class ids (out of range is an error). Sums "
                       "are lanes(32); a vector of logits is not divided.",
                .shape_rule = "logits [C] or [B, C] of floats; targets of the same type, or "
                              "class ids i32 or i64 (a scalar, or [B]); loss is a scalar.",
                .edge_rule = "A row with NaN, +infinity or only -infinity gives NaN. A "
                             "class id out of range and rows without classes are errors. No "
                             "rows: the loss is NaN, gradients are empty.",
                .f32_bound = 32,
                .inputs = {port("logits"), port("targets")},
                .outputs = {port("loss")},
                .infer = infer_cross_entropy,
                .reference = float_kernel<CrossEntropyKernel>});
  const OpDef grad = {.id = "train.loss.cross_entropy_grad",
                      .doc =
                          "(softmax(logits) * sum(t) - t) / rows, the gradient of "
                          "train.loss.cross_entropy; a vector of logits is not divided.",
                      .shape_rule =
                          "logits [C] or [B, C] of floats; targets of the same type, or "
                          "class ids i32 or i64; grads has the type of logits.",
                      .edge_rule =
                          "A row with NaN, +infinity or only -infinity gives NaN. A "
                          "class id out of range and rows without classes are errors. No "
                          "rows: the loss is NaN, gradients are empty.",
                      .f32_bound = 32,
                      .inputs = {port("logits"), port("targets")},
                      .outputs = {port("grads")},
                      .infer = infer_cross_entropy_grad,
                      .reference = float_kernel<CrossEntropyGradKernel>};
  registry.add(alias_of(grad, "train.grad.cross_entropy"));
  registry.add(grad);
}

}  // namespace quern
