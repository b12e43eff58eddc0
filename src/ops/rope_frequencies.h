// Angles of rotary position embeddings. The host computes them once, the same for every backend.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/graph.h"

namespace quern {

// How frequencies extend a context: not at all, all divided by `factor`, or by YaRN's ramp.
enum class RopeScaling : uint8_t { kNone, kLinear, kYarn };
enum class RopeStyle : uint8_t {
  kInterleaved,  // pairs (2i, 2i + 1)
  kHalf,         // pairs (i, i + n_rot / 2)
};

// What the attributes of positional.rope_at say. n_rot is even and positive.
struct RopeSpec {
  int64_t n_rot = 0;
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;                // context extension of linear and yarn
  int64_t original_context = 0;       // yarn: context of the training
  double extrapolation_factor = 1.0;  // yarn: weight of the ramp
  double attn_factor = 1.0;           // multiplies cos and sin
  double beta_fast = 32.0;            // yarn: rotations over the original context that stay as
  double beta_slow = 1.0;             // they are, and that are fully interpolated
  bool operator==(const RopeSpec&) const = default;
};

// From the attributes of that operation; n_rot = 0 means head_dim.
RopeSpec rope_spec(const Attributes& attributes, int64_t head_dim);

// n_rot / 2 frequencies in radians per position, in f64:
//   f_i = pow(base, -(2i / n_rot)), then / factors[i] where `factors` is not empty;
//   linear: f_i / factor;
//   yarn: (f_i / factor) * (1 - e_i) + f_i * e_i with e_i = ramp_i * extrapolation_factor; ramp_i
//   falls from 1 to 0 between the pairs that turn beta_fast and beta_slow times in the original
//   context (floored and ceiled, clamped to [0, n_rot - 1]).
std::vector<double> rope_frequencies(const RopeSpec& spec, std::span<const double> factors);

// What yarn multiplies cos and sin with when a model gives no factor: 1 + 0.1 ln(factor), 1 for
// factors up to 1.
double rope_magnitude(double factor);

// cos and sin of one position, times the spec's attn_factor: cos(f64(position) * frequency) in
// f64, one rounding to T.
template <class T>
void rope_cos_sin(const RopeSpec& spec, std::span<const double> frequencies, int64_t position,
                  std::span<T> cos, std::span<T> sin);

extern template void rope_cos_sin(const RopeSpec&, std::span<const double>, int64_t,
                                  std::span<float>, std::span<float>);
extern template void rope_cos_sin(const RopeSpec&, std::span<const double>, int64_t,
                                  std::span<double>, std::span<double>);

}  // namespace quern
