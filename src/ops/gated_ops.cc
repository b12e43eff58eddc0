// Gated activations: of the two halves of a packed row, or of two tensors.
#include "base/fail.h"
#include "ops/activation-inl.h"
#include "ops/dim_math.h"
#include "ops/elementwise.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using Types = std::vector<TensorType>;

// The last extent halves: a row of x is the gate, followed by the values that it gates ("up").
// [..., 2K] to [..., K]. A symbol must have an even factor.
Result<Types> infer_packed(const InferContext& context) {
  TensorType y = *context.inputs[0];
  QUERN_TRY(type_rules::expect_float("x", y));
  QUERN_TRY(type_rules::expect_rank_at_least("x", y, 1));
  const auto half = divide_dim(y.dims.back(), 2);
  if (!half) {
    return fail::invalid("Port 'x' has type {}; the last extent must be even: gate, then up.",
                         y.to_string());
  }
  y.dims.back() = *half;
  return Types{y};
}

// Row [gate | up] to formula(gate, up).
// Two reads far apart, one write: y is half as long as x, so it cannot be in place.
template <class Formula>
struct PackedKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> x(context.inputs[0]);
    FloatOutput<T> y(context.outputs[0]);
    const int64_t half = context.outputs[0].shape.last();
    for (int64_t row = 0; row < y.size(); row += half) {
      // 2 * row is the start of x's row: x has twice the elements of y.
      const T* gate = x.data() + 2 * row;
      // The formula holds nothing, so an object per element is free.
      for (int64_t i = 0; i < half; ++i) y[row + i] = Formula{}(gate[i], gate[half + i]);
    }
    return {};
  }
};

// The operation on packed rows, as fused projections of gate and up write them. `formula` begins
// its doc.
template <class Formula>
OpDef packed_op(const std::string& id, const std::string& formula, Formula, bool f32_cancels) {
  return {.id = id,
          .doc = formula + "; a row of x is the gate, then up. The last extent is even.",
          .shape_rule = "x [..., 2K] floats; y [..., K] of its dtype.",
          .edge_rule = kIeeeEdges,
          .f32_bound = 8,
          .f32_cancels = f32_cancels,
          .inputs = {op_parts::port("x")},
          .outputs = {op_parts::port("y")},
          .infer = infer_packed,
          .reference = float_kernel<PackedKernel<Formula>>};
}

// The operation on two tensors of one type, as separate projections write them.
// Under "<id>_tensors"; here y may take gate's memory.
template <class Formula>
OpDef tensors_op(const std::string& id, const std::string& formula, Formula, bool f32_cancels) {
  return {.id = id + "_tensors",
          .doc = formula + " of two tensors of one type.",
          .shape_rule = "gate, up, y: floats of one dtype and shape.",
          .edge_rule = kIeeeEdges,
          .f32_bound = 8,
          .f32_cancels = f32_cancels,
          .inputs = {op_parts::port("gate"), op_parts::port("up")},
          .outputs = {op_parts::port("y")},
          .infer = infer_same_floats,
          .reference = float_kernel<BinaryKernel<Formula>>,
          .in_place_input = 0,
          .is_elementwise = true};
}

}  // namespace

void register_gated_ops(OpRegistry& registry) {
  // gelu's bound needs f32_cancels (1 + erf cancels for negative arguments), and so do its gates.
  const auto add = [&](const char* id, const char* formula, auto f, bool f32_cancels = false) {
    registry.add(packed_op(id, formula, f, f32_cancels));
    registry.add(tensors_op(id, formula, f, f32_cancels));
  };
  add("activation.glu", "gate * sigmoid(up)", [](auto g, auto u) { return simd::glu(g, u); });
  add(
      "activation.geglu", "gate * gelu(up)", [](auto g, auto u) { return simd::geglu(g, u); },
      true);
  add(
      "activation.geglu_tanh", "gate * gelu_tanh(up)",
      [](auto g, auto u) { return simd::geglu_tanh(g, u); }, true);
  add("activation.swiglu", "(gate * sigmoid(gate)) * up",
      [](auto g, auto u) { return simd::swiglu(g, u); });
  add("activation.reglu", "gate * max(up, 0)", [](auto g, auto u) { return simd::reglu(g, u); });
  add("activation.siglu", "sigmoid(gate) * up", [](auto g, auto u) { return simd::siglu(g, u); });
  add("activation.linglu", "gate * up", [](auto g, auto u) { return g * u; });

  const auto add_alias = [&](const char* id, const char* alias) {
    registry.add(alias_of(*registry.find(id), alias));
  };
  add_alias("activation.swiglu", "SwiGLU");
  add_alias("activation.siglu", "activation.seglu");
  add_alias("activation.siglu_tensors", "activation.seglu_tensors");
}

}  // namespace quern
