// Granite 3 (IBM, 2024): a Llama whose embedding, residual branches, attention scores and logits
// carry multipliers.
#include "models/granite.h"

#include "base/fail.h"
#include "models/feed_forward.h"
#include "models/model_builder.h"

namespace quern {
namespace {

// The multipliers; 1 leaves a Llama.
struct GraniteConfig : DecoderConfig {
  RopeConfig rope;
  // Of the token's embedding, before the first layer.
  double embedding_scale = 1;
  // Of both branches of each block, before they join x.
  double residual_scale = 1;
  double logit_scale = 1;  // logits are divided by it
};

// Multipliers of embedding, residual and logits on top of the common keys.
Result<GraniteConfig> read_config(const Metadata& m, const WeightSource& weights) {
  GraniteConfig c;
  QUERN_ASSIGN_OR_RETURN(static_cast<DecoderConfig&>(c),
                         read_decoder_config(m, weights, NormKind::kRms));
  QUERN_ASSIGN_OR_RETURN(c.rope, read_rope_config(m, c.arch, c.key_dim, "interleaved"));
  QUERN_ASSIGN_OR_RETURN(c.embedding_scale, m.number_or(c.arch + ".embedding_scale", 1.0));
  QUERN_ASSIGN_OR_RETURN(c.residual_scale, m.number_or(c.arch + ".residual_scale", 1.0));
  QUERN_ASSIGN_OR_RETURN(c.logit_scale, m.number_or(c.arch + ".logit_scale", 1.0));
  if (c.logit_scale == 0) return fail::invalid("Key '{}.logit_scale' is 0.", c.arch);
  return c;
}

// Grouped-query attention over the cache. h [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const GraniteConfig& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  // The attention multiplier is the key "attention.scale", which DecoderConfig reads; it takes the
  // place of 1 / sqrt(key_dim).
  return m.attend(m.project_heads(h, c, layer), in, c,
                  {.layer = layer, .rope = &c.rope, .scale = c.attention_scale});
}

// x + residual_scale * branch
ValueId add_branch(GraphBuilder& g, const GraniteConfig& c, ValueId x, ValueId branch,
                   const std::string& name) {
  // A node of its own and not folded into the branch's last weight: weights stay as the file has
  // them, quantised or not.
  const ValueId scaled =
      g.add("math.scale", {branch}, {{"factor", c.residual_scale}}, name + "_scaled");
  return g.add("math.add", {x, scaled}, {}, name + "_residual");
}

// Logits [R, vocab] of the rows asked for.
ValueId forward(ModelBuilder& m, const GraniteConfig& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c);
  GraphBuilder& g = m.graph();
  ValueId x = g.add("math.scale", {m.embed(in, c)}, {{"factor", c.embedding_scale}},
                    "embedding_scaled");  // [T, hidden]
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    const ValueId h = m.rms_norm(x, blk + "attn_norm", c.hidden, c.norm_eps);   // [T, hidden]
    x = add_branch(g, c, x, attention(m, c, in, layer, h), blk + "attn");       // [T, hidden]
    const ValueId f = m.rms_norm(x, blk + "ffn_norm", c.hidden, c.norm_eps);    // [T, hidden]
    x = add_branch(g, c, x, swiglu_feed_forward(m, c, layer, f), blk + "ffn");  // [T, hidden]
  }
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.rms_norm(x, "output_norm", c.hidden, c.norm_eps);                    // [R, hidden]
  // A multiplication by the reciprocal, rounded once to float32: as math.scale has it, on every
  // backend.
  return g.add("math.scale", {m.logits(x, c)}, {{"factor", 1.0 / c.logit_scale}},
               "logits_scaled");  // [R, vocab]
}

}  // namespace

Result<LanguageModel> build_granite(const Metadata& metadata, const WeightSource& weights,
                                    const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const GraniteConfig config, read_config(metadata, weights));
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  return builder.finish(config.vocab, config.context);
}

}  // namespace quern
