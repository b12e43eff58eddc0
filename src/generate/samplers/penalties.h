// Penalties on tokens that were seen: repetition, frequency, presence.
#pragma once

#include <vector>

#include "generate/samplers/stage.h"

namespace quern {

// For a token seen n > 0 times in the last `window` tokens, in f32 and in this order:
// logit = logit > 0 ? logit ÷ repeat : logit * repeat; logit = logit - n * frequency;
// logit = logit - presence.
class PenaltiesStage : public SamplerStage {
 public:
  explicit PenaltiesStage(const PenaltyOptions& options) : options_(options) {}
  static bool is_on(const PenaltyOptions& options);
  bool acts_when_greedy() const override { return true; }
  void apply(Candidates& candidates, const StageContext& context) override;

 private:
  PenaltyOptions options_;
  std::vector<int32_t> counts_;  // per token; zeros between calls
};

// The last `length` tokens; -1: all.
std::span<const int32_t> last_tokens(std::span<const int32_t> history, int64_t length);

}  // namespace quern
