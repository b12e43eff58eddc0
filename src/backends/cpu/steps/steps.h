// Makers of steps, one per operation family; the operation table lists who uses which.
#pragma once

#include "backends/cpu/step.h"

namespace quern::cpu {

// A step, or why this node cannot run here.
using MadeStep = Result<std::unique_ptr<Step>>;

// Runs the reference kernel of the operation on the calling thread.
MadeStep make_reference(const StepRequest& request);
// Runs it on ranges of rows over the threads. For operations whose inputs and outputs all count the
// same rows along their first axis, each row depending on its own alone; an operation may look at
// how many axes there are, but not at the number of rows.
MadeStep make_reference_rows(const StepRequest& request);

// The steps with kernels of their own, each in the file of its family.
MadeStep make_adaptive_pool(const StepRequest& request);
MadeStep make_argmax(const StepRequest& request);
MadeStep make_attention_cached(const StepRequest& request);
MadeStep make_batch_norm(const StepRequest& request);
MadeStep make_binary(const StepRequest& request);
MadeStep make_concat(const StepRequest& request);
MadeStep make_convolution(const StepRequest& request);
MadeStep make_embedding(const StepRequest& request);
MadeStep make_fused_attention(const StepRequest& request);
MadeStep make_fused_elementwise(const StepRequest& request);
MadeStep make_fused_linear(const StepRequest& request);
MadeStep make_fused_matmul(const StepRequest& request);
MadeStep make_fused_quantize(const StepRequest& request);
MadeStep make_gated_linear(const StepRequest& request);
MadeStep make_experts_combine(const StepRequest& request);
MadeStep make_experts_linear(const StepRequest& request);
MadeStep make_fft(const StepRequest& request);
MadeStep make_gather_rows(const StepRequest& request);
MadeStep make_group_norm(const StepRequest& request);
MadeStep make_kv_append(const StepRequest& request);
MadeStep make_layer_norm(const StepRequest& request);
MadeStep make_linear(const StepRequest& request);
MadeStep make_log_softmax(const StepRequest& request);
MadeStep make_loss(const StepRequest& request);
MadeStep make_matmul(const StepRequest& request);
MadeStep make_optimizer(const StepRequest& request);
MadeStep make_packed_gate(const StepRequest& request);
MadeStep make_pool(const StepRequest& request);
MadeStep make_quantize(const StepRequest& request);
MadeStep make_reduction(const StepRequest& request);
MadeStep make_rms_norm(const StepRequest& request);
MadeStep make_rope_at(const StepRequest& request);
MadeStep make_slice(const StepRequest& request);
MadeStep make_softmax(const StepRequest& request);
MadeStep make_unary(const StepRequest& request);

// Whether the node, quant.dynamic or fused.quantize, has a packed form for products.
bool can_pack_quantized(const Graph& graph, const Node& node);
// Its bytes, from the shapes of the outputs.
int64_t packed_quantized_bytes(const Node& node, std::span<const Shape> outputs);

}  // namespace quern::cpu
