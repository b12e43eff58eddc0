// One line per operation: id, kind, what makes its step.
#include "backends/cpu/op_table.h"

#include <algorithm>
#include <array>

#include "backends/cpu/steps/steps.h"
#include "quern/op.h"

namespace quern::cpu {
namespace {

using Kind = Support::Kind;

// A step of its own.
constexpr OpEntry direct(std::string_view id, StepMaker make) {
  return {.id = id, .kind = Kind::kDirect, .make = make};
}
// The reference kernel, on one thread: operations that no measured model spends time in.
constexpr OpEntry registry(std::string_view id) {
  return {.id = id, .kind = Kind::kRegistry, .make = make_reference};
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
    registry("activation.celu"),
    registry("activation.celu_alpha"),
    registry("activation.elu"),
    registry("activation.elu_alpha"),
    registry("activation.expm1"),
    registry("activation.geglu"),
    registry("activation.geglu_tanh"),
    registry("activation.geglu_tanh_tensors"),
    registry("activation.geglu_tensors"),
    registry("activation.gelu"),
    registry("activation.gelu_tanh"),
    registry("activation.glu"),
    registry("activation.glu_tensors"),
    registry("activation.hard_shrink"),
    registry("activation.hard_sigmoid"),
    registry("activation.hard_swish"),
    registry("activation.hard_tanh"),
    registry("activation.hard_tanh_range"),
    registry("activation.leaky_relu"),
    registry("activation.linglu"),
    registry("activation.linglu_tensors"),
    registry("activation.log1p"),
    registry("activation.log_sigmoid"),
    direct("activation.log_softmax", make_log_softmax),
    registry("activation.mish"),
    registry("activation.prelu"),
    registry("activation.prelu_v"),
    registry("activation.quick_gelu"),
    registry("activation.reglu"),
    registry("activation.reglu_tensors"),
    registry("activation.relu"),
    registry("activation.rrelu"),
    registry("activation.selu"),
    registry("activation.siglu"),
    registry("activation.siglu_tensors"),
    registry("activation.sigmoid"),
    registry("activation.snake"),
    registry("activation.snake_parametric"),
    registry("activation.soft_shrink"),
    registry("activation.softplus"),
    registry("activation.softsign"),
    registry("activation.swiglu"),
    registry("activation.swiglu_tensors"),
    registry("activation.swish"),
    registry("activation.tanh"),
    registry("activation.tanh_shrink"),
    registry("activation.threshold"),
    direct("attention.cached", make_attention_cached),
    registry("attention.flash_attention"),
    registry("attention.gqa"),
    registry("attention.mqa"),
    registry("attention.multi_head_attention"),
    registry("attention.sdpa"),
    registry("attention.sliding_window"),
    registry("dot.dot"),
    registry("elementwise.abs"),
    registry("elementwise.axpy"),
    registry("elementwise.div"),
    registry("elementwise.max"),
    registry("elementwise.min"),
    registry("elementwise.neg"),
    registry("elementwise.sqrt"),
    registry("elementwise.sub"),
    registry("embedding.token"),
    registry("experts.combine"),
    registry("experts.linear"),
    graph_only("graph.constant"),
    graph_only("graph.weight"),
    direct("kv.append", make_kv_append),
    registry("kv.keep_unrotated"),
    registry("kv.read_unrotated"),
    registry("kv.write_keys"),
    registry("masking.apply"),
    registry("masking.causal"),
    registry("math.add"),
    registry("math.cast"),
    registry("math.cos"),
    registry("math.dropout"),
    registry("math.exp"),
    registry("math.groupnorm"),
    registry("math.inv_sqrt_dim_scale"),
    direct("math.layernorm", make_layer_norm),
    registry("math.log"),
    registry("math.logsumexp"),
    registry("math.matmul"),
    registry("math.mul"),
    registry("math.outer"),
    direct("math.rmsnorm", make_rms_norm),
    registry("math.scale"),
    registry("math.sign"),
    registry("math.sin"),
    direct("math.softmax", make_softmax),
    registry("normalization.batch_norm_eval"),
    registry("normalization.instance_norm"),
    registry("positional.alibi"),
    registry("positional.rope"),
    registry("positional.rope_at"),
    registry("projection.linear"),
    registry("quant.dynamic"),
    registry("random.integers"),
    registry("random.normal"),
    registry("random.uniform"),
    direct("reduction.argmax", make_argmax),
    registry("reduction.argmin"),
    registry("reduction.l1_norm"),
    registry("reduction.mean"),
    registry("reduction.prod"),
    registry("reduction.reduce_max"),
    registry("reduction.reduce_min"),
    registry("reduction.sum"),
    registry("shape.broadcast"),
    registry("shape.concat"),
    registry("shape.gather_rows"),
    registry("shape.last_token"),
    registry("shape.merge_heads"),
    registry("shape.permute"),
    view("shape.reshape"),
    registry("shape.select_rows"),
    registry("shape.slice"),
    registry("shape.split"),
    registry("shape.transpose"),
    registry("shape.upsample_nearest2d"),
    registry("shape.view_as_heads"),
    registry("sort.top_k"),
};

static_assert(std::ranges::is_sorted(kTable, {}, &OpEntry::id));

}  // namespace

std::span<const OpEntry> op_table() {
  return kTable;
}

const OpEntry* find_entry(const OpDef& op) {
  const std::string_view id = op.alias_of.empty() ? op.id : op.alias_of;
  const auto* found = std::ranges::lower_bound(kTable, id, {}, &OpEntry::id);
  return found != std::end(kTable) && found->id == id ? found : nullptr;
}

}  // namespace quern::cpu
