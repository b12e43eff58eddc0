// Compositions with a fixed expansion: Fused (matmul, bias, activation) and the fused QKV
// projection.
#include <vector>

#include "base/checked_math.h"
#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/linear_kernel.h"
#include "ops/register_ops.h"
#include "quern/graph_builder.h"

namespace quern {
namespace {

using namespace op_parts;
using namespace type_rules;
using Types = std::vector<TensorType>;

// Fused -------------------------------------------------------------------------------------

// The attribute holds the last part of the operation's id.
// The choices of the attribute are ids that exist, with and without their aliases.
std::string activation_id(const Attributes& attributes) {
  return "activation." + attributes.text("activation");
}

// A matrix product and, where given, a bias for its columns.
// a [M, K], b [K, N], bias [N].
Result<Types> infer_fused(const InferContext& context) {
  const TensorType& a = *context.inputs[0];
  const TensorType& b = *context.inputs[1];
  QUERN_TRY(expect_float("a", a));
  QUERN_TRY(expect_rank("a", a, 2));
  QUERN_TRY(expect_dtype("b", b, {a.dtype}));
  QUERN_TRY(expect_rank("b", b, 2));
  QUERN_TRY(expect_dim("b", b, 0, a.dims[1], "the columns of 'a'"));
  if (context.inputs[2] != nullptr) {
    QUERN_TRY(expect_type(context, 2, {a.dtype, {b.dims[1]}}, "a row of the product"));
  }
  return Types{{a.dtype, {a.dims[0], b.dims[1]}}};
}

// The nodes that the composition stands for; backends without a kernel of their own run these.
// One node for each step; the bias is left out with its node.
Result<std::vector<ValueId>> expand_fused(GraphBuilder& builder, const Node& node) {
  ValueId y = builder.add("math.matmul", {node.inputs[0], node.inputs[1]});
  if (node.inputs.size() > 2) y = builder.add("math.add", {y, node.inputs[2]});
  return std::vector<ValueId>{builder.add(activation_id(node.attributes), {y})};
}

// Runs a step of the expansion with the defaults of its attributes.
// Absent inputs of the step become empty views, since kernels index their declared ports.
Result<void> run_step(std::string_view id, std::vector<TensorView> inputs,
                      const TensorView& output) {
  const OpDef* op = builtin_ops().find(id);
  Attributes attributes;
  for (const AttributeDef& def : op->attributes) {
    if (def.default_value) attributes.set(def.name, *def.default_value);
  }
  inputs.resize(std::max(inputs.size(), op->inputs.size()));
  return op->reference({.inputs = inputs, .outputs = {&output, 1}, .attributes = attributes});
}

// The steps of the expansion, each on the memory of the output.
// math.add and the activations may work in place, which is why one memory serves all steps. Narrow
// types round after each of them.
Result<void> run_fused(const KernelContext& context) {
  const TensorView& y = context.outputs[0];
  QUERN_TRY(run_step("math.matmul", {context.inputs[0], context.inputs[1]}, y));
  if (context.inputs[2].is_present()) QUERN_TRY(run_step("math.add", {y, context.inputs[2]}, y));
  return run_step(activation_id(context.attributes), {y}, y);
}

// fused_qkv ---------------------------------------------------------------------------------

// The attributes of projection.linear for a weight with the rows of q, k and v.
// d_q + d_k + d_v rows, each at least 1, with a check against overflow since they come from a file.
Result<Attributes> linear_attributes(const Attributes& attributes) {
  int64_t rows = 0;
  for (const char* name : {"d_q", "d_k", "d_v"}) {
    const int64_t extent = attributes.integer(name);
    const auto sum = checked_add(rows, extent);
    if (extent < 1)
      return fail::invalid("Attribute '{}' is {}; it must be 1 or more.", name, extent);
    if (!sum) return fail::invalid("With attribute '{}', {}, the rows are too many.", name, extent);
    rows = *sum;
  }
  return Attributes{{"in_features", attributes.integer("d_in")},
                    {"out_features", rows},
                    {"weight_scale", attributes.number("weight_scale")}};
}

// The rule of projection.linear, with the widths of q, k and v added up.
Result<Types> infer_fused_qkv(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const Attributes attributes, linear_attributes(context.attributes));
  return infer_linear({context.inputs, attributes, context.states, context.op});
}

// One projection with the joined weight.
Result<std::vector<ValueId>> expand_fused_qkv(GraphBuilder& builder, const Node& node) {
  QUERN_ASSIGN_OR_RETURN(const Attributes attributes, linear_attributes(node.attributes));
  return std::vector<ValueId>{builder.add("projection.linear", node.inputs, attributes)};
}

// The same kernel as projection.linear: the rows only have names.
// y holds q, k and v side by side in its last axis:
//   [ q: d_q | k: d_k | v: d_v ]
Result<void> run_fused_qkv(const KernelContext& context) {
  QUERN_ASSIGN_OR_RETURN(const Attributes attributes, linear_attributes(context.attributes));
  return run_linear(
      {.inputs = context.inputs, .outputs = context.outputs, .attributes = attributes});
}

}  // namespace

void register_fused_ops(OpRegistry& registry) {
  registry.add({.id = "Fused",
                .doc = "activation(a b + bias): math.matmul, math.add, then activation.NAME, each "
                       "rounded as it stands; the bias may be absent.",
                .shape_rule = "a [M, K], b [K, N], bias [N] of one float dtype; y [M, N].",
                .edge_rule = "As the operations of the expansion. K = 0 gives the "
                             "activation of the bias.",
                .f32_bound = 32,
                .f32_cancels = true,
                .inputs = {port("a"), port("b"), optional_port("bias")},
                .outputs = {port("y")},
                .attributes = {text("pattern", "fused.matmul.activation", "Which composition.",
                                    {"fused.matmul.activation"}),
                               text("activation", kRequired, "Name of the activation.",
                                    {"relu", "leaky_relu", "gelu", "tanh", "sigmoid", "swish",
                                     "silu", "selu"})},
                .infer = infer_fused,
                .reference = run_fused,
                .expand = expand_fused});
  registry.add(
      {.id = "projection.fused_qkv",
       .doc = "projection.linear with a weight whose rows are those of q, k and v: "
              "y [..., d_q + d_k + d_v].",
       .shape_rule = "x [..., d_in], weight [d_q + d_k + d_v, d_in], bias [d_q + "
                     "d_k + d_v]; y [..., d_q + d_k + d_v], f64 for f64 x, else "
                     "f32. Dtypes as projection.linear.",
       .edge_rule = "NaN and infinities spread to their row. No rows give none.",
       .f32_bound = 32,
       .inputs = {port("x"), port("weight"), optional_port("bias"), optional_port("scale")},
       .outputs = {port("y")},
       .attributes = {integer("d_in", kRequired, "Columns of the weight."),
                      integer("d_q", kRequired, "Rows of q."),
                      integer("d_k", kRequired, "Rows of k."),
                      integer("d_v", kRequired, "Rows of v."),
                      number("weight_scale", 1.0, "As in projection.linear.")},
       .infer = infer_fused_qkv,
       .reference = run_fused_qkv,
       .expand = expand_fused_qkv});
}

}  // namespace quern
