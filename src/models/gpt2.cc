// GPT-2 (Radford et al. 2019): learned positions, layer norm before each branch, fused q, k, v with
// bias, GELU in its tanh form, head tied to the embedding.
#include "models/gpt2.h"

#include "base/fail.h"
#include "models/feed_forward.h"
#include "models/model_builder.h"

namespace quern {
namespace {

ValueId attention(ModelBuilder& m, const DecoderConfig& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const int64_t size = c.num_heads * c.key_dim;
  const ValueId qkv = m.linear(h, blk + "attn_qkv", c.hidden, 3 * size);  // [T, 3 * hidden]
  ValueId q = m.columns(qkv, 0, size, blk + "q_columns");
  ValueId k = m.columns(qkv, size, 2 * size, blk + "k_columns");
  ValueId v = m.columns(qkv, 2 * size, 3 * size, blk + "v_columns");
  q = m.split_heads(q, c.num_heads, c.key_dim, blk + "q");  // [T, heads, key_dim]
  k = m.split_heads(k, c.num_heads, c.key_dim, blk + "k");
  v = m.split_heads(v, c.num_heads, c.key_dim, blk + "v");
  const ValueId a = m.attend(q, k, v, in, c, {.layer = layer});
  return m.linear(a, blk + "attn_output", size, c.hidden);
}

ValueId forward(ModelBuilder& m, const DecoderConfig& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c);
  GraphBuilder& g = m.graph();
  const ValueId table = m.weight("position_embd.weight", Shape{c.context, c.hidden});
  const ValueId positions =
      g.add("embedding.token", {in.positions, table}, {}, "position_embedding");
  ValueId x = g.add("math.add", {m.embed(in, c), positions}, {}, "input");  // [T, hidden]
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    const ValueId h = m.layer_norm(x, blk + "attn_norm", c.hidden, c.norm_eps);
    x = g.add("math.add", {x, attention(m, c, in, layer, h)}, {}, blk + "attn_residual");
    const ValueId f = m.layer_norm(x, blk + "ffn_norm", c.hidden, c.norm_eps);
    x = g.add("math.add", {x, gelu_feed_forward(m, c, layer, f)}, {}, blk + "ffn_residual");
  }
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.layer_norm(x, "output_norm", c.hidden, c.norm_eps);
  return m.logits(x, c);  // [R, vocab]
}

}  // namespace

Result<LanguageModel> build_gpt2(const Metadata& metadata, const WeightSource& weights,
                                 const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const DecoderConfig config,
                         read_decoder_config(metadata, weights, NormKind::kLayer));
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  return builder.finish(config.vocab, config.context);
}

}  // namespace quern
