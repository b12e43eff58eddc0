// The tokens that may still be chosen, as the stages of the sampler see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/grammar/token_mask.h"

namespace quern {

// A token that may be chosen. A plain value.
struct Candidate {
  // Its id and its logit so far.
  int32_t token = 0;
  float logit = 0.0F;
  float probability = 0.0F;  // only after normalise()
};

// Never empty once filled: filters keep at least one candidate. One thread only.
class Candidates {
 public:
  // All tokens, or those of the mask that have a logit; by rising token.
  void assign(std::span<const float> logits, const TokenMask* allowed);

  // Views, valid until the next change.
  bool is_empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }
  std::span<const Candidate> list() const { return list_; }

  // By falling logit, then rising token.
  void sort();
  // The `count` best, sorted.
  void keep_best(size_t count);
  // Sorts, and sets the probabilities: p = exp(logit - highest) ÷ sum, exp and p in f32, the sum in
  // f64 in sorted order. Equal logits have equal probabilities, infinite ones too.
  void normalise();

  // Writes to logits or removes; what was sorted or normalised no longer is.
  std::span<Candidate> change_logits();
  // Keeps the first `count` > 0 of the list in its order.
  void keep_head(size_t count);
  // Removes the first `count` < size() of the list.
  void drop_head(size_t count);
  // Order and logits of the others stay.
  template <class Predicate>
  void remove_if(Predicate&& predicate) {
    if (std::erase_if(list_, predicate) > 0) is_normalised_ = false;
  }

 private:
  // And what is known about its order.
  std::vector<Candidate> list_;
  bool is_sorted_ = false;
  bool is_normalised_ = false;
};

// -Σ p ln p in nats, in f64 over normalised candidates in their order.
double entropy(const Candidates& candidates);

}  // namespace quern
