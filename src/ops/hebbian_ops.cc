// Hebbian learning of a weight matrix from the activities before and after it.
#include <cmath>
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/lanes.h"
#include "ops/register_ops.h"
#include "ops/two_forms.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// Weights [m, n], the activities before [n] and after [m]; the rule bcm needs its threshold [m].
// theta is checked where it is given, even where the rule does not read it.
Result<Types> infer_hebbian(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const TensorType w, float_port(context, 0, 2));
  QUERN_TRY(expect_port(context, 1, {w.dtype, {w.dims[1]}}));
  QUERN_TRY(expect_port(context, 2, {w.dtype, {w.dims[0]}}));
  const bool is_bcm = context.attributes.text("rule") == "bcm";
  if (is_bcm || context.inputs[3] != nullptr) {
    QUERN_TRY(expect_port(context, 3, {w.dtype, {w.dims[0]}}));
  }
  return Types{w};
}

// The new weight of (post, pre) under each rule.
// hebb: W (1 - decay) + lr post pre. oja (Oja 1982) subtracts post^2 W, which bounds the norm. bcm
// (Bienenstock, Cooper and Munro 1982) changes sign at the threshold. `keep` is 1 - decay, made in
// f64.
template <class T>
struct Rule {
  std::string name;
  T lr, keep;
  T operator()(T w, T pre, T post, T theta) const {
    if (name == "oja") return w + lr * (post * pre - (post * post) * w);
    if (name == "bcm") return w + lr * ((post * (post - theta)) * pre);
    return w * keep + lr * (post * pre);
  }
};

// Updates every weight by the rule, then shortens the matrix to the greatest norm if it is
// longer.
// Norm of Frobenius: sqrt of the lanes(32) sum of squares.
struct HebbianKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const Attributes& a = context.attributes;
    const Rule<T> rule{a.text("rule"), static_cast<T>(a.number("lr")),
                       static_cast<T>(1 - a.number("decay"))};
    const FloatInput<T> w(context.inputs[0]), pre(context.inputs[1]), post(context.inputs[2]),
        theta(context.inputs[3]);
    FloatOutput<T> out(context.outputs[0]);
    for (int64_t k = 0; k < out.size(); ++k) {
      // Weight k is (post i, pre j) of [m, n].
      const int64_t i = k / pre.size(), j = k % pre.size();
      out[k] = rule(w[k], pre[j], post[i], theta.is_present() ? theta[i] : T(0));
    }
    const T max_norm = static_cast<T>(a.number("max_norm"));
    // 0 and NaN mean no limit.
    if (!(max_norm > 0)) return {};
    const T norm = std::sqrt(lanes_sum<T>(out.size(), [&](int64_t k) { return out[k] * out[k]; }));
    const T scale = max_norm / norm;
    // A norm of NaN is not above the limit, so that the weights stay as they are.
    for (int64_t k = 0; norm > max_norm && k < out.size(); ++k) out[k] = out[k] * scale;
    return {};
  }
};

}  // namespace

void register_hebbian_ops(OpRegistry& registry) {
  registry.add({.id = "train.optimizer.hebbian",
                .doc =
                    "W [m, n] from pre [n] and post [m]: hebb: W (1 - decay) + lr post pre; oja: "
                    "W + lr (post pre - post^2 W); bcm: W + lr post (post - theta) pre. With "
                    "max_norm the matrix is scaled to that norm where it is longer.",
                .shape_rule = "params [m, n], pre [n], post [m], theta [m] (rule bcm) of one "
                              "float dtype; params_out [m, n].",
                .edge_rule = "NaN and infinities spread to their row or column; a norm of "
                             "+infinity makes the finite weights 0, one of NaN scales nothing. "
                             "No elements give none.",
                .f32_bound = 8,
                .inputs = {port("params"), port("pre"), port("post"), optional_port("theta")},
                .outputs = {port("params_out")},
                .attributes = {number("lr", 1e-3, "Learning rate."),
                               number("decay", 1e-4, "Decay of the rule hebb."),
                               number("max_norm", 0.0, "Longest norm; 0: no limit."),
                               text("rule", "hebb", "Which rule.", {"hebb", "oja", "bcm"})},
                .infer = infer_hebbian,
                .reference = float_kernel<HebbianKernel>,
                .in_place_input = 0});
}

}  // namespace quern
