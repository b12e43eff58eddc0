// Llama (Touvron et al. 2023, arXiv:2302.13971 and 2307.09288): pre-norm decoder with RMS norm,
// rotary positions, grouped-query attention and a SwiGLU feed-forward; in Mixtral
// (arXiv:2401.04088) a mixture of them.
#include "models/llama.h"

#include "base/fail.h"
#include "models/feed_forward.h"
#include "models/mixture.h"
#include "models/model_builder.h"

namespace quern {
namespace {

// Llama, and what its descendants under the same architecture name add.
struct LlamaConfig : DecoderConfig {
  WindowPattern window;  // Mistral 7B v0.1
  RopeConfig rope;
  MixtureConfig mixture;  // Mixtral
};

// Windows and experts are optional: Mistral and Mixtral come under the same name.
Result<LlamaConfig> read_config(const Metadata& m, const WeightSource& weights) {
  LlamaConfig c;
  QUERN_ASSIGN_OR_RETURN(static_cast<DecoderConfig&>(c),
                         read_decoder_config(m, weights, NormKind::kRms));
  // Usual period 0: with a window every layer slides, as Mistral 7B v0.1 does with 4,096 keys.
  QUERN_ASSIGN_OR_RETURN(c.window, read_window_pattern(m, c, 0));
  // Pairs (2i, 2i + 1): converters permute the rows of q and k from the checkpoint's (i, i + d/2).
  QUERN_ASSIGN_OR_RETURN(c.rope, read_rope_config(m, c.arch, c.key_dim, "interleaved"));
  QUERN_ASSIGN_OR_RETURN(c.mixture, read_mixture_config(m, c));
  return c;
}

// Grouped-query attention over the cache. h [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const LlamaConfig& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  return m.attend(m.project_heads(h, c, layer), in, c,
                  {.layer = layer,
                   .rope = &c.rope,
                   .scale = c.attention_scale,
                   .window = c.window.of_layer(layer)});
}

// Logits [R, vocab] of the rows asked for.
ValueId forward(ModelBuilder& m, const LlamaConfig& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c);
  GraphBuilder& g = m.graph();
  ValueId x = m.embed(in, c);  // [T, hidden]
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    // h = x + attention(norm(x)); x = h + ffn(norm(h)).
    const ValueId h = m.rms_norm(x, blk + "attn_norm", c.hidden, c.norm_eps);  // [T, hidden]
    x = g.add("math.add", {x, attention(m, c, in, layer, h)}, {},
              blk + "attn_residual");                                         // [T, hidden]
    const ValueId f = m.rms_norm(x, blk + "ffn_norm", c.hidden, c.norm_eps);  // [T, hidden]
    // [T, hidden] either way; a file has the experts in every layer or in none.
    const ValueId y = c.mixture.num_experts > 0 ? swiglu_mixture(m, c, c.mixture, layer, f)
                                                : swiglu_feed_forward(m, c, layer, f);
    x = g.add("math.add", {x, y}, {}, blk + "ffn_residual");  // [T, hidden]
  }
  // Before the norm: only the rows whose logits are wanted go on, R of T.
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.rms_norm(x, "output_norm", c.hidden, c.norm_eps);                    // [R, hidden]
  return m.logits(x, c);                                                     // [R, vocab]
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
