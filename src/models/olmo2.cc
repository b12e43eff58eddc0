// OLMo 2 (arXiv:2501.00656) and OLMo 3: no norm in front of a branch but one behind it, RMS norms
// over the whole q and k projections, SwiGLU. OLMo 3 slides on most layers and scales the rotary
// positions of its full layers only.
#include "models/olmo2.h"

#include "base/fail.h"
#include "models/feed_forward.h"
#include "models/model_builder.h"

namespace quern {
namespace {

// Norms behind the branches instead of before them.
struct OlmoConfig : DecoderConfig {
  WindowPattern window;
  RopeConfig full_rope;
  RopeConfig sliding_rope;
};

Result<OlmoConfig> read_config(const Metadata& m, const WeightSource& weights) {
  OlmoConfig c;
  QUERN_ASSIGN_OR_RETURN(static_cast<DecoderConfig&>(c),
                         read_decoder_config(m, weights, NormKind::kRms));
  QUERN_ASSIGN_OR_RETURN(c.window, read_window_pattern(m, c, 4));
  QUERN_ASSIGN_OR_RETURN(c.full_rope, read_rope_config(m, c.arch, c.key_dim, "half"));
  c.sliding_rope = {.num_rotated = c.full_rope.num_rotated, .style = "half"};
  QUERN_ASSIGN_OR_RETURN(c.sliding_rope.base,
                         m.number_or(c.arch + ".rope.freq_base_swa", c.full_rope.base));
  return c;
}

// Grouped-query attention over the cache. x [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const OlmoConfig& c, const ModelInputs& in, int64_t layer,
                  ValueId x) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const int64_t q_size = c.num_heads * c.key_dim;
  const int64_t k_size = c.num_kv_heads * c.key_dim;
  ValueId q = m.linear(x, blk + "attn_q", c.hidden, q_size);  // [T, heads * key_dim]
  ValueId k = m.linear(x, blk + "attn_k", c.hidden, k_size);  // [T, kv_heads * key_dim]
  ValueId v = m.linear(x, blk + "attn_v", c.hidden,
                       c.num_kv_heads * c.value_dim);  // [T, kv_heads * value_dim]
  q = m.rms_norm(q, blk + "attn_q_norm", q_size, c.norm_eps);
  k = m.rms_norm(k, blk + "attn_k_norm", k_size, c.norm_eps);
  const Heads heads{m.split_heads(q, c.num_heads, c.key_dim, blk + "q"),
                    m.split_heads(k, c.num_kv_heads, c.key_dim, blk + "k"),
                    m.split_heads(v, c.num_kv_heads, c.value_dim, blk + "v")};
  const int64_t window = c.window.of_layer(layer);
  return m.attend(heads, in, c,
                  {.layer = layer,
                   .rope = window > 0 ? &c.sliding_rope : &c.full_rope,
                   .scale = c.attention_scale,
                   .window = window});
}

// Logits [R, vocab] of the rows asked for.
ValueId forward(ModelBuilder& m, const OlmoConfig& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c);
  GraphBuilder& g = m.graph();
  ValueId x = m.embed(in, c);  // [T, hidden]
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    ValueId h = attention(m, c, in, layer, x);                             // [T, hidden]
    h = m.rms_norm(h, blk + "post_attention_norm", c.hidden, c.norm_eps);  // [T, hidden]
    x = g.add("math.add", {x, h}, {}, blk + "attn_residual");              // [T, hidden]
    ValueId f = swiglu_feed_forward(m, c, layer, x);                       // [T, hidden]
    f = m.rms_norm(f, blk + "post_ffw_norm", c.hidden, c.norm_eps);        // [T, hidden]
    x = g.add("math.add", {x, f}, {}, blk + "ffn_residual");               // [T, hidden]
  }
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.rms_norm(x, "output_norm", c.hidden, c.norm_eps);                    // [R, hidden]
  return m.logits(x, c);                                                     // [R, vocab]
}

}  // namespace

Result<LanguageModel> build_olmo2(const Metadata& metadata, const WeightSource& weights,
                                  const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const OlmoConfig config, read_config(metadata, weights));
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  return builder.finish(config.vocab, config.context);
}

}  // namespace quern
