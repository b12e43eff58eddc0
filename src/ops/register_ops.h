// The list of operation families. builtin_ops() (quern/op.h) holds what they add.
#pragma once

#include "quern/op.h"

// One line a family: register_NAME(OpRegistry&) adds its operations. A family that is missing here
// is missing from the engine. register_ops.cc calls them and undefines the list.
// clang-format off
#define QUERN_OP_FAMILIES(F) \
  F(activation_ops) \
  F(active_inference_ops) \
  F(affine_quant_ops) \
  F(attention_ops) \
  F(cached_attention_ops) \
  F(cast_ops) \
  F(causal_graph_ops) \
  F(causal_regression_ops) \
  F(comparison_ops) \
  F(convolution_ops) \
  F(cross_entropy_ops) \
  F(elementwise_ops) \
  F(embedding_bag_ops) \
  F(embedding_ops) \
  F(expert_ops) \
  F(fft_ops) \
  F(function_ops) \
  F(fused_node_ops) \
  F(fused_ops) \
  F(gated_ops) \
  F(graph_ops) \
  F(hawkes_ops) \
  F(hawkes_simulate_ops) \
  F(hebbian_ops) \
  F(lbfgs_ops) \
  F(linear_ops) \
  F(loss_ops) \
  F(markov_blanket_ops) \
  F(masking_ops) \
  F(matmul_ops) \
  F(metric_ops) \
  F(model_ops) \
  F(norm_ops) \
  F(optimizer_ops) \
  F(physics_ops) \
  F(pooling_ops) \
  F(pospop_ops) \
  F(predictive_coding_ops) \
  F(quant_ops) \
  F(random_ops) \
  F(reduction_ops) \
  F(rope_ops) \
  F(rope_pairs_ops) \
  F(sampling_ops) \
  F(select_ops) \
  F(selection_ops) \
  F(shape_pieces) \
  F(shape_views) \
  F(softmax_ops) \
  F(unrotated_keys_ops) \
  F(vsa_ops)
// clang-format on

namespace quern {

#define QUERN_DECLARE_FAMILY(name) void register_##name(OpRegistry& registry);
QUERN_OP_FAMILIES(QUERN_DECLARE_FAMILY)
#undef QUERN_DECLARE_FAMILY

}  // namespace quern
