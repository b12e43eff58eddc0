// Distances to the entropy, sorted.
#include "generate/samplers/typical.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/math/strict_math.h"

namespace quern {

void TypicalStage::apply(Candidates& candidates, const StageContext& /*context*/) {
  candidates.normalise();
  const double middle = entropy(candidates);
  const auto list = candidates.list();
  distances_.clear();
  for (size_t i = 0; i < list.size(); ++i) {
    // A probability of 0 has no finite surprise; it comes last.
    const auto p = static_cast<double>(list[i].probability);
    const double distance =
        p > 0 ? std::abs(-strict_log(p) - middle) : std::numeric_limits<double>::infinity();
    distances_.emplace_back(distance, i);
  }
  // By distance, then by index in the sorted candidates: one result.
  std::sort(distances_.begin(), distances_.end());
  is_kept_.assign(list.size(), false);
  double sum = 0.0;
  for (const auto& [distance, i] : distances_) {
    is_kept_[i] = true;
    sum = sum + static_cast<double>(list[i].probability);
    // The one that crosses p was kept before the sum was looked at.
    if (sum >= p_) break;
  }
  size_t i = 0;
  // remove_if walks the list once and in order.
  candidates.remove_if([&](const Candidate& /*c*/) { return !is_kept_[i++]; });
}

}  // namespace quern
