// Log-softmax of a row and its best entries.
// From the model's logits, before any stage has touched them.
#include "generate/samplers/log_probabilities.h"

#include <algorithm>
#include <numeric>

#include "ops/math/strict_math.h"

namespace quern {

// Independent of the sampler's stages.
LogprobReport log_probabilities(std::span<const float> logits, int32_t chosen, int64_t num_top) {
  const float highest = *std::max_element(logits.begin(), logits.end());
  // Infinite logits share the mass equally.
  const auto distance = [&](float logit) {
    // infinity - infinity would be NaN.
    return logit == highest ? 0.0 : static_cast<double>(logit) - static_cast<double>(highest);
  };
  double sum = 0.0;
  for (const float logit : logits) sum = sum + strict_exp(distance(logit));
  const double log_sum = strict_log(sum);
  const auto entry = [&](int32_t token) {
    return TokenLogprob{token, distance(logits[static_cast<size_t>(token)]) - log_sum};
  };
  LogprobReport report{entry(chosen), {}};
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min(num_top, static_cast<int64_t>(logits.size()));
  // Equal logits by rising id: one result.
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)];
    const float y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  for (int64_t i = 0; i < count; ++i) report.top.push_back(entry(order[static_cast<size_t>(i)]));
  return report;
}

}  // namespace quern
