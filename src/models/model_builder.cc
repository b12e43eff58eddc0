// Weights and layers of language-model graphs.
#include "models/model_builder.h"

#include <array>

#include "base/fail.h"
#include "models/activations.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

// A weight's extents are constants of the graph.
TensorType static_type(const WeightInfo& info) {
  TensorType type{info.dtype, {}, LayoutKind::kRowMajor};
  for (const int64_t extent : info.shape.dims()) type.dims.push_back(Dim::constant(extent));
  return type;
}

// Keys that describe the model to people or loaders and do not change its logits.
constexpr std::array<std::string_view, 5> kHarmlessKeys = {
    "vocab_size", "context_length", "rope.scaling.finetuned",
    "rope.scaling.original_context_length", "tensor_data_layout"};

}  // namespace

// The options' adapters join the weights.
ModelBuilder::ModelBuilder(const Metadata& metadata, const WeightSource& weights,
                           const ModelOptions& options)
    : metadata_(metadata),
      base_weights_(weights),
      options_(options),
      weights_(weights, options.adapters),
      activations_(resolve_activations(options.activations, weights)),
      graph_(builtin_ops()) {}

// T tokens, R rows of logits; both are known at each run only.
ModelInputs ModelBuilder::inputs() {
  const TensorType per_token{DType::kI32, {Dim::symbolic('T')}, LayoutKind::kRowMajor};
  const TensorType per_row{DType::kI32, {Dim::symbolic('R')}, LayoutKind::kRowMajor};
  ModelInputs inputs{};
  inputs.tokens = graph_.input("tokens", per_token);
  inputs.positions = graph_.input("positions", per_token);
  inputs.sequences = graph_.input("sequences", per_token);
  inputs.output_rows = graph_.input("output_rows", per_row);
  return inputs;
}

// Kept for build_rotation(), which declares it again.
void ModelBuilder::kv_cache(const DecoderConfig& config) {
  cache_ = {"kv",
            "kv",
            {{"layers", config.num_layers},
             {"heads", config.num_kv_heads},
             {"key_dim", config.key_dim},
             {"value_dim", config.value_dim},
             {"key_type", std::string(dtype_name(options_.key_type))},
             {"value_type", std::string(dtype_name(options_.value_type))},
             {"keeps_unrotated", options_.is_evictable}}};
  graph_.state(cache_);
}

// Looks at names only.
bool ModelBuilder::has_weight(std::string_view name) const {
  return weights_.info(name).has_value();
}

// The shape is compared here and not by the graph, so that the message names tensor and config.
ValueId ModelBuilder::weight(const std::string& name, const Shape& shape) {
  if (graph_.has_error()) return kNoValue;
  const auto info = weights_.info(name);
  if (!info) {
    graph_.set_error(info.error());
    return kNoValue;
  }
  if (!(info->shape == shape)) {
    graph_.set_error({ErrorCode::kInvalidArgument,
                      fmt::format("Tensor '{}' has shape {}; the config needs {}.", name,
                                  info->shape.to_string(), shape.to_string())});
    return kNoValue;
  }
  used_weights_.insert(name);
  return graph_.weight(name, static_type(*info));
}

// Absent biases and the like.
ValueId ModelBuilder::optional_weight(const std::string& name, const Shape& shape) {
  return has_weight(name) ? weight(name, shape) : kNoValue;
}

ModelBuilder::Activation ModelBuilder::activation_for(ValueId x, DType weight_type,
                                                      const std::string& name) {
  // Float weights take float activations whatever the options say.
  const BlockFormat* format = find_block_format(weight_type);
  if (format == nullptr || activations_ == Activations::kF32) return {x, kNoValue};
  const int64_t bits = activations_ == Activations::kInt8 ? 8 : 16;
  const int64_t block = format->activation_block;
  const ValueId q =
      graph_.add("quant.dynamic", {x}, {{"block", block}, {"bits", bits}}, name + ".activations");
  if (graph_.has_error()) return {};
  return {q, graph_.last_outputs()[1]};
}

