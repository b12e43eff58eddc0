// The list of operation families. builtin_ops() (quern/op.h) holds what they add.
#pragma once

#include "quern/op.h"

namespace quern {

void register_activation_ops(OpRegistry& registry);
void register_attention_ops(OpRegistry& registry);
void register_cached_attention_ops(OpRegistry& registry);
void register_cast_ops(OpRegistry& registry);
void register_convolution_ops(OpRegistry& registry);
void register_elementwise_ops(OpRegistry& registry);
void register_embedding_ops(OpRegistry& registry);
void register_expert_ops(OpRegistry& registry);
void register_gated_ops(OpRegistry& registry);
void register_graph_ops(OpRegistry& registry);
void register_linear_ops(OpRegistry& registry);
void register_masking_ops(OpRegistry& registry);
void register_matmul_ops(OpRegistry& registry);
void register_norm_ops(OpRegistry& registry);
void register_pooling_ops(OpRegistry& registry);
void register_quant_ops(OpRegistry& registry);
void register_random_ops(OpRegistry& registry);
void register_reduction_ops(OpRegistry& registry);
void register_rope_ops(OpRegistry& registry);
void register_select_ops(OpRegistry& registry);
void register_selection_ops(OpRegistry& registry);
void register_shape_pieces(OpRegistry& registry);
void register_shape_views(OpRegistry& registry);
void register_softmax_ops(OpRegistry& registry);
void register_unrotated_keys_ops(OpRegistry& registry);

}  // namespace quern
