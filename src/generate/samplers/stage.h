// The interface of the stages between logits and the draw.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "generate/sampler_options.h"
#include "generate/samplers/candidates.h"
#include "ops/philox.h"

namespace quern {

// What a stage may look at besides the candidates.
struct StageContext {
  std::span<const int32_t> history;  // tokens so far, the prompt included
  uint64_t seed = 0;
  uint64_t index = 0;  // of the token that is sampled

  // Uniform in [0, 1), one for each user and token. User 0 is the draw itself.
  float uniform(uint32_t user) const { return RandomWords{seed, 0, user}.uniform_f32(index); }
};

// Users of random numbers, so that stages do not share one.
inline constexpr uint32_t kDrawRandom = 0;
inline constexpr uint32_t kXtcRandom = 1;

// Changes logits or removes candidates, and leaves at least one. One thread only.
class SamplerStage {
 public:
  virtual ~SamplerStage() = default;
  // Stages that only change logits act at temperature 0 too; the others do not.
  virtual bool acts_when_greedy() const { return false; }
  virtual void apply(Candidates& candidates, const StageContext& context) = 0;
  // Told the chosen candidate, normalised among those that were left.
  virtual void observe(const Candidate& /*chosen*/) {}
};

// Null where the options switch the stage off.
std::unique_ptr<SamplerStage> make_sampler_stage(SamplerStageKind kind,
                                                 const SamplerOptions& options);

}  // namespace quern
