// Filters and the draw.
#include "generate/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "ops/math/strict_math.h"
#include "ops/philox.h"

namespace quern {

Result<void> check_sampler_options(const SamplerOptions& options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    return fail::invalid("The temperature is {}; it must be 0 or more.", options.temperature);
  }
  if (options.top_k < 0) return fail::invalid("Top-k is {}; it must be 0 or more.", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return fail::invalid("Top-p is {}; it must be over 0 and at most 1.", options.top_p);
  }
  if (!(options.min_p >= 0 && options.min_p <= 1)) {
    return fail::invalid("Min-p is {}; it must be from 0 to 1.", options.min_p);
  }
  return {};
}

void Sampler::keep_top_k(std::span<const float> logits) {
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    candidates_.push_back({static_cast<int32_t>(i), logits[i], 0.0F});
  }
  const auto is_before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  const auto count = static_cast<int64_t>(candidates_.size());
  const int64_t kept = options_.top_k == 0 ? count : std::min(options_.top_k, count);
  std::partial_sort(candidates_.begin(), candidates_.begin() + kept, candidates_.end(), is_before);
  candidates_.resize(static_cast<size_t>(kept));
}

// Probabilities of the candidates with logits multiplied by `scale`; a sequential sum.
void Sampler::softmax(float scale) {
  const float highest = candidates_.front().logit;
  float sum = 0.0F;
  for (Candidate& c : candidates_) {
    // Equal logits differ by 0, infinite ones too.
    const float distance = c.logit == highest ? 0.0F : (c.logit - highest) * scale;
    c.probability = strict_exp(distance);
    sum = sum + c.probability;
  }
  const float inverse = 1.0F / sum;
  for (Candidate& c : candidates_) c.probability = c.probability * inverse;
}

// The smallest head of the list whose probability reaches top_p; the crossing token stays.
void Sampler::keep_top_p() {
  const auto limit = static_cast<float>(options_.top_p);
  if (options_.top_p >= 1) return;
  float sum = 0.0F;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    sum = sum + candidates_[i].probability;
    if (sum >= limit) {
      candidates_.resize(i + 1);
      return;
    }
  }
}

void Sampler::keep_min_p() {
  const float limit = static_cast<float>(options_.min_p) * candidates_.front().probability;
  std::erase_if(candidates_, [&](const Candidate& c) { return c.probability < limit; });
}

int32_t Sampler::draw() {
  const float u = RandomWords{options_.seed, 0, 0}.uniform_f32(num_sampled_++);
  float sum = 0.0F;
  for (const Candidate& c : candidates_) {
    sum = sum + c.probability;
    if (u < sum) return c.token;
  }
  return candidates_.back().token;
}

Result<int32_t> Sampler::sample(std::span<const float> logits) {
  if (logits.empty()) return fail::invalid("There are no logits to sample from.");
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return fail::invalid("The logit of token {} is NaN.", i);
    if (logits[i] > logits[best]) best = i;
  }
  if (options_.temperature == 0) return static_cast<int32_t>(best);
  keep_top_k(logits);
  softmax(1.0F);
  keep_top_p();
  keep_min_p();
  softmax(static_cast<float>(1.0 / options_.temperature));
  return draw();
}

}  // namespace quern
