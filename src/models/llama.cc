// Llama (Touvron et al. 2023, arXiv:2302.13971 and 2307.09288): pre-norm decoder with RMS norm,
// rotary positions, grouped-query attention and a SwiGLU feed-forward.
#include "models/llama.h"

#include "base/fail.h"
#include "models/model_builder.h"

namespace quern {
namespace {

struct LlamaConfig {
  int64_t num_layers = 0;
  int64_t hidden = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t ffn = 0;
  int64_t vocab = 0;
  int64_t context = 0;
  int64_t window = 0;  // 0: every earlier token is visible
  double norm_eps = 0;
  double attention_scale = 0;  // 0: 1 / sqrt(key_dim)
  RopeConfig rope;
};

Result<void> check_positive(std::string_view key, int64_t value, int64_t limit) {
  if (value >= 1 && value <= limit) return {};
  return fail::invalid("Key 'llama.{}' is {}; it must be from 1 to {}.", key, value, limit);
}

Result<void> read_heads(const Metadata& m, LlamaConfig& c) {
  QUERN_ASSIGN_OR_RETURN(c.num_heads, m.integer("llama.attention.head_count"));
  QUERN_TRY(check_positive("attention.head_count", c.num_heads, 1 << 16));
  QUERN_ASSIGN_OR_RETURN(c.num_kv_heads,
                         m.integer_or("llama.attention.head_count_kv", c.num_heads));
  QUERN_TRY(check_positive("attention.head_count_kv", c.num_kv_heads, c.num_heads));
  if (c.num_heads % c.num_kv_heads != 0) {
    return fail::invalid("Key 'llama.attention.head_count_kv' is {}; it must divide the {} heads.",
                         c.num_kv_heads, c.num_heads);
  }
  const int64_t usual = c.hidden / c.num_heads;
  QUERN_ASSIGN_OR_RETURN(c.key_dim, m.integer_or("llama.attention.key_length", usual));
  QUERN_ASSIGN_OR_RETURN(c.value_dim, m.integer_or("llama.attention.value_length", c.key_dim));
  QUERN_TRY(check_positive("attention.key_length", c.key_dim, 4096));
  return check_positive("attention.value_length", c.value_dim, 4096);
}

Result<LlamaConfig> read_config(const Metadata& m, const WeightSource& weights) {
  LlamaConfig c;
  QUERN_ASSIGN_OR_RETURN(c.num_layers, m.integer("llama.block_count"));
  QUERN_TRY(check_positive("block_count", c.num_layers, 1 << 16));
  QUERN_ASSIGN_OR_RETURN(c.hidden, m.integer("llama.embedding_length"));
  QUERN_TRY(check_positive("embedding_length", c.hidden, 1 << 24));
  QUERN_ASSIGN_OR_RETURN(c.ffn, m.integer("llama.feed_forward_length"));
  QUERN_TRY(check_positive("feed_forward_length", c.ffn, 1 << 26));
  QUERN_TRY(read_heads(m, c));
  QUERN_ASSIGN_OR_RETURN(c.norm_eps, m.number_or("llama.attention.layer_norm_rms_epsilon", 1e-5));
  QUERN_ASSIGN_OR_RETURN(c.attention_scale, m.number_or("llama.attention.scale", 0.0));
  QUERN_ASSIGN_OR_RETURN(c.window, m.integer_or("llama.attention.sliding_window", 0));
  QUERN_ASSIGN_OR_RETURN(c.context, m.integer("llama.context_length"));
  QUERN_TRY(check_positive("context_length", c.context, int64_t{1} << 40));
  QUERN_ASSIGN_OR_RETURN(c.rope, read_rope_config(m, "llama", c.key_dim, "interleaved"));
  QUERN_ASSIGN_OR_RETURN(const bool is_causal, m.boolean_or("llama.attention.causal", true));
  if (!is_causal) return fail::unimplemented("Key 'llama.attention.causal' is false.");
  QUERN_ASSIGN_OR_RETURN(const int64_t num_experts, m.integer_or("llama.expert_count", 0));
  if (num_experts != 0) {
    return fail::unimplemented("The model is a mixture of {} experts.", num_experts);
  }
  QUERN_ASSIGN_OR_RETURN(const WeightInfo embedding, weights.info("token_embd.weight"));
  c.vocab = embedding.shape.rank() == 2 ? embedding.shape[0] : 0;
  return c;
}

// Grouped-query attention over the cache. h [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const LlamaConfig& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  ValueId q = m.linear(h, blk + "attn_q", c.hidden, c.num_heads * c.key_dim);
  ValueId k = m.linear(h, blk + "attn_k", c.hidden, c.num_kv_heads * c.key_dim);
  ValueId v = m.linear(h, blk + "attn_v", c.hidden, c.num_kv_heads * c.value_dim);
  q = m.split_heads(q, c.num_heads, c.key_dim, blk + "q");       // [T, heads, key_dim]
  k = m.split_heads(k, c.num_kv_heads, c.key_dim, blk + "k");    // [T, kv_heads, key_dim]
  v = m.split_heads(v, c.num_kv_heads, c.value_dim, blk + "v");  // [T, kv_heads, value_dim]
  q = m.rope(q, in, c.rope, blk + "q_rope");
  k = m.rope(k, in, c.rope, blk + "k_rope");
  m.graph().add("kv.append", {k, v, in.positions, in.sequences}, {{"layer", layer}},
                blk + "kv_append");
  const ValueId a = m.graph().add(  // [T, heads, value_dim]
      "attention.cached", {q, in.positions, in.sequences},
      {{"layer", layer}, {"scale", c.attention_scale}, {"window", c.window}}, blk + "attention");
  const int64_t size = c.num_heads * c.value_dim;
  return m.linear(m.merge_heads(a, size, blk + "attention_rows"), blk + "attn_output", size,
                  c.hidden);
}

// SwiGLU: down(silu(gate(h)) * up(h)). h [T, hidden] -> [T, hidden]
ValueId feed_forward(ModelBuilder& m, const LlamaConfig& c, int64_t layer, ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const ValueId gate = m.linear(h, blk + "ffn_gate", c.hidden, c.ffn);  // [T, ffn]
  const ValueId up = m.linear(h, blk + "ffn_up", c.hidden, c.ffn);      // [T, ffn]
  const ValueId y = m.graph().add("activation.swiglu_tensors", {gate, up}, {}, blk + "swiglu");
  return m.linear(y, blk + "ffn_down", c.ffn, c.hidden);
}

ValueId forward(ModelBuilder& m, const LlamaConfig& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c.num_layers, c.num_kv_heads, c.key_dim, c.value_dim);
  GraphBuilder& g = m.graph();
  const ValueId embedding = m.weight("token_embd.weight", Shape{c.vocab, c.hidden});
  ValueId x = g.add("embedding.token", {in.tokens, embedding}, {}, "embedding");  // [T, hidden]
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    const ValueId h = m.rms_norm(x, blk + "attn_norm", c.hidden, c.norm_eps);
    x = g.add("math.add", {x, attention(m, c, in, layer, h)}, {}, blk + "attn_residual");
    const ValueId f = m.rms_norm(x, blk + "ffn_norm", c.hidden, c.norm_eps);
    x = g.add("math.add", {x, feed_forward(m, c, layer, f)}, {}, blk + "ffn_residual");
  }
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.rms_norm(x, "output_norm", c.hidden, c.norm_eps);
  const bool is_tied = !m.has_weight("output.weight");
  return m.linear(x, is_tied ? "token_embd" : "output", c.hidden, c.vocab);  // [R, vocab]
}

}  // namespace

Result<LanguageModel> build_llama(const Metadata& metadata, const WeightSource& weights,
                                  const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const LlamaConfig config, read_config(metadata, weights));
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  return builder.finish(config.vocab, config.context);
}

}  // namespace quern
