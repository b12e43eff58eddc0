// Gemma 2 (arXiv:2408.00118) and Gemma 3 (arXiv:2503.19786): scaled embeddings, norms before and
// behind both branches, sliding windows between global layers, GeGLU. Gemma 2 caps attention
// scores and logits; Gemma 3 norms q and k heads and rotates sliding layers with a base of their
// own. Norm weights in files include the +1.
#include "models/gemma.h"

#include "base/fail.h"
#include "models/feed_forward.h"
#include "models/model_builder.h"

namespace quern {
namespace {

// Both families; what one lacks is 0 or false.
struct GemmaConfig : DecoderConfig {
  WindowPattern window;
  RopeConfig global_rope;
  RopeConfig sliding_rope;
  // Both caps in the logits' own unit; 0: none. Gemma 2 ships 50 for scores and 30 for logits.
  double attention_cap = 0;
  double logit_cap = 0;
  bool has_head_norms = false;  // Gemma 3
};

// Correctly rounded on every machine, unlike other functions of libm: it may be part of a graph.
double square_root(double x) {
  return __builtin_sqrt(x);
}

// The largest models scale scores by the width per head instead of the head's size.
// `layers_of_largest` tells the 27B models by their depth, as files do not carry the scale: 4608 /
// 32 = 144 in Gemma 2 and 5376 / 32 = 168 in Gemma 3, both with heads of 128.
void set_attention_scale(GemmaConfig& c, int64_t layers_of_largest) {
  if (c.attention_scale != 0 || c.num_layers != layers_of_largest) return;
  c.attention_scale =
      1.0 / square_root(static_cast<double>(c.hidden) / static_cast<double>(c.num_heads));
}

// Every second layer slides where the file does not say otherwise; one base for all layers.
Result<GemmaConfig> read_gemma2(const Metadata& m, const WeightSource& weights) {
  GemmaConfig c;
  QUERN_ASSIGN_OR_RETURN(static_cast<DecoderConfig&>(c),
                         read_decoder_config(m, weights, NormKind::kRms));
  // Layers 1, 3, 5, ... see every key.
  QUERN_ASSIGN_OR_RETURN(c.window, read_window_pattern(m, c, 2));
  QUERN_ASSIGN_OR_RETURN(c.global_rope, read_rope_config(m, c.arch, c.key_dim, "half"));
  c.sliding_rope = c.global_rope;
  QUERN_ASSIGN_OR_RETURN(c.attention_cap, m.number_or(c.arch + ".attn_logit_softcapping", 0.0));
  QUERN_ASSIGN_OR_RETURN(c.logit_cap, m.number_or(c.arch + ".final_logit_softcapping", 0.0));
  set_attention_scale(c, 46);
  return c;
}

// Five of six layers slide, and these rotate with a base of their own and without scaling.
Result<GemmaConfig> read_gemma3(const Metadata& m, const WeightSource& weights) {
  GemmaConfig c;
  QUERN_ASSIGN_OR_RETURN(static_cast<DecoderConfig&>(c),
                         read_decoder_config(m, weights, NormKind::kRms));
  QUERN_ASSIGN_OR_RETURN(c.window, read_window_pattern(m, c, 6));
  QUERN_ASSIGN_OR_RETURN(c.global_rope, read_rope_config(m, c.arch, c.key_dim, "half"));
  // No factor and no scaling: the linear scaling of the long-context training touches the global
  // layers alone.
  c.sliding_rope = {.num_rotated = c.global_rope.num_rotated, .style = "half"};
  QUERN_ASSIGN_OR_RETURN(c.sliding_rope.base, m.number_or(c.arch + ".rope.freq_base_swa", 10000.0));
  QUERN_ASSIGN_OR_RETURN(c.logit_cap, m.number_or(c.arch + ".final_logit_softcapping", 0.0));
  c.has_head_norms = true;
  set_attention_scale(c, 62);
  return c;
}

// Grouped-query attention over the cache. h [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const GemmaConfig& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  // q = W_q h, k = W_k h, v = W_v h; o = W_o softmax(cap * tanh(q k / cap)) v, the cap in Gemma 2
  // only.
  const std::string blk = fmt::format("blk.{}.", layer);
  Heads heads = m.project_heads(h, c, layer);
  if (c.has_head_norms) {
    heads.q =
        m.rms_norm(heads.q, blk + "attn_q_norm", c.key_dim, c.norm_eps);  // [T, heads, key_dim]
    heads.k =
        m.rms_norm(heads.k, blk + "attn_k_norm", c.key_dim, c.norm_eps);  // [T, kv_heads, key_dim]
  }
  const int64_t window = c.window.of_layer(layer);
  return m.attend(heads, in, c,
                  {.layer = layer,
                   .rope = window > 0 ? &c.sliding_rope : &c.global_rope,
                   .scale = c.attention_scale,
                   .window = window,
                   .soft_cap = c.attention_cap});
}

// cap * tanh(x / cap): logits bend smoothly into (-cap, cap). x [R, vocab] -> the same
ValueId soft_cap(GraphBuilder& g, ValueId x, double cap) {
  const ValueId scaled = g.add("math.scale", {x}, {{"factor", 1.0 / cap}}, "logits_scaled");
  const ValueId bent = g.add("activation.tanh", {scaled}, {}, "logits_tanh");
  return g.add("math.scale", {bent}, {{"factor", cap}}, "logits_capped");
}

// Logits [R, vocab] of the rows asked for.
ValueId forward(ModelBuilder& m, const GemmaConfig& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c);
  GraphBuilder& g = m.graph();
  // The factor rounds once to f32, as every float attribute does.
  ValueId x = g.add("math.scale", {m.embed(in, c)},  // [T, hidden]
                    {{"factor", square_root(static_cast<double>(c.hidden))}}, "embedding_scaled");
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    // x' = x + norm(attention(norm(x))), then x + norm(ffn(norm(x'))): four norms in a block, each
    // with a weight of its own.
    ValueId h = m.rms_norm(x, blk + "attn_norm", c.hidden, c.norm_eps);    // [T, hidden]
    h = attention(m, c, in, layer, h);                                     // [T, hidden]
    h = m.rms_norm(h, blk + "post_attention_norm", c.hidden, c.norm_eps);  // [T, hidden]
    x = g.add("math.add", {x, h}, {}, blk + "attn_residual");              // [T, hidden]
    ValueId f = m.rms_norm(x, blk + "ffn_norm", c.hidden, c.norm_eps);     // [T, hidden]
    f = geglu_feed_forward(m, c, layer, f);                                // [T, hidden]
    f = m.rms_norm(f, blk + "post_ffw_norm", c.hidden, c.norm_eps);        // [T, hidden]
    x = g.add("math.add", {x, f}, {}, blk + "ffn_residual");               // [T, hidden]
  }
  // Before the last norm and the head: a prefill of T tokens usually wants the logits of one row.
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.rms_norm(x, "output_norm", c.hidden, c.norm_eps);                    // [R, hidden]
  const ValueId logits = m.logits(x, c);                                     // [R, vocab]
  // Greedy decoding would not need it, as tanh keeps the order; probabilities do.
  return c.logit_cap > 0 ? soft_cap(g, logits, c.logit_cap) : logits;
}

Result<LanguageModel> build(const Metadata& metadata, const WeightSource& weights,
                            const ModelOptions& options, const GemmaConfig& config) {
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  return builder.finish(config.vocab, config.context);
}

}  // namespace

Result<LanguageModel> build_gemma2(const Metadata& metadata, const WeightSource& weights,
                                   const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const GemmaConfig config, read_gemma2(metadata, weights));
  return build(metadata, weights, options, config);
}

// Text only: the vision tower comes in a file of its own.
Result<LanguageModel> build_gemma3(const Metadata& metadata, const WeightSource& weights,
                                   const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const GemmaConfig config, read_gemma3(metadata, weights));
  return build(metadata, weights, options, config);
}

}  // namespace quern
