// Scaling of logits.
// Differences to the best logit are scaled, which cannot overflow.
#include "generate/samplers/temperature.h"

#include <algorithm>

#include "ops/math/strict_math.h"

namespace quern {

// An even distribution gives the high end, a certain one the low end.
double TemperatureStage::dynamic_temperature(Candidates& candidates) const {
  candidates.normalise();
  const double low = std::max(0.0, temperature_ - dynamic_.range);
  const double high = temperature_ + dynamic_.range;
  // The entropy of an even distribution over n: at least ln 2 here.
  const double most = strict_log(static_cast<double>(candidates.size()));
  const double share = std::clamp(entropy(candidates) / most, 0.0, 1.0);
  return low + (high - low) * strict_pow(share, dynamic_.exponent);
}

void TemperatureStage::apply(Candidates& candidates, const StageContext& /*context*/) {
  double temperature = temperature_;
  if (dynamic_.range > 0) {
    if (candidates.size() < 2) return;
    temperature = dynamic_temperature(candidates);
    // Only with low = 0 and an entropy of 0: one candidate has everything.
    if (temperature == 0) {
      candidates.keep_best(1);
      return;
    }
  }
  // One rounding for the factor, then one for each logit.
  const auto scale = static_cast<float>(1.0 / temperature);
  // Subtracting the highest first keeps infinities of either sign where they are.
  float highest = candidates.list().front().logit;
  for (const Candidate& c : candidates.list()) highest = std::max(highest, c.logit);
  for (Candidate& c : candidates.change_logits()) {
    c.logit = c.logit == highest ? 0.0F : (c.logit - highest) * scale;
  }
}

}  // namespace quern