// Adapters see the same activations in floats.
ValueId ModelBuilder::linear(ValueId x, const std::string& name, int64_t in, int64_t out) {
  const ValueId w = weight(name + ".weight", Shape{out, in});
  const ValueId bias = optional_weight(name + ".bias", Shape{out});
  if (graph_.has_error()) return kNoValue;
  const Activation a = activation_for(x, graph_.type(w)->dtype, name);
  const ValueId y = graph_.add("projection.linear", {a.x, w, bias, a.scale}, {}, name);
  return options_.adapters.empty() ? y : adapt(y, x, name, in, out);
}

ValueId ModelBuilder::adapt(ValueId y, ValueId x, const std::string& name, int64_t in,
                            int64_t out) {
  for (const auto& adapter : options_.adapters) {
    // y + factor * B (A x); the products of an adapter are small beside the model's and stay in
    // floats.
    const std::string base = adapter->prefix + name + ".weight.lora_";
    const auto a_info = weights_.info(base + "a");
    // Adapters change some products only. A factor that is no matrix stays unused, which finish()
    // refuses.
    if (!a_info || a_info->shape.rank() != 2) continue;
    const int64_t rank = a_info->shape[0];
    const ValueId a = weight(base + "a", Shape{rank, in});
    const ValueId b = weight(base + "b", Shape{out, rank});
    const ValueId low = graph_.add("projection.linear", {x, a}, {}, base + "low");      // [T, rank]
    const ValueId high = graph_.add("projection.linear", {low, b}, {}, base + "high");  // [T, out]
    const ValueId scaled =
        graph_.add("math.scale", {high}, {{"factor", adapter->factor(rank)}}, base + "scaled");
    y = graph_.add("math.add", {y, scaled}, {}, base + "added");
  }
  return y;
}

// One operation reads only the experts that were chosen.
ValueId ModelBuilder::expert_linear(ValueId x, ValueId experts, const std::string& name,
                                    int64_t num_experts, int64_t in, int64_t out) {
  const ValueId w = weight(name + ".weight", Shape{num_experts, out, in});
  const ValueId bias = optional_weight(name + ".bias", Shape{num_experts, out});
  if (graph_.has_error()) return kNoValue;
  const Activation a = activation_for(x, graph_.type(w)->dtype, name);
  return graph_.add("experts.linear", {a.x, w, experts, bias, a.scale}, {}, name);
}

// The norm has no bias.
ValueId ModelBuilder::rms_norm(ValueId x, const std::string& name, int64_t size, double eps) {
  return graph_.add("math.rmsnorm", {x, weight(name + ".weight", Shape{size})}, {{"eps", eps}},
                    name);
}

// `factors` divide the frequencies, for models with scaled positions.
ValueId ModelBuilder::rope_with(ValueId x, ValueId factors, const ModelInputs& inputs,
                                const RopeConfig& config, std::string_view name) {
  return graph_.add("positional.rope_at", {x, inputs.positions, factors},
                    {{"n_rot", config.num_rotated},
                     {"base", config.base},
                     {"style", config.style},
                     {"scaling", config.scaling},
                     {"factor", config.factor},
                     {"original_context", config.original_context},
                     {"attn_factor", config.attention_factor},
                     {"beta_fast", config.beta_fast},
                     {"beta_slow", config.beta_slow}},
                    name);
}

// Three kinds of models: plain, with one tensor of divisors (Llama 3), with two that depend on the
// sequence's length (longrope).
ValueId ModelBuilder::rope(ValueId x, const ModelInputs& inputs, const RopeConfig& config,
                           const std::string& name) {
  const Shape shape{config.num_rotated / 2};
  if (!config.has_length_factors) {
    return rope_with(x, optional_weight("rope_freqs.weight", shape), inputs, config, name);
  }
  // Both rotations are computed and rows choose: a batch may mix short and long sequences.
  if (long_context_ == kNoValue) {
    long_context_ = graph_.input("long_context", {DType::kI32, {Dim::symbolic('T')}});
    long_context_threshold_ = config.original_context;
  }
  const ValueId brief =
      rope_with(x, weight("rope_factors_short.weight", shape), inputs, config, name + "_short");
  const ValueId lengthy =
      rope_with(x, weight("rope_factors_long.weight", shape), inputs, config, name + "_long");
  return graph_.add("shape.select_rows", {brief, lengthy, long_context_}, {}, name);
}

