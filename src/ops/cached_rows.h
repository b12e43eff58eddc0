// Keys and values of one head of a cache, read once for many queries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/integer_dot.h"
#include "ops/kv_state.h"

namespace quern {

// Holds a range of rows of one sequence. The state outlives it. One thread only.
// Memory grows with the rows of the range: keys as f32 [rows, key_dim] or decoded blocks, values as
// f32 [rows, value_dim].
class CachedRows {
 public:
  // `layer` and `head` are in the range of the store; neither is checked.
  CachedRows(const KvState& kv, int64_t layer, int64_t head);

  // Makes rows [first, last) of the sequence available.
  // first <= last, inside the sequence's room. Pointers that value() gave before are no longer
  // valid.
  void load(int64_t sequence, int64_t first, int64_t last);
  // The query of the following dots. With quantised keys it is quantised in blocks of 32.
  // `query` has key_dim elements and is copied. `limit` is 127 or 32,639 (dynamic_limit); float
  // keys do not use it.
  void set_query(std::span<const float> query, int32_t limit);
  // Query times key: blocked(256) of floats, or the folded terms of the key's format.
  // `key` counts from 0 in the sequence and lies in the loaded range, here and below.
  float dot(int64_t key) const;
  // value_dim floats.
  // Row `key`, valid until the next load.
  const float* value(int64_t key) const;

 private:
  void append_row(int64_t position);

  const KvState& kv_;
  int64_t layer_;
  int64_t head_;
  const BlockFormat* format_;  // of quantised keys, else null
  int64_t padded_dim_;         // key_dim in whole blocks
  // The loaded rows are [first_, last_) of sequence_; -1 is a sequence that no caller has.
  int64_t sequence_ = -1;
  int64_t first_ = 0;
  int64_t last_ = 0;
  // Of keys_ and key_blocks_ one is in use, by format_.
  std::vector<float> keys_;
  std::vector<DecodedRow> key_blocks_;
  std::vector<float> values_;
  std::vector<std::byte> stored_;  // the blocks of one key
  // The query padded, as integers, as scales, and in the form that integer_dot reads.
  std::vector<float> query_;
  std::vector<int32_t> query_integers_;
  std::vector<float> query_scales_;
  ActivationRow quantized_query_;
};

}  // namespace quern
