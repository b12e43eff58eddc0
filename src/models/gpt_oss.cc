// gpt-oss (OpenAI 2025, arXiv:2508.10925): pre-norm decoder with biases, a learned sink per head,
// sliding windows on even layers, yarn, and experts with a clamped gated activation.
#include "models/gpt_oss.h"

#include "base/fail.h"
#include "models/mixture.h"
#include "models/model_builder.h"

namespace quern {
namespace {

constexpr double kClamp = 7.0;  // swiglu_limit of the released models; files do not carry it

// A mixture in every layer, and windows on every second.
struct GptOssConfig : DecoderConfig {
  WindowPattern window;
  RopeConfig rope;
  MixtureConfig mixture;
};

// Errors: a model without experts, besides those of the keys.
Result<GptOssConfig> read_config(const Metadata& m, const WeightSource& weights) {
  GptOssConfig c;
  // Under "attention.layer_norm_rms_epsilon"; the file's window of 128 holds on layers 0, 2, 4, ...
  QUERN_ASSIGN_OR_RETURN(static_cast<DecoderConfig&>(c),
                         read_decoder_config(m, weights, NormKind::kRms));
  QUERN_ASSIGN_OR_RETURN(c.window, read_window_pattern(m, c, 2));
  QUERN_ASSIGN_OR_RETURN(c.rope, read_rope_config(m, c.arch, c.key_dim, "half"));
  QUERN_ASSIGN_OR_RETURN(c.mixture, read_mixture_config(m, c));
  if (c.mixture.num_experts == 0) return fail::invalid("Key '{}.expert_count' is absent.", c.arch);
  return c;
}

// Grouped-query attention over the cache. h [T, hidden] -> [T, hidden]
ValueId attention(ModelBuilder& m, const GptOssConfig& c, const ModelInputs& in, int64_t layer,
                  ValueId h) {
  // A sink joins the softmax's sum like one more key that carries no value, so that a head may
  // attend to nothing: p_j = exp(s_j) / (exp(sink) + sum exp(s)).
  const std::string sinks = fmt::format("blk.{}.attn_sinks.weight", layer);
  return m.attend(m.project_heads(h, c, layer), in, c,
                  {.layer = layer,
                   .rope = &c.rope,
                   .scale = c.attention_scale,
                   .window = c.window.of_layer(layer),
                   .sinks = m.weight(sinks, Shape{c.num_heads})});
}

// gate' = min(gate, 7), up' = clamp(up, -7, 7): gate' * sigmoid(1.702 gate') * (up' + 1)
ValueId clamped_gate(GraphBuilder& g, ValueId gate, ValueId up, const std::string& blk) {
  // The gate is bounded from above only; the operation wants both limits, and the lowest finite
  // float32 bounds nothing that is finite.
  constexpr double kLowest = -3.4028234663852886e38;
  // All [T, used, ffn].
  const ValueId low = g.add("activation.hard_tanh_range", {gate},
                            {{"min", kLowest}, {"max", kClamp}}, blk + "gate_clamped");
  const ValueId both = g.add("activation.hard_tanh_range", {up},
                             {{"min", -kClamp}, {"max", kClamp}}, blk + "up_clamped");
  // x * sigmoid(1.702 x), which is the paper's swish with alpha = 1.702.
  const ValueId bent = g.add("activation.quick_gelu", {low}, {}, blk + "gate_bent");
  const ValueId product = g.add("math.mul", {bent, both}, {}, blk + "gate_up");
  // bent * (up' + 1) as bent * up' + bent, which needs no tensor of ones.
  return g.add("math.add", {product, bent}, {}, blk + "gated");
}

// The mixture of expert layers. h [T, hidden] -> [T, hidden]
ValueId feed_forward(ModelBuilder& m, const GptOssConfig& c, int64_t layer, ValueId h) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const MixtureConfig& x = c.mixture;
  // Top 4 of 32 or 128 in the released models; the router has a bias, which linear() adds.
  const Routing routing = route(m, c, x, layer, h);
  const ValueId gate = m.expert_linear(h, routing.experts, blk + "ffn_gate_exps", x.num_experts,
                                       c.hidden, x.ffn);  // [T, used, ffn]
  const ValueId up = m.expert_linear(h, routing.experts, blk + "ffn_up_exps", x.num_experts,
                                     c.hidden, x.ffn);  // [T, used, ffn]
  const ValueId y = clamped_gate(m.graph(), gate, up, blk);
  const ValueId down = m.expert_linear(y, routing.experts, blk + "ffn_down_exps", x.num_experts,
                                       x.ffn, c.hidden);  // [T, used, hidden]
  return m.graph().add("experts.combine", {down, routing.weights}, {}, blk + "ffn_sum");
}

// Logits [R, vocab] of the rows asked for.
ValueId forward(ModelBuilder& m, const GptOssConfig& c) {
  const ModelInputs in = m.inputs();
  m.kv_cache(c);
  GraphBuilder& g = m.graph();
  ValueId x = m.embed(in, c);  // [T, hidden]
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    // x = x + W_o attention(norm(x)); x = x + mixture(norm(x)).
    const ValueId h = m.rms_norm(x, blk + "attn_norm", c.hidden, c.norm_eps);  // [T, hidden]
    x = g.add("math.add", {x, attention(m, c, in, layer, h)}, {},
              blk + "attn_residual");  // [T, hidden]
    // In these files the norm before the feed-forward has this name.
    const ValueId f =
        m.rms_norm(x, blk + "post_attention_norm", c.hidden, c.norm_eps);  // [T, hidden]
    x = g.add("math.add", {x, feed_forward(m, c, layer, f)}, {},
              blk + "ffn_residual");  // [T, hidden]
  }
  x = g.add("shape.gather_rows", {x, in.output_rows}, {}, "output_hidden");  // [R, hidden]
  x = m.rms_norm(x, "output_norm", c.hidden, c.norm_eps);                    // [R, hidden]
  return m.logits(x, c);                                                     // [R, vocab]
}

}  // namespace

Result<LanguageModel> build_gpt_oss(const Metadata& metadata, const WeightSource& weights,
                                    const ModelOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const GptOssConfig config, read_config(metadata, weights));
  ModelBuilder builder(metadata, weights, options);
  builder.graph().output("logits", forward(builder, config));
  return builder.finish(config.vocab, config.context);
}

}  // namespace quern
