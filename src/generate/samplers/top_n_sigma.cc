// Two passes: mean, then deviation.
#include "generate/samplers/top_n_sigma.h"

#include <cmath>

namespace quern {

void TopNSigmaStage::apply(Candidates& candidates, const StageContext& /*context*/) {
  double sum = 0.0;
  double count = 0.0;
  float highest = candidates.list().front().logit;
  for (const Candidate& c : candidates.list()) {
    if (c.logit > highest) highest = c.logit;
    // Forbidden tokens (-infinity) would make the mean -infinity.
    if (!std::isfinite(c.logit)) continue;
    sum = sum + static_cast<double>(c.logit);
    count = count + 1.0;
  }
  // Nothing is finite, or something is infinitely likely: there is no scale to cut by.
  if (!std::isfinite(highest)) return;
  const double mean = sum / count;
  double squares = 0.0;
  for (const Candidate& c : candidates.list()) {
    if (!std::isfinite(c.logit)) continue;
    const double distance = static_cast<double>(c.logit) - mean;
    squares = squares + distance * distance;
  }
  const double sigma = std::sqrt(squares / count);
  // In f32, as the logits are compared; the highest is never below it.
  const auto limit = static_cast<float>(static_cast<double>(highest) - n_ * sigma);
  candidates.remove_if([&](const Candidate& c) { return c.logit < limit; });
}

}  // namespace quern
