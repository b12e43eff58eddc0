// Cuts of the sorted list.
// The candidate that crosses the limit stays, as usual.
#include "generate/samplers/head_filters.h"

namespace quern {

void TopKStage::apply(Candidates& candidates, const StageContext& /*context*/) {
  // Sorted afterwards, which the filters behind it want anyway.
  candidates.keep_best(static_cast<size_t>(k_));
}

void TopPStage::apply(Candidates& candidates, const StageContext& /*context*/) {
  candidates.normalise();
  double sum = 0.0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    sum = sum + static_cast<double>(candidates.list()[i].probability);
    // In falling order: the fewest candidates that reach p.
    if (sum < p_) continue;
    candidates.keep_head(i + 1);
    return;
  }
}

void MinPStage::apply(Candidates& candidates, const StageContext& /*context*/) {
  candidates.normalise();
  // Sorted by normalise(): the first is the most probable, and always stays.
  const float limit = static_cast<float>(p_) * candidates.list().front().probability;
  candidates.remove_if([&](const Candidate& c) { return c.probability < limit; });
}

}  // namespace quern
