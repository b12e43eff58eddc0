// GPT-2 (Radford et al. 2019): learned positions, layer norm before each branch, fused q, k, v with
// bias, GELU in its tanh form, head tied to the embedding.
#include "models/gpt2.h"

#include "base/fail.h"
#include "models/feed_forward.h"
#include "models/model_builder.h"

namespace quern {
namespace {

// Multi-head attention without rotation: positions are in x already. h [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const DecoderConfig& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  // RopeConfig stays null: nothing rotates, the scale is 1 / sqrt(key_dim), every earlier key is
  // seen.
  return m.attend(m.project_fused_heads(h, c, layer), in, c, {.layer = layer});
}

// Logits [R, vocab] of the rows asked for.
ValueId forward(ModelBuilder& m, const DecoderConfig& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c);
  GraphBuilder& g = m.graph();
  // One row for each position up to the trained context; there is none behind it.
  const ValueId table = m.weight("position_embd.weight", Shape{c.context, c.hidden});
  // [T, hidden]
  const ValueId positions =
      g.add("embedding.token", {in.positions, table}, {}, "position_embedding");
  ValueId x = g.add("math.add", {m.embed(in, c), positions}, {}, "input");  // [T, hidden]
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

Result<LanguageModel> build_gpt2(const Metadata& metadata, const WeightSource& weights,
                                 const ModelOptions& options) {
  // GPT-2 adds no key of its own to the common ones.
  QUERN_ASSIGN_OR_RETURN(const DecoderConfig config,
                         read_decoder_config(metadata, weights, NormKind::kLayer));
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  QUERN_ASSIGN_OR_RETURN(LanguageModel model, builder.finish(config.vocab, config.context));
  model.position_limit = config.context;
  return model;
}

}  // namespace quern