ValueId ModelBuilder::split_heads(ValueId x, int64_t num_heads, int64_t head_dim,
                                  std::string_view name) {
  return graph_.add("shape.reshape", {x},
                    {{"shape", std::vector<int64_t>{-1, num_heads, head_dim}}}, name);
}

// Of a fused projection.
ValueId ModelBuilder::columns(ValueId x, int64_t start, int64_t end, std::string_view name) {
  return graph_.add("shape.slice", {x}, {{"dim", int64_t{1}}, {"start", start}, {"end", end}},
                    name);
}

ValueId ModelBuilder::layer_norm(ValueId x, const std::string& name, int64_t size, double eps) {
  return graph_.add(
      "math.layernorm",
      {x, weight(name + ".weight", Shape{size}), optional_weight(name + ".bias", Shape{size})},
      {{"eps", eps}}, name);
}

// Rows by token; the table may be quantised.
ValueId ModelBuilder::embed(const ModelInputs& inputs, const DecoderConfig& config) {
  const ValueId table = weight("token_embd.weight", Shape{config.vocab, config.hidden});
  return graph_.add("embedding.token", {inputs.tokens, table}, {}, "embedding");
}

// Biases are added where the file has them.
Heads ModelBuilder::project_heads(ValueId h, const DecoderConfig& c, int64_t layer) {
  const std::string blk = fmt::format("blk.{}.", layer);
  const ValueId q =
      linear(h, blk + "attn_q", c.hidden, c.num_heads * c.key_dim);  // [T, heads * key_dim]
  const ValueId k =
      linear(h, blk + "attn_k", c.hidden, c.num_kv_heads * c.key_dim);  // [T, kv_heads * key_dim]
  const ValueId v = linear(h, blk + "attn_v", c.hidden,
                           c.num_kv_heads * c.value_dim);  // [T, kv_heads * value_dim]
  return {split_heads(q, c.num_heads, c.key_dim, blk + "q"),
          split_heads(k, c.num_kv_heads, c.key_dim, blk + "k"),
          split_heads(v, c.num_kv_heads, c.value_dim, blk + "v")};
}

// One product, then columns.
Heads ModelBuilder::project_fused_heads(ValueId h, const DecoderConfig& c, int64_t layer) {
  const std::string blk = fmt::format("blk.{}.", layer);
  // Rows of the fused weight: [q; k; v], so columns of its product.
  const int64_t k_start = c.num_heads * c.key_dim;
  const int64_t v_start = k_start + c.num_kv_heads * c.key_dim;
  const int64_t end = v_start + c.num_kv_heads * c.value_dim;
  const ValueId qkv = linear(h, blk + "attn_qkv", c.hidden, end);  // [T, q + k + v]
  const ValueId q = columns(qkv, 0, k_start, blk + "q_columns");
  const ValueId k = columns(qkv, k_start, v_start, blk + "k_columns");
  const ValueId v = columns(qkv, v_start, end, blk + "v_columns");
  return {split_heads(q, c.num_heads, c.key_dim, blk + "q"),
          split_heads(k, c.num_kv_heads, c.key_dim, blk + "k"),
          split_heads(v, c.num_kv_heads, c.value_dim, blk + "v")};
}

