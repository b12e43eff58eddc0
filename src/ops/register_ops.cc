// Every family of operations, once. A family that is missing here is missing from the engine.
#include "ops/register_ops.h"

namespace quern {

const OpRegistry& builtin_ops() {
  static const OpRegistry registry = [] {
    OpRegistry ops;
    register_activation_ops(ops);
    register_attention_ops(ops);
    register_cached_attention_ops(ops);
    register_cast_ops(ops);
    register_convolution_ops(ops);
    register_elementwise_ops(ops);
    register_embedding_ops(ops);
    register_expert_ops(ops);
    register_gated_ops(ops);
    register_graph_ops(ops);
    register_linear_ops(ops);
    register_masking_ops(ops);
    register_matmul_ops(ops);
    register_norm_ops(ops);
    register_pooling_ops(ops);
    register_quant_ops(ops);
    register_random_ops(ops);
    register_reduction_ops(ops);
    register_rope_ops(ops);
    register_select_ops(ops);
    register_selection_ops(ops);
    register_shape_pieces(ops);
    register_shape_views(ops);
    register_softmax_ops(ops);
    register_unrotated_keys_ops(ops);
    return ops;
  }();
  return registry;
}

}  // namespace quern
