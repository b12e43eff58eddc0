// Frequencies, cosines and sines of rotary position embeddings, in f64.
#include "ops/rope_frequencies.h"

#include <algorithm>
#include <cmath>

#include "ops/math/strict_math.h"

namespace quern {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// The pair, as a real number, that turns `rotations` times in the original context.
// Pair i turns base^(-2i / n_rot) radians for each position. Solving original_context * that = 2 pi
// rotations for i gives n_rot log(wavelength) / (2 log(base)).
double pair_of_rotations(const RopeSpec& spec, double rotations) {
  const double wavelength = static_cast<double>(spec.original_context) / (rotations * kTwoPi);
  return static_cast<double>(spec.n_rot) * strict_log(wavelength) / (2.0 * strict_log(spec.base));
}

// The pairs between which yarn's ramp falls from 1 to 0.
struct Ramp {
  double low;
  double high;

  double at(int64_t pair) const {
    // Never 0, also where both ends meet.
    const double width = std::max(0.001, high - low);
    const double position = (static_cast<double>(pair) - low) / width;
    return 1.0 - std::clamp(position, 0.0, 1.0);
  }
};

// Low pairs turn fast and keep their frequency (ramp 1), high pairs turn slowly and are
// interpolated (ramp 0).
Ramp yarn_ramp(const RopeSpec& spec) {
  const double last = static_cast<double>(spec.n_rot - 1);
  return {std::max(0.0, std::floor(pair_of_rotations(spec, spec.beta_fast))),
          std::min(last, std::ceil(pair_of_rotations(spec, spec.beta_slow)))};
}

// The attribute allows three names; whatever is no scaling is none.
RopeScaling scaling_of(const std::string& name) {
  if (name == "linear") return RopeScaling::kLinear;
  return name == "yarn" ? RopeScaling::kYarn : RopeScaling::kNone;
}

}  // namespace

RopeSpec rope_spec(const Attributes& attributes, int64_t head_dim) {
  const int64_t n_rot = attributes.integer("n_rot");
  return {.n_rot = n_rot == 0 ? head_dim : n_rot,
          .base = attributes.number("base"),
          .scaling = scaling_of(attributes.text("scaling")),
          .factor = attributes.number("factor"),
          .original_context = attributes.integer("original_context"),
          .extrapolation_factor = attributes.number("extrapolation_factor"),
          .attn_factor = attributes.number("attn_factor"),
          .beta_fast = attributes.number("beta_fast"),
          .beta_slow = attributes.number("beta_slow")};
}

std::vector<double> rope_frequencies(const RopeSpec& spec, std::span<const double> factors) {
  std::vector<double> frequencies(static_cast<size_t>(spec.n_rot / 2));
  const Ramp ramp = spec.scaling == RopeScaling::kYarn ? yarn_ramp(spec) : Ramp{0, 0};
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double& f = frequencies[i];
    // The division by n_rot and the power are in f64, as all that follows.
    f = strict_pow(spec.base, -(static_cast<double>(2 * i) / static_cast<double>(spec.n_rot)));
    // Factors of the model come before any scaling.
    if (!factors.empty()) f = f / factors[i];
    if (spec.scaling == RopeScaling::kNone) continue;
    const double interpolated = f / spec.factor;
    if (spec.scaling == RopeScaling::kLinear) {
      f = interpolated;
      continue;
    }
    // `kept` is the share of the frequency as it was.
    const double kept = ramp.at(static_cast<int64_t>(i)) * spec.extrapolation_factor;
    f = interpolated * (1.0 - kept) + f * kept;
  }
  return frequencies;
}

// YaRN's temperature of attention, put on cos and sin instead (arXiv 2309.00071).
double rope_magnitude(double factor) {
  return factor <= 1.0 ? 1.0 : 0.1 * strict_log(factor) + 1.0;
}

template <class T>
void rope_cos_sin(const RopeSpec& spec, std::span<const double> frequencies, int64_t position,
                  std::span<T> cos, std::span<T> sin) {
  for (size_t i = 0; i < frequencies.size(); ++i) {
    // Positions are exact in f64, so the product is the only rounding before cos and sin.
    const double angle = static_cast<double>(position) * frequencies[i];
    cos[i] = static_cast<T>(strict_cos(angle) * spec.attn_factor);
    sin[i] = static_cast<T>(strict_sin(angle) * spec.attn_factor);
  }
}

template void rope_cos_sin(const RopeSpec&, std::span<const double>, int64_t, std::span<float>,
                           std::span<float>);
template void rope_cos_sin(const RopeSpec&, std::span<const double>, int64_t, std::span<double>,
                           std::span<double>);

}  // namespace quern
