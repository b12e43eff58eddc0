// What every family builds its graph with: checked weights and the usual layers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "models/adapter.h"
#include "models/decoder_config.h"
#include "models/language_model.h"
#include "models/rope_config.h"
#include "quern/graph_builder.h"

namespace quern {

// The inputs of a language model's graph.
struct ModelInputs {
  ValueId tokens;       // i32[T]
  ValueId positions;    // i32[T], of each token in its sequence
  ValueId sequences;    // i32[T], id of each token's sequence in the key-value store
  ValueId output_rows;  // i32[R], tokens whose logits are wanted
};

// The three projections of one layer, a head at a time.
struct Heads {
  ValueId q;  // [T, heads, key_dim]
  ValueId k;  // [T, kv_heads, key_dim]
  ValueId v;  // [T, kv_heads, value_dim]
};

// How one layer's queries and keys meet.
struct AttentionRule {
  int64_t layer = 0;
  const RopeConfig* rope = nullptr;  // rotates q and k; null: they carry no positions
  double scale = 0;                  // 0: 1 / sqrt(key_dim)
  int64_t window = 0;                // 0: every earlier key
  double soft_cap = 0;               // 0: none
  ValueId sinks = kNoValue;          // f32[heads]
};

// Wraps a GraphBuilder; errors are kept as there and come out of finish(). One thread only.
class ModelBuilder {
 public:
  ModelBuilder(const Metadata& metadata, const WeightSource& weights, const ModelOptions& options);

  GraphBuilder& graph() { return graph_; }
  ModelInputs inputs();
  // Declares the key-value cache of all layers; once, before the layers.
  void kv_cache(const DecoderConfig& config);

  bool has_weight(std::string_view name) const;
  // The weight with this shape; kNoValue and an error if it is missing or of another shape.
  ValueId weight(const std::string& name, const Shape& shape);
  // The weight, or kNoValue where the file has none.
  ValueId optional_weight(const std::string& name, const Shape& shape);

  // x [T, in] times "<name>.weight" [out, in] plus "<name>.bias" [out] if there is one. Block-
  // quantised weights take activations quantised as the options say.
  ValueId linear(ValueId x, const std::string& name, int64_t in, int64_t out);
  // The same with the weights "<name>.weight" [num_experts, out, in] of the experts [T, used] that
  // each token chose; x [T, in] or [T, used, in] -> [T, used, out]
  ValueId expert_linear(ValueId x, ValueId experts, const std::string& name, int64_t num_experts,
                        int64_t in, int64_t out);
  ValueId rms_norm(ValueId x, const std::string& name, int64_t size, double eps);
  // With "<name>.bias" if there is one.
  ValueId layer_norm(ValueId x, const std::string& name, int64_t size, double eps);
  // Rows of "token_embd.weight". tokens [T] -> [T, hidden]
  ValueId embed(const ModelInputs& inputs, const DecoderConfig& config);
  // x [T, heads * dim] as [T, heads, dim].
  ValueId split_heads(ValueId x, int64_t num_heads, int64_t head_dim, std::string_view name);
  // Columns [start, end) of x [T, N].
  ValueId columns(ValueId x, int64_t start, int64_t end, std::string_view name);

  // linear of h [T, hidden] with blk.N.attn_q, attn_k and attn_v.
  Heads project_heads(ValueId h, const DecoderConfig& config, int64_t layer);
  // The same from the fused rows [q; k; v] of blk.N.attn_qkv.
  Heads project_fused_heads(ValueId h, const DecoderConfig& config, int64_t layer);
  // Rotates q and k, appends k and v to the cache, attends with q, and projects the result with
  // blk.N.attn_output. -> [T, hidden]
  ValueId attend(const Heads& heads, const ModelInputs& inputs, const DecoderConfig& config,
                 const AttentionRule& rule);
  // "output" times x [R, hidden], or the embedding table where the file has no output.
  ValueId logits(ValueId x, const DecoderConfig& config);

  // The finished model. Refuses weights of the file that no call asked for, and keys under
  // "<architecture>." that nobody read: both would change the result.
  Result<LanguageModel> finish(int64_t vocab_size, int64_t context_length);

 private:
  struct Activation {
    ValueId x = kNoValue;
    ValueId scale = kNoValue;  // kNoValue: x is float
  };
  // x [T, heads, head_dim] rotated at the tokens' positions.
  ValueId rope(ValueId x, const ModelInputs& inputs, const RopeConfig& config,
               const std::string& name);
  // y plus what the adapters add to the product of x with "<name>.weight" [out, in].
  ValueId adapt(ValueId y, ValueId x, const std::string& name, int64_t in, int64_t out);
  // The graph of LanguageModel::rotation.
  Result<Graph> build_rotation();
  ValueId rope_with(ValueId x, ValueId factors, const ModelInputs& inputs, const RopeConfig& config,
                    std::string_view name);
  // x as a weight of this dtype takes it: quantised where the options say so.
  Activation activation_for(ValueId x, DType weight_type, const std::string& name);
  Result<void> check_nothing_ignored() const;

  const Metadata& metadata_;
  const WeightSource& base_weights_;
  ModelOptions options_;
  AdaptedWeights weights_;
  Activations activations_;
  GraphBuilder graph_;
  std::set<std::string, std::less<>> used_weights_;
  StateDecl cache_;
  std::map<int64_t, RopeConfig> ropes_;  // by layer, of layers that rotate
  ValueId long_context_ = kNoValue;      // made by the first long_rope()
  int64_t long_context_threshold_ = 0;
};

}  // namespace quern
