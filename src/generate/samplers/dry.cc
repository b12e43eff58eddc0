// One pass of the Z algorithm over the reversed history gives all repetitions in linear time.
#include "generate/samplers/dry.h"

#include <algorithm>
#include <utility>

#include "generate/samplers/penalties.h"
#include "ops/math/strict_math.h"

namespace quern {
namespace {

constexpr double kMaxPenalty = 1e30;  // of f32's 3.4e38, so that sums stay finite

// z[k]: length of the longest common prefix of `text` and text[k..]; `breaks` elements equal none.
template <class Breaks>
void common_prefixes(std::span<const int32_t> text, Breaks&& breaks, std::vector<int32_t>& z) {
  const size_t n = text.size();
  z.assign(n, 0);
  size_t left = 0;
  size_t right = 0;  // text[left, right) equals the begin of the text
  for (size_t k = 1; k < n; ++k) {
    size_t length = 0;
    // Inside the known window the answer was computed before, at k - left; a match that ends at the
    // window's border may go on.
    if (k < right) length = std::min(right - k, static_cast<size_t>(z[k - left]));
    // A breaker equals nothing, not even itself: repetitions end there.
    while (k + length < n && text[length] == text[k + length] && !breaks(text[length])) ++length;
    z[k] = static_cast<int32_t>(length);
    if (k + length > right) {
      left = k;
      right = k + length;
    }
  }
}

}  // namespace

// Breakers are looked up by binary search.
DryStage::DryStage(const DryOptions& options, std::vector<int32_t> breakers)
    : options_(options), breakers_(std::move(breakers)) {
  std::sort(breakers_.begin(), breakers_.end());
}

// breakers_ is sorted by the constructor.
bool DryStage::is_breaker(int32_t token) const {
  return std::binary_search(breakers_.begin(), breakers_.end(), token);
}

// Fills lengths_: for each token, the longest repetition that it would continue.
void DryStage::measure(std::span<const int32_t> history) {
  // Reversed, "the last n tokens stand somewhere before" is "a prefix is repeated at k".
  reversed_.assign(history.rbegin(), history.rend());
  common_prefixes(
      reversed_, [&](int32_t token) { return is_breaker(token); }, matches_);
  for (size_t k = 1; k < reversed_.size(); ++k) {
    // reversed[k - 1] is the token that followed the earlier occurrence in time.
    // The tokens before position k - 1 of the reversed text are those that it followed.
    const auto next = static_cast<size_t>(reversed_[k - 1]);
    if (matches_[k] == 0 || is_breaker(reversed_[k - 1])) continue;
    if (next >= lengths_.size()) lengths_.resize(next + 1, 0);
    // The longest repetition counts; shorter ones end in the same token.
    lengths_[next] = std::max(lengths_[next], matches_[k]);
  }
}

// Lengths are measured once, then every candidate pays for its own.
void DryStage::apply(Candidates& candidates, const StageContext& context) {
  measure(last_tokens(context.history, options_.range));
  for (Candidate& c : candidates.change_logits()) {
    const auto i = static_cast<size_t>(c.token);
    if (i >= lengths_.size() || lengths_[i] < options_.allowed_length) continue;
    const auto excess = static_cast<double>(lengths_[i] - options_.allowed_length);
    // In f64: base^excess passes f32 at an excess of about 160 for the usual base 1.75.
    const double penalty = options_.multiplier * strict_pow(options_.base, excess);
    c.logit = c.logit - static_cast<float>(std::min(penalty, kMaxPenalty));
  }
  // Back to zeros, touching only what was written: the vocabulary is large, the history is not.
  // Only tokens of the history were written.
  for (const int32_t token : reversed_) {
    if (static_cast<size_t>(token) < lengths_.size()) lengths_[static_cast<size_t>(token)] = 0;
  }
}

}  // namespace quern
