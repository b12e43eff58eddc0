// One line per operation: id, kind, what makes its step.
#include "backends/cpu/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/cpu/steps/element_functions.h"
#include "backends/cpu/steps/steps.h"
#include "base/fail.h"
#include "ops/fused_program.h"
#include "quern/op.h"

namespace quern::cpu {
namespace {

using Kind = Support::Kind;

// Why the program of a fused node cannot run, or the pair of weights of a gated one.
std::string refuse_program(const Graph& graph, const Node& node) {
  const auto program = parse_fused_program(node.attributes.text("program"), graph.registry());
  if (!program) return program.error().message;
  for (const FusedInstruction& instruction : program->instructions) {
    const std::string& id = instruction.op->id;
    if (id == "math.rmsnorm" || id == "math.layernorm" || has_element_function(id)) continue;
    return fmt::format("there is no kernel for {} inside of a fused node", id);
  }
  if (node.op->id == "fused.gated_linear" &&
      !(graph.value(node.inputs[1]).type == graph.value(node.inputs[2]).type)) {
    return "its weights have two types";
  }
  const bool is_wide = std::ranges::all_of(node.outputs, [&](ValueId output) {
    return is_float(graph.value(output).type.dtype) || node.op->id == "fused.quantize";
  });
  return is_wide ? "" : "fused nodes compute floats";
}

// A step of its own.
constexpr OpEntry direct(std::string_view id, StepMaker make) {
  return {.id = id, .kind = Kind::kDirect, .make = make};
}
// The reference kernel, on one thread: operations that no measured model spends time in.
constexpr OpEntry registry(std::string_view id) {
  return {.id = id, .kind = Kind::kRegistry, .make = make_reference};
}
// The same by rows over the threads.
constexpr OpEntry registry_rows(std::string_view id) {
  return {.id = id, .kind = Kind::kRegistry, .make = make_reference_rows};
}
// Products read the packed form of quant.dynamic, and pack their weights.
constexpr OpEntry quantize(std::string_view id) {
  return {.id = id,
          .kind = Kind::kDirect,
          .make = make_quantize,
          .can_pack = can_pack_quantized,
          .packed_bytes = packed_quantized_bytes};
}
constexpr OpEntry linear(std::string_view id) {
  return {.id = id,
          .kind = Kind::kDirect,
          .make = make_linear,
          .packed_weight = 1,
          .packed_input = 0,
          .packed_scale = 3};
}
// Weights of all experts are packed too; their activations stay in plain form until they are sorted
// by expert.
constexpr OpEntry experts_linear(std::string_view id) {
  return {.id = id, .kind = Kind::kDirect, .make = make_experts_linear, .packed_weight = 1};
}
// Fused nodes run programs whose instructions have kernels; make_fused_* rely on it.
constexpr OpEntry fused(OpEntry entry) {
  entry.kind = Kind::kDirect;
  entry.refuse = refuse_program;
  return entry;
}
constexpr OpEntry view(std::string_view id) {
  return {.id = id, .kind = Kind::kDirect, .is_view = true};
}
constexpr OpEntry graph_only(std::string_view id) {
  return {.id = id, .kind = Kind::kGraphOnly};
}

// Aliases are found by the operation they stand for.
constexpr OpEntry kTable[] = {
    graph_only("Input"),
    direct("activation.celu", make_unary),
    direct("activation.celu_alpha", make_unary),
    direct("activation.elu", make_unary),
    direct("activation.elu_alpha", make_unary),
    direct("activation.expm1", make_unary),
    direct("activation.geglu", make_packed_gate),
    direct("activation.geglu_tanh", make_packed_gate),
    direct("activation.geglu_tanh_tensors", make_binary),
    direct("activation.geglu_tensors", make_binary),
    direct("activation.gelu", make_unary),
    direct("activation.gelu_tanh", make_unary),
    direct("activation.glu", make_packed_gate),
    direct("activation.glu_tensors", make_binary),
    direct("activation.hard_shrink", make_unary),
    direct("activation.hard_sigmoid", make_unary),
    direct("activation.hard_swish", make_unary),
    direct("activation.hard_tanh", make_unary),
    direct("activation.hard_tanh_range", make_unary),
    direct("activation.leaky_relu", make_unary),
    direct("activation.linglu", make_packed_gate),
    direct("activation.linglu_tensors", make_binary),
    direct("activation.log1p", make_unary),
    direct("activation.log_sigmoid", make_unary),
    direct("activation.log_softmax", make_log_softmax),
    direct("activation.mish", make_unary),
    direct("activation.prelu", make_unary),
    direct("activation.quick_gelu", make_unary),
    direct("activation.reglu", make_packed_gate),
    direct("activation.reglu_tensors", make_binary),
    direct("activation.relu", make_unary),
    direct("activation.selu", make_unary),
    direct("activation.siglu", make_packed_gate),
    direct("activation.siglu_tensors", make_binary),
    direct("activation.sigmoid", make_unary),
    direct("activation.snake", make_unary),
    direct("activation.snake_parametric", make_unary),
    direct("activation.soft_shrink", make_unary),
    direct("activation.softplus", make_unary),
    direct("activation.softsign", make_unary),
    direct("activation.swiglu", make_packed_gate),
    direct("activation.swiglu_tensors", make_binary),
    direct("activation.swish", make_unary),
    direct("activation.tanh", make_unary),
    direct("activation.tanh_shrink", make_unary),
    direct("activation.threshold", make_unary),
    direct("attention.cached", make_attention_cached),
    direct("convolution.conv1d", make_convolution),
    direct("convolution.conv2d", make_convolution),
    direct("convolution.conv3d", make_convolution),
    direct("elementwise.abs", make_unary),
    direct("elementwise.axpy", make_binary),
    direct("elementwise.div", make_binary),
    direct("elementwise.max", make_binary),
    direct("elementwise.min", make_binary),
    direct("elementwise.neg", make_unary),
    direct("elementwise.sqrt", make_unary),
    direct("elementwise.sub", make_binary),
    direct("embedding.token", make_embedding),
    direct("experts.combine", make_experts_combine),
    experts_linear("experts.linear"),
    fused({.id = "fused.attention", .make = make_fused_attention}),
    fused({.id = "fused.elementwise", .make = make_fused_elementwise}),
    fused({.id = "fused.gated_linear",
           .make = make_gated_linear,
           .packed_weight = 1,
           .second_packed_weight = 2,
           .packed_input = 0,
           .packed_scale = 5}),
    fused({.id = "fused.linear",
           .make = make_fused_linear,
           .packed_weight = 1,
           .packed_input = 0,
           .packed_scale = 3}),
    fused({.id = "fused.matmul", .make = make_fused_matmul}),
    fused({.id = "fused.quantize",
           .make = make_fused_quantize,
           .can_pack = can_pack_quantized,
           .packed_bytes = packed_quantized_bytes}),
    graph_only("graph.constant"),
    graph_only("graph.weight"),
    direct("kv.append", make_kv_append),
    direct("losses.binary_cross_entropy", make_loss),
    direct("losses.huber", make_loss),
    direct("losses.kl_divergence", make_loss),
    direct("losses.mae", make_loss),
    direct("math.add", make_binary),
    registry_rows("math.cast"),
    direct("math.cos", make_unary),
    direct("math.erf", make_unary),
    direct("math.exp", make_unary),
    direct("math.groupnorm", make_group_norm),
    registry_rows("math.inv_sqrt_dim_scale"),
    direct("math.layernorm", make_layer_norm),
    direct("math.log", make_unary),
    registry_rows("math.logsumexp"),
    direct("math.matmul", make_matmul),
    direct("math.mul", make_binary),
    direct("math.rmsnorm", make_rms_norm),
    direct("math.scale", make_unary),
    direct("math.sign", make_unary),
    direct("math.sin", make_unary),
    direct("math.softmax", make_softmax),
    direct("normalization.batch_norm_eval", make_batch_norm),
    direct("normalization.instance_norm", make_group_norm),
    direct("physics.fft1d", make_fft),
    direct("physics.ifft1d", make_fft),
    direct("pooling.adaptive_avg_pool2d", make_adaptive_pool),
    direct("pooling.adaptive_max_pool2d", make_adaptive_pool),
    direct("pooling.avg_pool2d", make_pool),
    direct("pooling.max_pool2d", make_pool),
    direct("positional.rope_at", make_rope_at),
    linear("projection.linear"),
    quantize("quant.dynamic"),
    direct("reduction.argmax", make_argmax),
    registry_rows("reduction.argmin"),
    direct("reduction.l1_norm", make_reduction),
    direct("reduction.mean", make_reduction),
    direct("reduction.prod", make_reduction),
    direct("reduction.reduce_max", make_reduction),
    direct("reduction.reduce_min", make_reduction),
    direct("reduction.sum", make_reduction),
    direct("shape.concat", make_concat),
    direct("shape.gather_rows", make_gather_rows),
    view("shape.reshape"),
    registry_rows("shape.select_rows"),
    direct("shape.slice", make_slice),
    registry_rows("sort.top_k"),
    direct("train.loss.mse", make_loss),
    direct("train.optimizer.adadelta", make_optimizer),
    direct("train.optimizer.adagrad", make_optimizer),
    direct("train.optimizer.adam", make_optimizer),
    direct("train.optimizer.adamax", make_optimizer),
    direct("train.optimizer.adamw", make_optimizer),
    direct("train.optimizer.lion", make_optimizer),
    direct("train.optimizer.rmsprop", make_optimizer),
    direct("train.optimizer.sgd", make_optimizer),
};

static_assert(std::ranges::is_sorted(kTable, {}, &OpEntry::id));

}  // namespace

std::span<const OpEntry> op_table() {
  return kTable;
}

FusionCaps fusion_caps() {
  // Longer programs and more operands outgrow the first-level cache.
  FusionCaps caps;
  caps.max_instructions = 16;
  caps.max_operands = 8;
  for (const OpEntry& entry : kTable) {
    if (entry.id.starts_with("fused.")) caps.fused_ops.push_back(entry.id);
    if (has_element_function(entry.id)) caps.program_ops.push_back(entry.id);
  }
  return caps;
}

const OpEntry* find_entry(const OpDef& op) {
  const std::string_view id = op.alias_of.empty() ? op.id : op.alias_of;
  const auto* found = std::ranges::lower_bound(kTable, id, {}, &OpEntry::id);
  if (found != std::end(kTable) && found->id == id) return found;
  // No kernel of its own: the reference kernel, which the inventory shows as "registry".
  static constexpr OpEntry kReference = registry("");
  return op.reference != nullptr ? &kReference : nullptr;
}

}  // namespace quern::cpu
