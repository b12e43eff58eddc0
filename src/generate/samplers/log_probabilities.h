// Log-probabilities of tokens, as the model gave them: before bias, penalties and filters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quern {

// A token and how probable the model found it.
struct TokenLogprob {
  int32_t token = 0;
  double logprob = 0.0;  // natural logarithm; -infinity for a logit of -infinity
};

// What is reported of one sampled token.
struct LogprobReport {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // by falling log-probability, then rising token
};

// logprob = (logit - highest) - log(Σ exp(logit - highest)), in f64, the sum by rising token.
// The logits hold no NaN; `chosen` is one of their indices.
LogprobReport log_probabilities(std::span<const float> logits, int32_t chosen, int64_t num_top);

}  // namespace quern
