// Locally typical sampling (Meister et al. 2022): keeps tokens whose surprise is near the entropy.
#pragma once

#include <utility>
#include <vector>

#include "generate/samplers/stage.h"

namespace quern {

// Sorts by | -ln p - H |, in f64, then by the order of the candidates, and keeps the smallest head
// whose probability, summed in f64, reaches `p`; the crossing token stays.
class TypicalStage : public SamplerStage {
 public:
  explicit TypicalStage(double p) : p_(p) {}
  void apply(Candidates& candidates, const StageContext& context) override;

 private:
  double p_;
  std::vector<std::pair<double, size_t>> distances_;  // with the index of the candidate
  std::vector<bool> is_kept_;
};

}  // namespace quern
