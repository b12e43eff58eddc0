// DRY ("don't repeat yourself", p-e-w 2024): tokens that would continue a repetition cost more the
// longer it is.
#pragma once

#include <vector>

#include "generate/samplers/stage.h"

namespace quern {

// One thread only.
// A token t would extend a repetition of length n, if the last n tokens also stand somewhere before
// with t behind them; the greatest such n counts. Breaker tokens match nothing, and are never
// penalised. For n >= allowed_length:
// logit = logit - f32(min(multiplier * base^(n - allowed_length), 1e30)), the penalty in f64.
class DryStage : public SamplerStage {
 public:
  // Breakers in any order.
  DryStage(const DryOptions& options, std::vector<int32_t> breakers);
  // Options that do nothing make no stage.
  static bool is_on(const DryOptions& options) {
    return options.multiplier > 0 && options.range != 0;
  }
  bool acts_when_greedy() const override { return true; }
  void apply(Candidates& candidates, const StageContext& context) override;

 private:
  // Whether repetitions end there.
  bool is_breaker(int32_t token) const;
  // Fills lengths_ by the Z-function of the reversed history.
  void measure(std::span<const int32_t> history);

  DryOptions options_;
  std::vector<int32_t> breakers_;  // sorted
  // Per token: length of the repetition that it would extend. Zeros between calls.
  std::vector<int32_t> lengths_;
  // Kept between calls: no allocation.
  std::vector<int32_t> reversed_;
  std::vector<int32_t> matches_;
};

}  // namespace quern
