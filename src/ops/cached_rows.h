// Keys and values of one head of a cache, read once for many queries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/integer_dot.h"
#include "ops/kv_state.h"

namespace quern {

// Holds a range of rows of one sequence. The state outlives it. One thread only.
class CachedRows {
 public:
  CachedRows(const KvState& kv, int64_t layer, int64_t head);

  // Makes rows [first, last) of the sequence available.
  void load(int64_t sequence, int64_t first, int64_t last);
  // The query of the following dots. With quantised keys it is quantised in blocks of 32.
  void set_query(std::span<const float> query, int32_t limit);
  // Query times key: blocked(256) of floats, or the folded terms of the key's format.
  float dot(int64_t key) const;
  // value_dim floats.
  const float* value(int64_t key) const;

 private:
  void append_row(int64_t position);

  const KvState& kv_;
  int64_t layer_;
  int64_t head_;
  const BlockFormat* format_;  // of quantised keys, else null
  int64_t padded_dim_;         // key_dim in whole blocks
  int64_t sequence_ = -1;
  int64_t first_ = 0;
  int64_t last_ = 0;
  std::vector<float> keys_;
  std::vector<DecodedRow> key_blocks_;
  std::vector<float> values_;
  std::vector<float> query_;
  std::vector<int32_t> query_integers_;
  std::vector<float> query_scales_;
  ActivationRow quantized_query_;
};

}  // namespace quern
