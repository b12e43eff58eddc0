// Models whose rotary factors change with the length of the sequence (longrope).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "quern/error.h"

namespace quern {

// Sequences longer than a threshold use the long factors for all their tokens, those that came
// before included; others use the short ones. So the tokens of each sequence are remembered, and a
// sequence that passes the threshold, or falls below it by an eviction, is computed anew. Off with
// threshold 0. One thread only.
class LongContext {
 public:
  // 0: the model has one set of factors, and nothing is kept.
  explicit LongContext(int64_t threshold = 0) : threshold_(threshold) {}
  // Whether there is anything to keep.
  bool is_on() const { return threshold_ > 0; }

  // Announces that the sequence will grow to `length`, so that its first part has the right factors
  // already. Needed before must_restart().
  void plan(int32_t sequence, int64_t length);
  // `cached` rows are in the cache and tokens are to follow. True: the sequence must start anew
  // with history() in front of the tokens. Errors: kFailedPrecondition for rows in the cache whose
  // tokens are not known here.
  Result<bool> must_restart(int32_t sequence, int64_t cached);
  // Empty for sequences that are not known.
  std::span<const int32_t> history(int32_t sequence) const;
  bool is_long(int32_t sequence) const;
  // A sequence whose rows came from elsewhere, with the tokens that they stand for.
  void adopt(int32_t sequence, std::span<const int32_t> tokens, bool is_long);
  // `clone` is a copy of the sequence.
  void clone(int32_t sequence, int32_t clone);
  // Tokens that are in the cache now, after `cached` earlier ones.
  void append(int32_t sequence, int64_t cached, std::span<const int32_t> tokens);
  // Tokens that were dropped from the cache.
  void evict(int32_t sequence, int64_t start, int64_t count);

 private:
  // Tokens, since a restart computes them anew.
  struct Sequence {
    std::vector<int32_t> tokens;
    int64_t planned = 0;
    bool is_long = false;
  };
  // From this length on, rows take the long factors.
  int64_t threshold_;
  std::map<int32_t, Sequence> sequences_;
};

}  // namespace quern
