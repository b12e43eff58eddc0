// Predictive coding: prediction, its error, and the updates of representation and weights.
#include <vector>

#include "ops/blocked.h"
#include "ops/elementwise.h"
#include "ops/register_ops.h"
#include "ops/two_forms.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// prediction --------------------------------------------------------------------------------

// The representation is as long as the weights have columns.
Result<Types> infer_prediction(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType weights, float_port(context, 1, 2));
  QUERN_TRY(expect_port(context, 0, {weights.dtype, {weights.dims[1]}}));
  return Types{{weights.dtype, {weights.dims[0]}}};
}

// Weights times representation, each sum blocked(256).
struct PredictionKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    // Row i of the weights [m, n] against rep [n].
    const FloatInput<T> rep(context.inputs[0]), weights(context.inputs[1]);
    FloatOutput<T> pred(context.outputs[0]);
    for (int64_t i = 0; i < pred.size(); ++i) {
      const T* row = weights.data() + i * rep.size();
      pred[i] = blocked_sum<T>(rep.size(), [&](int64_t k) { return row[k] * rep[k]; });
    }
    return {};
  }
};

// prediction_error --------------------------------------------------------------------------

// Everything of one type; the table has no precision.
Result<Types> infer_prediction_error(const InferContext& context) {
  if (is_table(context)) QUERN_TRY(expect_absent(context, 2));
  return infer_same_floats(context);
}

// The error between levels, weighted by its precision where the estimator has one.
struct PredictionErrorKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    // The precision is an inverse variance: one more product after the difference.
    const FloatInput<T> target(context.inputs[0]), pred(context.inputs[1]);
    // The table form has no precision: an absent view leaves the step out.
    const FloatInput<T> precision(is_table(context) ? TensorView{} : context.inputs[2]);
    FloatOutput<T> err(context.outputs[0]);
    for (int64_t i = 0; i < err.size(); ++i) {
      const T difference = target[i] - pred[i];
      err[i] = precision.is_present() ? precision[i] * difference : difference;
    }
    return {};
  }
};

// updates -----------------------------------------------------------------------------------

// The representation, the error below it and, optionally, its own error from above.
Result<Types> infer_update_representation(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType w, float_port(context, 2, 2));
  const TensorType rep{w.dtype, {w.dims[1]}};
  QUERN_TRY(expect_port(context, 0, rep));
  QUERN_TRY(expect_port(context, 1, {w.dtype, {w.dims[0]}}));
  if (is_table(context)) {
    QUERN_TRY(expect_absent(context, 3));
  } else if (context.inputs[3] != nullptr) {
    QUERN_TRY(expect_port(context, 3, rep));
  }
  return Types{rep};
}

// A step of gradient descent on the squared errors (Rao and Ballard 1999).
// step[j] = (sum over i of W[i, j] err[i]) - err_self[j]; new = rep + lr * step. Each sum, product
// and difference rounds; the sums are blocked(256) along i.
struct UpdateRepresentationKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> rep(context.inputs[0]), err(context.inputs[1]), w(context.inputs[2]);
    const FloatInput<T> err_self(is_table(context) ? TensorView{} : context.inputs[3]);
    const T lr = static_cast<T>(context.attributes.number("lr"));
    FloatOutput<T> out(context.outputs[0]);
    for (int64_t j = 0; j < out.size(); ++j) {
      // Column j of W: its elements lie n apart.
      T step =
          blocked_sum<T>(err.size(), [&](int64_t i) { return w[i * rep.size() + j] * err[i]; });
      if (err_self.is_present()) step = step - err_self[j];
      out[j] = rep[j] + lr * step;
    }
    return {};
  }
};

// The weights, the representation that they read and the error that they made.
Result<Types> infer_update_weights(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType w, float_port(context, 0, 2));
  QUERN_TRY(expect_port(context, 1, {w.dtype, {w.dims[1]}}));
  QUERN_TRY(expect_port(context, 2, {w.dtype, {w.dims[0]}}));
  return Types{w};
}

// A Hebbian step: each weight changes by its error times its input.
// W + lr * (err * rep): the product of the two first, then the rate, then the sum.
struct UpdateWeightsKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> w(context.inputs[0]), rep(context.inputs[1]), err(context.inputs[2]);
    const T lr = static_cast<T>(context.attributes.number("lr"));
    FloatOutput<T> out(context.outputs[0]);
    // Row-major: i / n is the row, whose error it is, i mod n the column.
    for (int64_t i = 0; i < out.size(); ++i) {
      out[i] = w[i] + lr * (err[i / rep.size()] * rep[i % rep.size()]);
    }
    return {};
  }
};

}  // namespace

void register_predictive_coding_ops(OpRegistry& registry) {
  const AttributeDef lr = number("lr", 1e-2, "Learning rate.");
  registry.add({.id = "predictive_coding.prediction",
                .doc = "weights [m, n] times rep [n]; sums are blocked(256).",
                .shape_rule = "rep [n], weights [m, n], pred [m] of one float dtype.",
                .edge_rule = "NaN and infinities spread to the rows that read them. n = 0 "
                             "gives zeros.",
                .f32_bound = 32,
                .inputs = {port("rep"), port("weights")},
                .outputs = {port("pred")},
                .infer = infer_prediction,
                .reference = float_kernel<PredictionKernel>});
  registry.add({.id = "predictive_coding.prediction_error",
                .doc = "target - pred; the estimator multiplies by the precision where given.",
                .shape_rule = "target, pred, precision, err: floats of one dtype and shape; "
                              "precision is optional.",
                .edge_rule = "IEEE: NaN gives NaN, inf - inf is NaN. No elements give none.",
                .f32_bound = 2,
                .inputs = {port("target"), port("pred"), optional_port("precision")},
                .outputs = {port("err")},
                .attributes = {form_attribute()},
                .infer = infer_prediction_error,
                .reference = float_kernel<PredictionErrorKernel>});
  registry.add({.id = "predictive_coding.update_representation",
                .doc = "rep + lr * (W^T err); the estimator subtracts err_self, where given, from "
                       "the step. Sums are blocked(256).",
                .shape_rule = "rep [n], err [m], W [m, n], err_self [n] (optional), new [n] "
                              "of one float dtype.",
                .edge_rule = "NaN and infinities spread to the elements that read them. n = "
                             "0 gives none.",
                .f32_bound = 32,
                .inputs = {port("rep"), port("err"), port("W"), optional_port("err_self")},
                .outputs = {port("new")},
                .attributes = {form_attribute(), lr},
                .infer = infer_update_representation,
                .reference = float_kernel<UpdateRepresentationKernel>});
  registry.add({.id = "predictive_coding.update_weights",
                .doc = "W[i, j] + lr * (err[i] * rep[j]).",
                .shape_rule = "W [m, n], rep [n], err [m], W_new [m, n] of one float dtype.",
                .edge_rule = "NaN and infinities spread to their row or column. No elements "
                             "give none.",
                .f32_bound = 4,
                .inputs = {port("W"), port("rep"), port("err")},
                .outputs = {port("W_new")},
                .attributes = {lr},
                .infer = infer_update_weights,
                .reference = float_kernel<UpdateWeightsKernel>});
}

}  // namespace quern
