// Temperature, fixed or by the entropy.
#pragma once

#include "generate/samplers/stage.h"

namespace quern {

// logit = (logit - highest) * f32(1 ÷ T): the best logit becomes 0, and nothing overflows.
//
// With a range (Zhu et al. 2023 in the form of the usual engines): H is the entropy of the
// candidates, over n of them; T = low + (high - low) * (H ÷ ln n)^exponent with low = max(0,
// temperature - range) and high = temperature + range, in f64. T = 0 keeps the best one only; one
// candidate is left as it is.
class TemperatureStage : public SamplerStage {
 public:
  TemperatureStage(double temperature, const DynamicTemperatureOptions& dynamic)
      : temperature_(temperature), dynamic_(dynamic) {}
  void apply(Candidates& candidates, const StageContext& context) override;

 private:
  double dynamic_temperature(Candidates& candidates) const;

  double temperature_;
  DynamicTemperatureOptions dynamic_;
};

}  // namespace quern
