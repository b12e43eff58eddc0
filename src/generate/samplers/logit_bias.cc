// Candidates are found by bisection.
#include "generate/samplers/logit_bias.h"

#include <algorithm>
#include <cmath>

namespace quern {

// Biases of one token add up; -infinity removes it.
void add_logit_bias(std::span<const LogitBias> biases, Candidates& candidates) {
  if (biases.empty()) return;
  const std::span<Candidate> list = candidates.change_logits();
  bool has_removals = false;
  for (const LogitBias& bias : biases) {
    has_removals = has_removals || std::isinf(bias.bias);
    // The list is in the order of tokens until the first stage sorts it.
    const auto found = std::lower_bound(
        list.begin(), list.end(), bias.token,
        [](const Candidate& candidate, int32_t token) { return candidate.token < token; });
    if (found == list.end() || found->token != bias.token || std::isinf(bias.bias)) continue;
    found->logit = found->logit + bias.bias;
  }
  // Removing is a pass over the vocabulary: only where some bias is -infinity.
  if (!has_removals) return;
  candidates.remove_if([&](const Candidate& c) {
    return std::any_of(biases.begin(), biases.end(), [&](const LogitBias& bias) {
      return bias.token == c.token && std::isinf(bias.bias);
    });
  });
}

}  // namespace quern
