// Choosing the next token from logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/error.h"

namespace quern {

struct SamplerOptions {
  double temperature = 0.8;  // 0: greedy
  int64_t top_k = 40;        // 0: off
  double top_p = 0.95;       // 1: off
  double min_p = 0.05;       // 0: off
  uint64_t seed = 0;
};

// Errors: kInvalidArgument with the option, its value and its range.
Result<void> check_sampler_options(const SamplerOptions& options);

// Order: top-k, then top-p, then min-p, each on the probabilities of what is left at temperature 1,
// then temperature, then one Philox number per token (key: seed, counter: index of the token).
// The same logits, options and index give the same token on every machine. One thread only.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options) : options_(options) {}
  // Errors: kInvalidArgument for a NaN logit or no logits.
  Result<int32_t> sample(std::span<const float> logits);

 private:
  struct Candidate {
    int32_t token;
    float logit;
    float probability;
  };
  void keep_top_k(std::span<const float> logits);
  void softmax(float scale);
  void keep_top_p();
  void keep_min_p();
  int32_t draw();

  SamplerOptions options_;
  uint64_t num_sampled_ = 0;
  std::vector<Candidate> candidates_;  // by falling logit, then rising token
};

}  // namespace quern
