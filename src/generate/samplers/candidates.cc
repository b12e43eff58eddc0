// Sorting and probabilities of candidates.
// Order is by logit and then by id, so that sorting has one result.
#include "generate/samplers/candidates.h"

#include <algorithm>

#include "ops/math/strict_math.h"

namespace quern {
namespace {

// The order of everything here: no two candidates are equal in it, so sorting is deterministic.
bool is_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

}  // namespace

// Tokens without a logit, which masks may name, are left out.
void Candidates::assign(std::span<const float> logits, const TokenMask* allowed) {
  list_.clear();
  is_sorted_ = false;
  is_normalised_ = false;
  const auto add = [&](int32_t token) {
    list_.push_back({token, logits[static_cast<size_t>(token)], 0.0F});
  };
  const auto count = static_cast<int32_t>(logits.size());
  if (allowed == nullptr) {
    list_.reserve(logits.size());
    for (int32_t token = 0; token < count; ++token) add(token);
  } else {
    allowed->for_each([&](int32_t token) {
      // A tokenizer may have more ids than the model has rows.
      if (token < count) add(token);
    });
  }
}

// Once; later calls find it sorted.
void Candidates::sort() {
  keep_best(list_.size());
}

// A partial sort where few are kept: vocabularies have 100,000 tokens and top-k keeps 40.
void Candidates::keep_best(size_t count) {
  // Shares among fewer candidates are larger.
  if (count < list_.size()) is_normalised_ = false;
  const size_t kept = std::min(count, list_.size());
  if (!is_sorted_ && kept == list_.size()) {
    std::sort(list_.begin(), list_.end(), is_before);
  } else if (!is_sorted_) {
    std::partial_sort(list_.begin(), list_.begin() + static_cast<int64_t>(kept), list_.end(),
                      is_before);
  }
  // Everything behind `kept` is out of order after a partial sort, and gone.
  list_.resize(kept);
  is_sorted_ = true;
}

// Infinite logits share everything among themselves.
void Candidates::normalise() {
  if (is_normalised_ || list_.empty()) return;
  sort();
  const float highest = list_.front().logit;
  double sum = 0.0;
  for (Candidate& c : list_) {
    // infinity - infinity would be NaN: equal logits are equal, whatever they are.
    // Our own function: the same bits, and so the same draw, on every machine.
    c.probability = c.logit == highest ? 1.0F : strict_exp(c.logit - highest);
    sum = sum + static_cast<double>(c.probability);
  }
  for (Candidate& c : list_) {
    // The largest probability is at least 1 / n: no denormal where it matters.
    c.probability = static_cast<float>(static_cast<double>(c.probability) / sum);
  }
  is_normalised_ = true;
}

// Callers may do anything to the list, so nothing is known about it afterwards.
std::span<Candidate> Candidates::change_logits() {
  // Even a caller that only reads through this span pays for a sort.
  is_sorted_ = false;
  is_normalised_ = false;
  return list_;
}

// Keeps what is sorted sorted.
void Candidates::keep_head(size_t count) {
  if (count >= list_.size()) return;
  list_.resize(count);
  is_normalised_ = false;
}

// For XTC: the most probable ones go.
void Candidates::drop_head(size_t count) {
  if (count == 0) return;
  list_.erase(list_.begin(), list_.begin() + static_cast<int64_t>(count));
  is_normalised_ = false;
}

// Candidates with a probability of 0 add nothing.
double entropy(const Candidates& candidates) {
  double sum = 0.0;
  for (const Candidate& c : candidates.list()) {
    const auto p = static_cast<double>(c.probability);
    // The limit of p ln p at 0 is 0; the product itself would be NaN.
    if (p > 0) sum = sum - p * strict_log(p);
  }
  return sum;
}

}  // namespace quern
