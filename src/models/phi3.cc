// Phi-3 (arXiv:2404.14219): a Llama with fused projections (attn_qkv = [q; k; v],
// ffn_up = [gate; up]), rotary pairs (i, i + d/2) and an optional window on every layer.
#include "models/phi3.h"

#include "base/fail.h"
#include "models/model_builder.h"

namespace quern {
namespace {

// Phi-3; its long variants bring two sets of rotary factors.
struct Phi3Config : DecoderConfig {
  WindowPattern window;
  RopeConfig rope;
};

Result<Phi3Config> read_config(const Metadata& m, const WeightSource& weights) {
  Phi3Config c;
  QUERN_ASSIGN_OR_RETURN(static_cast<DecoderConfig&>(c),
                         read_decoder_config(m, weights, NormKind::kRms));
  QUERN_ASSIGN_OR_RETURN(c.window, read_window_pattern(m, c, 0));
  QUERN_ASSIGN_OR_RETURN(c.rope, read_rope_config(m, c.arch, c.key_dim, "half"));
  // longrope (arXiv:2402.13753): files carry the factors as tensors, not as keys.
  c.rope.has_length_factors = weights.info("rope_factors_long.weight").has_value();
  if (!c.rope.has_length_factors) return c;
  const std::string scaling = c.arch + ".rope.scaling.";
  QUERN_ASSIGN_OR_RETURN(c.rope.original_context, m.integer(scaling + "original_context_length"));
  if (c.rope.original_context < 1) {
    return fail::invalid("Key '{}original_context_length' is {}; it must be positive.", scaling,
                         c.rope.original_context);
  }
  QUERN_ASSIGN_OR_RETURN(c.rope.attention_factor, m.number_or(scaling + "attn_factor", 1.0));
  return c;
}

// Grouped-query attention over the cache. h [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const Phi3Config& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  return m.attend(m.project_fused_heads(h, c, layer), in, c,
                  {.layer = layer,
                   .rope = &c.rope,
                   .scale = c.attention_scale,
                   .window = c.window.of_layer(layer)});
}

// SwiGLU over one product that holds gate and up side by side. h [T, hidden] -> [T, hidden]
ValueId feed_forward(ModelBuilder& m, const Phi3Config& c, int64_t layer, ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const ValueId gate_up = m.linear(h, blk + "ffn_up", c.hidden, 2 * c.ffn);  // [T, 2 * ffn]
  const ValueId y = m.graph().add("activation.swiglu", {gate_up}, {}, blk + "swiglu");  // [T, ffn]
  return m.linear(y, blk + "ffn_down", c.ffn, c.hidden);
}

// Logits [R, vocab] of the rows asked for.
ValueId forward(ModelBuilder& m, const Phi3Config& c) {
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
    x = g.add("math.add", {x, feed_forward(m, c, layer, f)}, {},
              blk + "ffn_residual");  // [T, hidden]
  }
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.rms_norm(x, "output_norm", c.hidden, c.norm_eps);                    // [R, hidden]
  return m.logits(x, c);                                                     // [R, vocab]
}

}  // namespace

Result<LanguageModel> build_phi3(const Metadata& metadata, const WeightSource& weights,
                                 const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const Phi3Config config, read_config(metadata, weights));
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  return builder.finish(config.vocab, config.context);
}

}  // namespace quern
