// Counting in the window, then one pass over the candidates.
#include "generate/samplers/penalties.h"

#include <algorithm>

namespace quern {

// All of them where the history is shorter.
std::span<const int32_t> last_tokens(std::span<const int32_t> history, int64_t length) {
  if (length < 0) return history;
  // A window longer than the history is the history.
  return history.last(std::min(history.size(), static_cast<size_t>(length)));
}

// Options that change nothing make no stage.
bool PenaltiesStage::is_on(const PenaltyOptions& options) {
  const bool changes = options.repeat != 1 || options.frequency != 0 || options.presence != 0;
  return changes && options.window != 0;
}

// Counts first, so that each candidate is looked up once.
void PenaltiesStage::apply(Candidates& candidates, const StageContext& context) {
  const auto window = last_tokens(context.history, options_.window);
  for (const int32_t token : window) {
    const auto i = static_cast<size_t>(token);
    // Grows to the highest token seen and stays: no allocation per step.
    if (i >= counts_.size()) counts_.resize(i + 1, 0);
    ++counts_[i];
  }
  const auto repeat = static_cast<float>(options_.repeat);
  const auto frequency = static_cast<float>(options_.frequency);
  const auto presence = static_cast<float>(options_.presence);
  for (Candidate& c : candidates.change_logits()) {
    const auto i = static_cast<size_t>(c.token);
    if (i >= counts_.size() || counts_[i] == 0) continue;
    // Dividing a negative logit would make it larger: both branches make the token less likely.
    c.logit = c.logit > 0 ? c.logit / repeat : c.logit * repeat;
    c.logit = c.logit - static_cast<float>(counts_[i]) * frequency;
    c.logit = c.logit - presence;
  }
  // Back to zeros, touching only what was written.
  for (const int32_t token : window) counts_[static_cast<size_t>(token)] = 0;
}

}  // namespace quern
