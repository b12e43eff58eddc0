// Rotary positions as model files describe them.
#pragma once

#include <string>

#include "formats/metadata.h"

namespace quern {

// Rotary position embedding (Su et al. 2021, arXiv:2104.09864) with its later scalings. A plain
// value.
// Attributes of positional.rope_at.
struct RopeConfig {
  int64_t num_rotated = 0;  // leading elements of a head that rotate
  // Of the frequencies: base^(-2i / n).
  double base = 10000.0;
  std::string style = "interleaved";  // or "half": pairs (i, i + num_rotated / 2)
  std::string scaling = "none";       // "linear", "yarn"
  // Of the scaling; positions are divided by it.
  double factor = 1.0;
  int64_t original_context = 0;
  double attention_factor = 1.0;  // multiplies cos and sin
  // Limits of YaRN's ramp, in turns.
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  // longrope: tensors rope_factors_short/long.weight divide the frequencies, the long ones in
  // sequences longer than original_context.
  bool has_length_factors = false;
};

// Reads "<architecture>.rope.*" for heads of `head_dim` elements. `style` is the family's: files do
// not say it. Errors: kInvalidArgument with key, value and limits; kUnimplemented for a scaling
// type that is not known.
Result<RopeConfig> read_rope_config(const Metadata& metadata, const std::string& architecture,
                                    int64_t head_dim, const std::string& style);

}  // namespace quern
