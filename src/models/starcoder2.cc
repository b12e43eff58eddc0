// StarCoder2 (arXiv:2402.19173): layer norm, biases everywhere, rotary pairs (i, i + d/2),
// grouped-query attention with an optional window, a plain GELU feed-forward.
#include "models/starcoder2.h"

#include "base/fail.h"
#include "models/feed_forward.h"
#include "models/model_builder.h"

namespace quern {
namespace {

// Window and rotation on top of the common sizes.
struct StarCoder2Config : DecoderConfig {
  WindowPattern window;
  RopeConfig rope;
};

Result<StarCoder2Config> read_config(const Metadata& m, const WeightSource& weights) {
  StarCoder2Config c;
  QUERN_ASSIGN_OR_RETURN(static_cast<DecoderConfig&>(c),
                         read_decoder_config(m, weights, NormKind::kLayer));
  QUERN_ASSIGN_OR_RETURN(c.window, read_window_pattern(m, c, 0));
  QUERN_ASSIGN_OR_RETURN(c.rope, read_rope_config(m, c.arch, c.key_dim, "half"));
  return c;
}

// Grouped-query attention over the cache. h [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const StarCoder2Config& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  return m.attend(m.project_heads(h, c, layer), in, c,
                  {.layer = layer,
                   .rope = &c.rope,
                   .scale = c.attention_scale,
                   .window = c.window.of_layer(layer)});
}

// Logits [R, vocab] of the rows asked for.
ValueId forward(ModelBuilder& m, const StarCoder2Config& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c);
  GraphBuilder& g = m.graph();
  ValueId x = m.embed(in, c);  // [T, hidden]
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    const ValueId h = m.layer_norm(x, blk + "attn_norm", c.hidden, c.norm_eps);  // [T, hidden]
    x = g.add("math.add", {x, attention(m, c, in, layer, h)}, {},
              blk + "attn_residual");                                           // [T, hidden]
    const ValueId f = m.layer_norm(x, blk + "ffn_norm", c.hidden, c.norm_eps);  // [T, hidden]
    x = g.add("math.add", {x, gelu_feed_forward(m, c, layer, f)}, {},
              blk + "ffn_residual");  // [T, hidden]
  }
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.layer_norm(x, "output_norm", c.hidden, c.norm_eps);                  // [R, hidden]
  return m.logits(x, c);                                                     // [R, vocab]
}

}  // namespace

Result<LanguageModel> build_starcoder2(const Metadata& metadata, const WeightSource& weights,
                                       const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const StarCoder2Config config, read_config(metadata, weights));
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  return builder.finish(config.vocab, config.context);
}

}  // namespace quern
