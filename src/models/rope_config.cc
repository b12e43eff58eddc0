// Keys of rotary positions and their scaling.
#include "models/rope_config.h"

#include <initializer_list>
#include <limits>

#include "base/fail.h"
#include "ops/math/strict_math.h"

namespace quern {
namespace {

// NaN and infinity are not.
bool is_positive(double value) {
  return value > 0 && value <= std::numeric_limits<double>::max();
}

// Position interpolation; older files give the factor as rope.scale_linear.
Result<void> read_linear(const Metadata& metadata, const std::string& prefix, RopeConfig& config) {
  QUERN_ASSIGN_OR_RETURN(const double old, metadata.number_or(prefix + "scale_linear", 1.0));
  QUERN_ASSIGN_OR_RETURN(config.factor, metadata.number_or(prefix + "scaling.factor", old));
  return {};
}

// YaRN (Peng et al. 2023). Cos and sin are multiplied by 0.1 ln(factor) + 1 unless the file says
// otherwise.
Result<void> read_yarn(const Metadata& metadata, const std::string& prefix, RopeConfig& config) {
  const std::string scaling = prefix + "scaling.";
  QUERN_ASSIGN_OR_RETURN(config.factor, metadata.number(scaling + "factor"));
  QUERN_ASSIGN_OR_RETURN(config.original_context,
                         metadata.integer(scaling + "original_context_length"));
  QUERN_ASSIGN_OR_RETURN(config.beta_fast, metadata.number_or(scaling + "yarn_beta_fast", 32.0));
  QUERN_ASSIGN_OR_RETURN(config.beta_slow, metadata.number_or(scaling + "yarn_beta_slow", 1.0));
  // The paper's temperature, in strict arithmetic: it is part of the graph.
  const double usual = config.factor <= 1.0 ? 1.0 : 0.1 * strict_log(config.factor) + 1.0;
  QUERN_ASSIGN_OR_RETURN(const double stated, metadata.number_or(scaling + "attn_factor", usual));
  QUERN_ASSIGN_OR_RETURN(config.attention_factor,
                         metadata.number_or(scaling + "yarn_attn_factor", stated));
  return {};
}

// Keys that mean nothing to a scaling that the file, or an override, names: read and left.
Result<void> pass_over(const Metadata& metadata, const std::string& prefix,
                       std::initializer_list<const char*> keys) {
  for (const char* key : keys) QUERN_TRY(metadata.number_or(prefix + "scaling." + key, 0.0));
  return {};
}

}  // namespace

// Older files have other keys for the same things; both are read.
Result<RopeConfig> read_rope_config(const Metadata& metadata, const std::string& architecture,
                                    int64_t head_dim, const std::string& style) {
  const std::string prefix = architecture + ".rope.";
  RopeConfig config;
  config.style = style;
  QUERN_ASSIGN_OR_RETURN(config.num_rotated,
                         metadata.integer_or(prefix + "dimension_count", head_dim));
  if (config.num_rotated < 2 || config.num_rotated > head_dim || config.num_rotated % 2 != 0) {
    return fail::invalid(
        "Key '{}dimension_count' is {}; it must be even, from 2 to the head size {}.", prefix,
        config.num_rotated, head_dim);
  }
  QUERN_ASSIGN_OR_RETURN(config.base, metadata.number_or(prefix + "freq_base", 10000.0));
  if (!is_positive(config.base)) {
    return fail::invalid("Key '{}freq_base' is {}; it must be positive and finite.", prefix,
                         config.base);
  }
  // A factor without a type is linear, as files from before the types had it.
  const bool has_factor =
      metadata.has(prefix + "scale_linear") || metadata.has(prefix + "scaling.factor");
  const bool is_named = metadata.has(prefix + "scaling.type");
  QUERN_ASSIGN_OR_RETURN(const std::string_view type,
                         metadata.text_or(prefix + "scaling.type", has_factor ? "linear" : "none"));
  config.scaling = type;
  if (type == "none") {
    config.factor = 1.0;
    if (is_named) QUERN_TRY(pass_over(metadata, prefix, {"factor"}));
  } else if (type == "linear") {
    QUERN_TRY(read_linear(metadata, prefix, config));
  } else if (type == "yarn") {
    QUERN_TRY(read_yarn(metadata, prefix, config));
  } else {
    return fail::unimplemented("Key '{}scaling.type' is '{}'; the types are none, linear, yarn.",
                               prefix, type);
  }
  if (is_named && type != "yarn") {
    QUERN_TRY(pass_over(
        metadata, prefix,
        {"original_context_length", "yarn_beta_fast", "yarn_beta_slow", "yarn_attn_factor"}));
  }
  if (!is_positive(config.factor)) {
    return fail::invalid("Key '{}scaling.factor' is {}; it must be positive and finite.", prefix,
                         config.factor);
  }
  return config;
}

}  // namespace quern
