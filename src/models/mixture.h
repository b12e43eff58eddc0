// Mixtures of experts: a router chooses a few feed-forward layers for each token.
#pragma once

#include "models/model_builder.h"

namespace quern {

// Every layer has the same mixture; files with dense layers among them are refused, as their
// tensors differ.
// The sizes of a mixture (Mixtral, arXiv:2401.04088; Qwen3-MoE; gpt-oss). A plain value.
struct MixtureConfig {
  int64_t num_experts = 0;  // 0: the model is dense
  int64_t num_used = 0;     // experts of one token
  int64_t ffn = 0;          // width of an expert
};

// "<arch>.expert_count", "expert_used_count", "expert_feed_forward_length"; the width is `config`'s
// where the last is absent. Errors: kInvalidArgument with key, value and limits.
Result<MixtureConfig> read_mixture_config(const Metadata& metadata, const DecoderConfig& config);

// The experts of each token and their weights.
// Both are kNoValue after an error of the builder.
struct Routing {
  ValueId experts;  // i32[T, used], best first
  ValueId weights;  // f32[T, used], sum 1
};

// The best `num_used` of linear(h, "blk.N.ffn_gate_inp"), weighted by a softmax over them, which
// equals a softmax over all experts, cut and renormalised. h [T, hidden]
// The router's weight is [experts, hidden], with a bias [experts] where the file has one.
Routing route(ModelBuilder& m, const DecoderConfig& config, const MixtureConfig& mixture,
              int64_t layer, ValueId h);

// Weighted sum of down(silu(gate(h)) * up(h)) over the chosen experts, tensors
// blk.N.ffn_{gate,up,down}_exps. h [T, hidden] -> [T, hidden]
ValueId swiglu_mixture(ModelBuilder& m, const DecoderConfig& config, const MixtureConfig& mixture,
                       int64_t layer, ValueId h);

}  // namespace quern
