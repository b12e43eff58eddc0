// Mirostat 2 (Basu et al. 2020): a cut that steers the surprise of the text to a target.
#pragma once

#include "generate/samplers/stage.h"

namespace quern {

// mu begins at 2 tau. Drops candidates with -log2 p > mu, but never the best one; after the draw
// mu = mu - eta * (-log2 p' - tau), p' among those that were left. All in f64.
class MirostatStage : public SamplerStage {
 public:
  explicit MirostatStage(const MirostatOptions& options)
      : options_(options), mu_(2.0 * options.tau) {}
  void apply(Candidates& candidates, const StageContext& context) override;
  void observe(const Candidate& chosen) override;

 private:
  MirostatOptions options_;
  double mu_;
};

}  // namespace quern
