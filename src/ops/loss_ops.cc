// Losses over all elements, and the gradient of the mean squared error.
#include <vector>

#include "ops/elementwise.h"
#include "ops/lanes.h"
#include "ops/loss_terms-inl.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// Two tensors of one float type give a scalar of their dtype.
// The rule of elementwise operations on the inputs, a scalar as the result.
Result<Types> infer_loss(const InferContext& context) {
  QUERN_TRY(infer_same_floats(context));
  return Types{{context.inputs[0]->dtype, {}}};
}

// As the other losses; a delta of 0 or NaN would make the loss constant.
Result<Types> infer_huber(const InferContext& context) {
  const double delta = context.attributes.number("delta");
  if (delta > 0) return infer_loss(context);
  return fail::invalid("Attribute 'delta' is {}; it must be above 0.", delta);
}

// Terms of one element --------------------------------------------------------------------------

// (pred - target)^2.
struct SquaredError {
  template <class T>
  T operator()(T pred, T target) const {
    return simd::squared_error(pred, target);
  }
};
// |pred - target|.
struct AbsoluteError {
  template <class T>
  T operator()(T pred, T target) const {
    return simd::absolute_error(pred, target);
  }
};
// Quadratic up to delta, linear beyond (Huber 1964).
struct Huber {
  double delta;
  explicit Huber(const Attributes& attributes) : delta(attributes.number("delta")) {}
  template <class T>
  T operator()(T pred, T target) const {
    return simd::huber_term(pred, target, static_cast<T>(delta), static_cast<T>(delta / 2));
  }
};
// Cross entropy of a probability against a target in [0, 1]; clamped, so that 0 and 1 stay
// finite.
struct BinaryCrossEntropy {
  template <class T>
  T operator()(T pred, T target) const {
    return simd::binary_cross_entropy_term(pred, target);
  }
};
// t log(t / p) with floors under both, so that 0 log 0 is 0.
struct KlDivergence {
  template <class T>
  T operator()(T target, T pred) const {
    return simd::kl_divergence_term(target, pred);
  }
};

// The mean of a term over all elements: a lanes(32) sum divided by the count.
// The terms never exist as a tensor: element(i) of the sum computes one. No elements: 0 / 0 is NaN.
template <class Term>
struct LossKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const Term term = make_formula<Term>(context.attributes);
    const FloatInput<T> a(context.inputs[0]), b(context.inputs[1]);
    FloatOutput<T> loss(context.outputs[0]);
    loss[0] = lanes_mean<T>(a.size(), [&](int64_t i) { return term(a[i], b[i]); });
    return {};
  }
};

// The derivative of the mean squared error: 2 (pred - target) / n, the factor rounded once.
// The factor 2 / n is made in f64; with no elements it is infinite and never used.
struct MseGradKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> pred(context.inputs[0]), target(context.inputs[1]);
    FloatOutput<T> grads(context.outputs[0]);
    const T scale = static_cast<T>(2.0 / static_cast<double>(grads.size()));
    for (int64_t i = 0; i < grads.size(); ++i) grads[i] = (pred[i] - target[i]) * scale;
    return {};
  }
};

// The definition that losses of predictions share; losses with attributes bring their own rule.
// `doc` gets the sentence on the mean.
OpDef loss_op(std::string id, std::string doc, OpDef::Kernel kernel,
              std::vector<AttributeDef> attributes = {}, OpDef::Infer infer = infer_loss) {
  return {.id = std::move(id),
          .doc = std::move(doc) + " The mean is a lanes(32) sum divided by the count.",
          .shape_rule =
              "pred, target: floats of one dtype and shape; loss is a scalar "
              "of that dtype.",
          .edge_rule = "NaN gives NaN. No elements give NaN, the mean of nothing.",
          .f32_bound = 8,
          .inputs = {port("pred"), port("target")},
          .outputs = {port("loss")},
          .attributes = std::move(attributes),
          .infer = infer,
          .reference = kernel};
}

}  // namespace

void register_loss_ops(OpRegistry& registry) {
  registry.add(loss_op("train.loss.mse", "The mean of (pred - target)^2.",
                       float_kernel<LossKernel<SquaredError>>));
  registry.add(loss_op("losses.mae", "The mean of |pred - target|.",
                       float_kernel<LossKernel<AbsoluteError>>));
  registry.add(loss_op(
      "losses.huber", "The mean of d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2).",
      float_kernel<LossKernel<Huber>>,
      {number("delta", 1.0, "Where the loss becomes linear, above 0.")}, infer_huber));
  registry.add(loss_op("losses.binary_cross_entropy",
                       "The mean of -(t log p + (1 - t) log(1 - p)), p = pred clamped to [1e-7, "
                       "1 - 1e-7].",
                       float_kernel<LossKernel<BinaryCrossEntropy>>));
  OpDef kl = loss_op("losses.kl_divergence",
                     "The mean over elements of t log(max(t, 1e-12) / max(p, 1e-12)); the target "
                     "comes first.",
                     float_kernel<LossKernel<KlDivergence>>);
  // Other losses have (pred, target); this one follows the notation KL(target || pred).
  kl.inputs = {port("target"), port("pred")};
  registry.add(std::move(kl));

  const OpDef mse_grad = {.id = "train.loss.mse_grad",
                          .doc = "(pred - target) * (2 / n), n all elements.",
                          .shape_rule = "pred, target, grads: floats of one dtype and shape.",
                          .edge_rule = "IEEE: NaN gives NaN. No elements give none.",
                          .f32_bound = 3,
                          .inputs = {port("pred"), port("target")},
                          .outputs = {port("grads")},
                          .infer = infer_same_floats,
                          .reference = float_kernel<MseGradKernel>,
                          .in_place_input = 0};
  registry.add(alias_of(mse_grad, "train.grad.mse"));
  registry.add(mse_grad);
}

}  // namespace quern
