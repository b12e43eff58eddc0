// The filters that keep a head of the sorted candidates: top-k, top-p, min-p.
#pragma once

#include "generate/samplers/stage.h"

namespace quern {

// The k best.
class TopKStage : public SamplerStage {
 public:
  explicit TopKStage(int64_t k) : k_(k) {}
  void apply(Candidates& candidates, const StageContext& context) override;

 private:
  int64_t k_;
};

// The smallest head whose probability, summed in f64, reaches p; the crossing token stays.
class TopPStage : public SamplerStage {
 public:
  explicit TopPStage(double p) : p_(p) {}
  void apply(Candidates& candidates, const StageContext& context) override;

 private:
  double p_;
};

// Those with at least the share f32(p) of the best one's probability.
class MinPStage : public SamplerStage {
 public:
  explicit MinPStage(double p) : p_(p) {}
  void apply(Candidates& candidates, const StageContext& context) override;

 private:
  double p_;
};

}  // namespace quern
