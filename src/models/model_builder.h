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

// T tokens of one run, of any sequences in any order; R of them get logits.
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

// Wraps a GraphBuilder: weights come with the shape that the config implies, layers with the names
// of the checkpoint, so that a family's file reads like its paper. Errors are kept as in
// GraphBuilder and come out of finish(); after one, calls give kNoValue. Borrows metadata and
// weights. One thread only.
class ModelBuilder {
 public:
  ModelBuilder(const Metadata& metadata, const WeightSource& weights, const ModelOptions& options);

  // For operations that have no call here.
  GraphBuilder& graph() { return graph_; }
  // Declares the graph's inputs; once, first.
  ModelInputs inputs();
  // Declares the key-value cache of all layers; once, before the layers.
  void kv_cache(const DecoderConfig& config);

  // Whether the file, or an adapter, has it. Does not count as use.
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
  // RMS norm (arXiv:1910.07467) over the last axis, times "<name>.weight" [size]. x [..., size] ->
  // the same
  ValueId rms_norm(ValueId x, const std::string& name, int64_t size, double eps);
  // Layer norm (arXiv:1607.06450) over the last axis, times "<name>.weight" [size], plus
  // "<name>.bias" [size] if there is one. x [..., size] -> the same
  ValueId layer_norm(ValueId x, const std::string& name, int64_t size, double eps);
  // Rows of "token_embd.weight". tokens [T] -> [T, hidden]
  ValueId embed(const ModelInputs& inputs, const DecoderConfig& config);
  // x [T, heads * dim] -> [T, heads, dim]; a view.
  ValueId split_heads(ValueId x, int64_t num_heads, int64_t head_dim, std::string_view name);
  // Columns [start, end) of x [T, N]. -> [T, end - start]
  ValueId columns(ValueId x, int64_t start, int64_t end, std::string_view name);

  // linear of h [T, hidden] with blk.N.attn_q, attn_k and attn_v, split into heads.
  Heads project_heads(ValueId h, const DecoderConfig& config, int64_t layer);
  // The same from the fused rows [q; k; v] of blk.N.attn_qkv.
  Heads project_fused_heads(ValueId h, const DecoderConfig& config, int64_t layer);
  // Rotates q and k, appends k and v to the cache, attends with q, and projects the result with
  // blk.N.attn_output. -> [T, hidden]
  ValueId attend(const Heads& heads, const ModelInputs& inputs, const DecoderConfig& config,
                 const AttentionRule& rule);
  // "output" times x [R, hidden], or the embedding table where the file has no output (tied
  // weights). -> [R, vocab]
  ValueId logits(ValueId x, const DecoderConfig& config);

  // Once, last.
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
  // The same with given divisors of the frequencies [n_rot / 2], or kNoValue.
  ValueId rope_with(ValueId x, ValueId factors, const ModelInputs& inputs, const RopeConfig& config,
                    std::string_view name);
  // x as a weight of this dtype takes it: quantised where the options say so.
  Activation activation_for(ValueId x, DType weight_type, const std::string& name);
  // The refusals of finish().
  Result<void> check_nothing_ignored() const;

  const Metadata& metadata_;
  // Without adapters: what counts as parameters of the model.
  const WeightSource& base_weights_;
  ModelOptions options_;
  AdaptedWeights weights_;
  Activations activations_;
  GraphBuilder graph_;
  std::set<std::string, std::less<>> used_weights_;
  // As declared by kv_cache(); build_rotation() declares it again.
  StateDecl cache_;
  std::map<int64_t, RopeConfig> ropes_;  // by layer, of layers that rotate
  ValueId long_context_ = kNoValue;      // made by the first long_rope()
  int64_t long_context_threshold_ = 0;
};

}  // namespace quern
