// Top-n-sigma (Tang et al. 2024): keeps logits within n standard deviations of the best.
#pragma once

#include "generate/samplers/stage.h"

namespace quern {

// Keeps logit >= f32(highest - n * sigma). Sigma is the population's standard deviation of the
// finite logits, in f64 in the order of the list; the sum of squares is about the mean.
class TopNSigmaStage : public SamplerStage {
 public:
  explicit TopNSigmaStage(double n) : n_(n) {}
  void apply(Candidates& candidates, const StageContext& context) override;

 private:
  double n_;
};

}  // namespace quern
