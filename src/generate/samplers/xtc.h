// XTC ("exclude top choices", p-e-w 2024): now and then, the most expected tokens are left out.
#pragma once

#include "generate/samplers/stage.h"

namespace quern {

// With the given probability (uniform number kXtcRandom < f32(probability)): of the candidates with
// at least the probability `threshold`, all go but the least probable one.
class XtcStage : public SamplerStage {
 public:
  explicit XtcStage(const XtcOptions& options) : options_(options) {}
  static bool is_on(const XtcOptions& options) {
    return options.probability > 0 && options.threshold <= 0.5;
  }
  void apply(Candidates& candidates, const StageContext& context) override;

 private:
  XtcOptions options_;
};

}  // namespace quern
