// Qwen2 (arXiv:2407.10671) and Qwen3 (arXiv:2505.09388): pre-norm decoders with grouped-query
// attention, rotary pairs (i, i + d/2) and SwiGLU, in Qwen3-MoE a mixture.
#include "models/qwen.h"

#include "base/fail.h"
#include "models/feed_forward.h"
#include "models/mixture.h"
#include "models/model_builder.h"

namespace quern {
namespace {

// All three families; a dense model has no experts.
struct QwenConfig : DecoderConfig {
  RopeConfig rope;
  bool has_head_norms = false;  // Qwen3
  MixtureConfig mixture;        // Qwen3-MoE
};

// Experts only where the keys name some.
Result<QwenConfig> read_config(const Metadata& m, const WeightSource& weights, bool has_norms) {
  QwenConfig c;
  QUERN_ASSIGN_OR_RETURN(static_cast<DecoderConfig&>(c),
                         read_decoder_config(m, weights, NormKind::kRms));
  QUERN_ASSIGN_OR_RETURN(c.rope, read_rope_config(m, c.arch, c.key_dim, "half"));
  QUERN_ASSIGN_OR_RETURN(c.mixture, read_mixture_config(m, c));
  c.has_head_norms = has_norms;
  return c;
}

// Grouped-query attention over the cache. h [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const QwenConfig& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  Heads heads = m.project_heads(h, c, layer);
  // Each head of q and k is normed alone, before its rotation.
  if (c.has_head_norms) {
    heads.q =
        m.rms_norm(heads.q, blk + "attn_q_norm", c.key_dim, c.norm_eps);  // [T, heads, key_dim]
    heads.k =
        m.rms_norm(heads.k, blk + "attn_k_norm", c.key_dim, c.norm_eps);  // [T, kv_heads, key_dim]
  }
  return m.attend(heads, in, c, {.layer = layer, .rope = &c.rope, .scale = c.attention_scale});
}

// Logits [R, vocab] of the rows asked for.
ValueId forward(ModelBuilder& m, const QwenConfig& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c);
  GraphBuilder& g = m.graph();
  ValueId x = m.embed(in, c);  // [T, hidden]
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    const ValueId h = m.rms_norm(x, blk + "attn_norm", c.hidden, c.norm_eps);  // [T, hidden]
    x = g.add("math.add", {x, attention(m, c, in, layer, h)}, {},
              blk + "attn_residual");                                         // [T, hidden]
    const ValueId f = m.rms_norm(x, blk + "ffn_norm", c.hidden, c.norm_eps);  // [T, hidden]
    const ValueId y = c.mixture.num_experts > 0 ? swiglu_mixture(m, c, c.mixture, layer, f)
                                                : swiglu_feed_forward(m, c, layer, f);
    x = g.add("math.add", {x, y}, {}, blk + "ffn_residual");  // [T, hidden]
  }
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.rms_norm(x, "output_norm", c.hidden, c.norm_eps);                    // [R, hidden]
  return m.logits(x, c);                                                     // [R, vocab]
}

Result<LanguageModel> build(const Metadata& metadata, const WeightSource& weights,
                            const ModelOptions& options, bool has_norms) {
  QUERN_ASSIGN_OR_RETURN(const QwenConfig config, read_config(metadata, weights, has_norms));
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  return builder.finish(config.vocab, config.context);
}

}  // namespace

Result<LanguageModel> build_qwen2(const Metadata& metadata, const WeightSource& weights,
                                  const ModelOptions& options) {
  return build(metadata, weights, options, false);
}

Result<LanguageModel> build_qwen3(const Metadata& metadata, const WeightSource& weights,
                                  const ModelOptions& options) {
  return build(metadata, weights, options, true);
}

}  // namespace quern
