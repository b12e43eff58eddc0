// Common keys of decoders.
#include "models/decoder_config.h"

#include "base/fail.h"

namespace quern {
namespace {

// Reads keys of one architecture with their limits.
class KeyReader {
 public:
  // Reads sizes with their limits; errors name the key.
  KeyReader(const Metadata& metadata, std::string prefix)
      : metadata_(metadata), prefix_(std::move(prefix)) {}

  // A value from 1 to `limit`; an array must hold the same value for each layer.
  // The limits are far above any model known: a number from a damaged file stops here, with the
  // name of its key, and not in a later product of sizes. A fallback above 0 stands in for an
  // absent key.
  Result<int64_t> size(const std::string& name, int64_t limit, int64_t fallback = 0) const {
    const std::string key = prefix_ + name;
    const MetadataValue* value = metadata_.find(key);
    if (value == nullptr && fallback > 0) return fallback;
    int64_t found = 0;
    // Some exporters write one number for each layer even where all agree. Layers that differ need
    // a graph that no family here builds: refusing beats running the first layer's size everywhere.
    if (value != nullptr && value->is_array()) {
      QUERN_ASSIGN_OR_RETURN(const auto list, metadata_.integers(key));
      for (const int64_t item : list) {
        if (item != list.front()) {
          return fail::unimplemented("Key '{}' differs between layers: {} and {}.", key,
                                     list.front(), item);
        }
      }
      found = list.empty() ? 0 : list.front();
    } else {
      QUERN_ASSIGN_OR_RETURN(found, metadata_.integer(key));
    }
    if (found >= 1 && found <= limit) return found;
    return fail::invalid("Key '{}' is {}; it must be from 1 to {}.", key, found, limit);
  }

 private:
  const Metadata& metadata_;
  std::string prefix_;
};

// Counts and sizes of heads; files leave out what follows from the width.
Result<void> read_heads(const Metadata& m, const KeyReader& keys, DecoderConfig& c) {
  QUERN_ASSIGN_OR_RETURN(c.num_heads, keys.size("attention.head_count", 1 << 16));
  // Without the key the model has multi-head attention: as many key heads as query heads. More key
  // heads than query heads would leave keys that nobody reads.
  QUERN_ASSIGN_OR_RETURN(c.num_kv_heads,
                         keys.size("attention.head_count_kv", c.num_heads, c.num_heads));
  // Grouped-query attention (arXiv:2305.13245) gives each key head heads / kv_heads queries.
  if (c.num_heads % c.num_kv_heads != 0) {
    return fail::invalid("Key '{}.attention.head_count_kv' is {}; it must divide the {} heads.",
                         c.arch, c.num_kv_heads, c.num_heads);
  }
  // Without keys of their own, heads share the width.
  // Never 0, even for hidden < heads: the limits of KeyReader then still hold for the fallback.
  const int64_t usual = std::max<int64_t>(1, c.hidden / c.num_heads);
  QUERN_ASSIGN_OR_RETURN(c.key_dim, keys.size("attention.key_length", 4096, usual));
  QUERN_ASSIGN_OR_RETURN(c.value_dim, keys.size("attention.value_length", 4096, c.key_dim));
  QUERN_ASSIGN_OR_RETURN(c.attention_scale, m.number_or(c.arch + ".attention.scale", 0.0));
  // Read even by families whose files never carry it: an encoder under a decoder's architecture
  // name would run and give plausible nonsense.
  QUERN_ASSIGN_OR_RETURN(const bool is_causal, m.boolean_or(c.arch + ".attention.causal", true));
  if (!is_causal) {
    return fail::unimplemented("Key '{}.attention.causal' is false: the model is no decoder.",
                               c.arch);
  }
  return {};
}

// Which layers slide: from a list, from a period, or by the family's habit.
Result<std::vector<bool>> slides_of(const Metadata& metadata, const DecoderConfig& c,
                                    int64_t usual_period) {
  const std::string key = c.arch + ".attention.sliding_window_pattern";
  const MetadataValue* value = metadata.find(key);
  // A list wins over the family's habit; its length must be the number of layers.
  if (value != nullptr && value->is_array()) return metadata.booleans_per_layer(key, c.num_layers);
  QUERN_ASSIGN_OR_RETURN(const int64_t period, metadata.integer_or(key, usual_period));
  if (period < 0) return fail::invalid("Key '{}' is {}; it must be 0 or more.", key, period);
  std::vector<bool> slides;
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    // n = 4 gives slide, slide, slide, full, ...; n = 1 makes every remainder 0, so nothing slides.
    slides.push_back(period == 0 || (layer + 1) % period != 0);
  }
  return slides;
}

}  // namespace

// Sizes that all families share.
Result<DecoderConfig> read_decoder_config(const Metadata& metadata, const WeightSource& weights,
                                          NormKind norm) {
  DecoderConfig c;
  QUERN_ASSIGN_OR_RETURN(c.arch, metadata.text("general.architecture"));
  const KeyReader keys(metadata, c.arch + ".");
  QUERN_ASSIGN_OR_RETURN(c.num_layers, keys.size("block_count", 1 << 16));
  QUERN_ASSIGN_OR_RETURN(c.hidden, keys.size("embedding_length", 1 << 24));
  QUERN_ASSIGN_OR_RETURN(c.ffn, keys.size("feed_forward_length", 1 << 26));
  QUERN_ASSIGN_OR_RETURN(c.context, keys.size("context_length", int64_t{1} << 40));
  QUERN_TRY(read_heads(metadata, keys, c));
  const std::string eps = norm == NormKind::kRms ? "layer_norm_rms_epsilon" : "layer_norm_epsilon";
  // Where the file is silent: 1e-5, the usual epsilon of both kinds of norm.
  QUERN_ASSIGN_OR_RETURN(c.norm_eps, metadata.number_or(c.arch + ".attention." + eps, 1e-5));
  // It stands beside a mean of squares: above 1 it would drown every row, below 0 make NaN of small
  // ones. Written so that NaN is refused.
  if (!(c.norm_eps >= 0 && c.norm_eps <= 1)) {
    return fail::invalid("Key '{}.attention.{}' is {}; it must be from 0 to 1.", c.arch, eps,
                         c.norm_eps);
  }
  QUERN_ASSIGN_OR_RETURN(const WeightInfo embedding, weights.info("token_embd.weight"));
  // A table of another rank is refused with its shape when ModelBuilder::embed() asks for it.
  c.vocab = embedding.shape.rank() == 2 ? embedding.shape[0] : 0;
  return c;
}

// A list of the file, a period of the file, or the family's usual period.
Result<WindowPattern> read_window_pattern(const Metadata& metadata, const DecoderConfig& config,
                                          int64_t usual_period) {
  WindowPattern pattern;
  const std::string key = config.arch + ".attention.sliding_window";
  QUERN_ASSIGN_OR_RETURN(pattern.window, metadata.integer_or(key, 0));
  if (pattern.window < 0) {
    return fail::invalid("Key '{}' is {}; it must be 0 or more.", key, pattern.window);
  }
  QUERN_ASSIGN_OR_RETURN(pattern.slides, slides_of(metadata, config, usual_period));
  return pattern;
}

}  // namespace quern