// In the order of effects: keep unrotated keys, append, attend; the graph keeps it.
ValueId ModelBuilder::attend(const Heads& heads, const ModelInputs& inputs,
                             const DecoderConfig& config, const AttentionRule& rule) {
  const std::string blk = fmt::format("blk.{}.", rule.layer);
  Heads h = heads;
  if (rule.rope != nullptr) {
    // Kept for the graph that rotates cached keys anew.
    ropes_[rule.layer] = *rule.rope;
    if (options_.is_evictable) {
      // Before the rotation: eviction rotates the kept keys at their new positions.
      graph_.add("kv.keep_unrotated", {h.k, inputs.positions, inputs.sequences},
                 {{"layer", rule.layer}}, blk + "k_unrotated");
    }
    h.q = rope(h.q, inputs, *rule.rope, blk + "q_rope");
    h.k = rope(h.k, inputs, *rule.rope, blk + "k_rope");
  }
  // Before attention, which reads the new rows from the cache like all others.
  graph_.add("kv.append", {h.k, h.v, inputs.positions, inputs.sequences}, {{"layer", rule.layer}},
             blk + "kv_append");
  const ValueId a = graph_.add(  // [T, heads, value_dim]
      "attention.cached", {h.q, inputs.positions, inputs.sequences, rule.sinks},
      {{"layer", rule.layer},
       {"scale", rule.scale},
       {"window", rule.window},
       {"soft_cap", rule.soft_cap},
       {"query_bits", int64_t{activations_ == Activations::kInt8 ? 8 : 16}}},
      blk + "attention");
  const int64_t size = config.num_heads * config.value_dim;
  const ValueId rows = graph_.add("shape.reshape", {a}, {{"shape", std::vector<int64_t>{-1, size}}},
                                  blk + "attention_rows");
  return linear(rows, blk + "attn_output", size, config.hidden);
}

// The head, or the embedding table.
ValueId ModelBuilder::logits(ValueId x, const DecoderConfig& config) {
  const bool is_tied = !has_weight("output.weight");
  return linear(x, is_tied ? "token_embd" : "output", config.hidden, config.vocab);
}

// The same builder, empty again after finish(): its inputs and rotations have the same names.
Result<Graph> ModelBuilder::build_rotation() {
  long_context_ = kNoValue;
  const TensorType per_token{DType::kI32, {Dim::symbolic('T')}, LayoutKind::kRowMajor};
  ModelInputs inputs{};
  inputs.positions = graph_.input("positions", per_token);
  inputs.sequences = graph_.input("sequences", per_token);
  graph_.state(cache_);
  for (const auto& [layer, config] : ropes_) {
    const std::string blk = fmt::format("blk.{}.", layer);
    const ValueId k = graph_.add("kv.read_unrotated", {inputs.positions, inputs.sequences},
                                 {{"layer", layer}}, blk + "k_unrotated");
    graph_.add("kv.write_keys",
               {rope(k, inputs, config, blk + "k_rope"), inputs.positions, inputs.sequences},
               {{"layer", layer}}, blk + "k_write");
  }
  return graph_.finish();
}

// Refusing is the only honest answer: an ignored tensor or key gives plausible, wrong text.
Result<void> ModelBuilder::check_nothing_ignored() const {
  for (const WeightInfo& info : weights_.list()) {
    // A tensor that no layer asked for means that the file is not what this family computes.
    if (used_weights_.contains(info.name)) continue;
    return fail::unimplemented(
        "Tensor '{}' is not used by this model family; running without it "
        "would give wrong results.",
        info.name);
  }
  QUERN_ASSIGN_OR_RETURN(const std::string_view architecture,
                         metadata_.text("general.architecture"));
  const std::string prefix = std::string(architecture) + ".";
  for (const std::string& key : metadata_.unread_keys(prefix)) {
    const std::string_view rest = std::string_view(key).substr(prefix.size());
    bool is_harmless = false;
    for (const std::string_view harmless : kHarmlessKeys) is_harmless |= rest == harmless;
    if (!is_harmless) {
      return fail::unimplemented(
          "Key '{}' is not known to this model family; running without it "
          "could give wrong results.",
          key);
    }
  }
  return {};
}

// Refuses what was not used: it would have changed the logits.
Result<LanguageModel> ModelBuilder::finish(int64_t vocab_size, int64_t context_length) {
  LanguageModel model;
  QUERN_ASSIGN_OR_RETURN(model.graph, graph_.finish());
  if (options_.is_evictable && !ropes_.empty()) {
    QUERN_ASSIGN_OR_RETURN(model.rotation, build_rotation());
  }
  QUERN_TRY(check_nothing_ignored());
  QUERN_ASSIGN_OR_RETURN(model.architecture, metadata_.text("general.architecture"));
  model.vocab_size = vocab_size;
  model.context_length = context_length;
  model.long_context_threshold = long_context_threshold_;
  model.num_parameters = count_parameters(base_weights_);
  model.activations = activations_;
  return model;
}

}  // namespace quern
