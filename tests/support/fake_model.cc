// Keys and tensors of each family, as converters write them.
#include "support/fake_model.h"

#include "models/language_model.h"

namespace quern::test {

// GGUF has no architecture of that name: Mixtral is a llama with experts.
FakeModel::FakeModel(std::string name) : architecture(name == "mixtral" ? "llama" : name) {
  metadata.set("general.architecture", MetadataValue::text(architecture));
  add_config();
  if (name == "mixtral") {
    set_number("expert_count", uint32_t{4});
    set_number("expert_used_count", uint32_t{2});
  }
  add("token_embd.weight", Shape{12, 8});
  add("output_norm.weight", Shape{8});
  // Learned positions, one row for each place of the context.
  if (is("gpt2")) add("position_embd.weight", Shape{32, 8});
  for (int layer = 0; layer < 2; ++layer) add_layer("blk." + std::to_string(layer) + ".");
}

void FakeModel::add_config() {
  const bool is_mixture = is("gpt-oss") || is("qwen3moe");
  set_number("block_count", uint32_t{2});
  set_number("embedding_length", uint32_t{8});
  set_number("feed_forward_length", uint32_t{16});
  set_number("context_length", uint32_t{32});
  set_number("attention.head_count", uint32_t{4});
  set_number("attention.head_count_kv", uint32_t{2});
  const bool has_layer_norm = is("gpt2") || is("starcoder2");
  // Families with layer norms have a key of their own.
  set_number(has_layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
             1e-5F);
  if (!is_mixture) return;
  set_number("expert_count", uint32_t{4});
  set_number("expert_used_count", uint32_t{2});
  set_number("expert_feed_forward_length", uint32_t{6});
}

void FakeModel::add_layer(const std::string& blk) {
  const bool is_fused = is("gpt2") || is("phi3");
  const bool has_experts = metadata.has(architecture + ".expert_count");
  if (is_fused) {
    // Rows of queries (4 heads of 2), keys and values (2 heads of 2 each) in one matrix.
    add(blk + "attn_qkv.weight", Shape{8 + 4 + 4, 8});
  } else {
    add(blk + "attn_q.weight", Shape{8, 8});
    add(blk + "attn_k.weight", Shape{4, 8});
    add(blk + "attn_v.weight", Shape{4, 8});
  }
  add(blk + "attn_output.weight", Shape{8, 8});
  // OLMo 2 normalises the outputs of its blocks, not their inputs.
  if (!is("olmo2")) add(blk + "attn_norm.weight", Shape{8});
  // gpt-oss calls the norm before its experts post_attention_norm.
  if (!is("olmo2") && !is("gpt-oss")) add(blk + "ffn_norm.weight", Shape{8});
  if (is("olmo2")) {  // over all heads together
    add(blk + "attn_q_norm.weight", Shape{8});
    add(blk + "attn_k_norm.weight", Shape{4});
  }
  if (is("gemma3") || is("qwen3") || is("qwen3moe")) {  // over each head
    add(blk + "attn_q_norm.weight", Shape{2});
    add(blk + "attn_k_norm.weight", Shape{2});
  }
  if (is("gemma2") || is("gemma3") || is("olmo2") || is("gpt-oss")) {
    add(blk + "post_attention_norm.weight", Shape{8});
  }
  if (is("gemma2") || is("gemma3") || is("olmo2")) add(blk + "post_ffw_norm.weight", Shape{8});
  // A learned logit for each head that takes part in the softmax alone.
  if (is("gpt-oss")) add(blk + "attn_sinks.weight", Shape{4});
  if (has_experts) {
    // Mixtral's experts have the width of feed_forward_length, the others of a key of their own.
    const int64_t width = is("llama") ? 16 : 6;
    add(blk + "ffn_gate_inp.weight", Shape{4, 8});
    add(blk + "ffn_gate_exps.weight", Shape{4, width, 8});
    add(blk + "ffn_up_exps.weight", Shape{4, width, 8});
    add(blk + "ffn_down_exps.weight", Shape{4, 8, width});
    return;
  }
  // Two matrices without a gate.
  const bool is_plain = is("gpt2") || is("starcoder2");
  if (!is_plain && !is("phi3")) add(blk + "ffn_gate.weight", Shape{16, 8});
  // Phi-3 keeps gate and up in one matrix.
  add(blk + "ffn_up.weight", Shape{is("phi3") ? 32 : 16, 8});
  add(blk + "ffn_down.weight", Shape{8, 16});
}

std::vector<WeightInfo> FakeModel::list() const {
  std::vector<WeightInfo> all;
  for (const auto& [name, info] : weights) all.push_back(info);
  return all;
}

Result<WeightInfo> FakeModel::info(std::string_view name) const {
  const auto it = weights.find(name);
  if (it != weights.end()) return it->second;
  return tl::unexpected(
      Error{ErrorCode::kNotFound, "There is no tensor '" + std::string(name) + "'."});
}

Result<Tensor> FakeModel::weight(std::string_view name) const {
  QUERN_ASSIGN_OR_RETURN(const WeightInfo found, info(name));
  return Tensor::zeros(found.dtype, found.shape);
}

// From the registry of families, so that a new one is in the tests at once.
std::vector<std::string> fake_architectures() {
  std::vector<std::string> names = {"mixtral"};
  for (const ModelFamily& family : model_families()) names.emplace_back(family.architecture);
  return names;
}

}  // namespace quern::test
