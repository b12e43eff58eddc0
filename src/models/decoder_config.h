// The sizes that every decoder's file gives under the same keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "quern/weight_source.h"

namespace quern {

// Families derive their config from it and add what is their own. A plain value.
// Every size is at least 1 after read_decoder_config(), but for `vocab`, which is 0 where the
// embedding table is no matrix, and heads * key_dim need not be `hidden`.
struct DecoderConfig {
  std::string arch;  // prefix of the keys
  // Sizes of the transformer, in elements.
  int64_t num_layers = 0;
  int64_t hidden = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t key_dim = 0;    // of one head
  int64_t value_dim = 0;  // of one head
  int64_t ffn = 0;        // width of the feed-forward layer
  int64_t vocab = 0;      // rows of the embedding table
  int64_t context = 0;    // tokens the model was trained for
  // Under the root of the norms.
  double norm_eps = 0;
  double attention_scale = 0;  // 0: 1 / sqrt(key_dim)
};

// Which epsilon the family's norms use.
// "attention.layer_norm_rms_epsilon" or "attention.layer_norm_epsilon".
enum class NormKind : uint8_t { kRms, kLayer };

// Reads "<general.architecture>.*" and the rows of the embedding table. Keys that are read count as
// known for ModelBuilder::finish().
// Errors: kNotFound for a missing key or embedding; kInvalidArgument with key, value and limit;
// kUnimplemented for sizes that differ between layers and for models without causal attention.
// Limits: 65,536 layers and heads, 2^24 hidden, 2^26 ffn, 4,096 per head, 2^40 tokens of context.
Result<DecoderConfig> read_decoder_config(const Metadata& metadata, const WeightSource& weights,
                                          NormKind norm);

// Keys visible to a layer's queries: query - key < window; 0 where every earlier key is. A plain
// value.
struct WindowPattern {
  // Keys that a query of a sliding layer sees.
  int64_t window = 0;
  // Whether the window holds for the layer.
  std::vector<bool> slides;  // per layer
  // 0 for layers that see everything.
  // `layer` counts from 0 and must be below the number of layers.
  int64_t of_layer(int64_t layer) const { return slides[static_cast<size_t>(layer)] ? window : 0; }
};

// "attention.sliding_window" with "attention.sliding_window_pattern": a number n (layers with
// (layer + 1) % n == 0 see everything, the others slide) or a bool per layer. Without the pattern
// key, `usual_period` is n; 0: every layer slides, 1: none.
// Without "attention.sliding_window" the window is 0 and the pattern has no effect. Errors:
// kInvalidArgument for a negative window or period, or a list of the wrong length.
Result<WindowPattern> read_window_pattern(const Metadata& metadata, const DecoderConfig& config,
                                          int64_t usual_period);

}  // namespace quern
