// Reads rows of a cache and multiplies queries with them.
#include "ops/cached_rows.h"

#include <algorithm>

#include "base/checked_math.h"
#include "ops/blocked.h"
#include "ops/quant_dynamic.h"

namespace quern {

// Keys of a block format are read as blocks and padded to whole ones; other keys as f32.
// round_up to whole blocks: a key_dim of 40 in blocks of 32 is stored as 64 with zeros behind.
CachedRows::CachedRows(const KvState& kv, int64_t layer, int64_t head)
    : kv_(kv),
      layer_(layer),
      head_(head),
      format_(find_block_format(kv.key_type())),
      padded_dim_(round_up(kv.key_dim(), format_ == nullptr ? 1 : format_->block_size)) {}

// Rows [first, last) of a sequence. Rows that are loaded already stay, so that the queries of a
// prompt, each of which sees one row more, read every row once.
// A smaller `last` keeps the rows past it, which dot and value then still can read.
void CachedRows::load(int64_t sequence, int64_t first, int64_t last) {
  // A range that begins inside or right at the end of the loaded one can go on; one that begins
  // earlier cannot, since rows are only appended. first_ stays, so a moving window keeps its old
  // rows.
  const bool can_extend = sequence == sequence_ && first >= first_ && first <= last_;
  if (!can_extend) {
    sequence_ = sequence;
    first_ = first;
    last_ = first;
    keys_.clear();
    key_blocks_.clear();
    values_.clear();
  }
  for (; last_ < last; ++last_) append_row(last_);
}

// Reads the row at `position` of the cache and appends it to the loaded ones.
void CachedRows::append_row(int64_t position) {
  if (format_ == nullptr) {
    // The row goes straight into the vector's last key_dim places.
    keys_.resize(keys_.size() + static_cast<size_t>(kv_.key_dim()));
    kv_.read_key(layer_, sequence_, head_, position,
                 std::span(keys_).last(static_cast<size_t>(kv_.key_dim())));
  } else {
    // The DecodedRow unpacks the stored bytes to integers once.
    stored_.resize(static_cast<size_t>(padded_dim_ / format_->block_size * format_->block_bytes));
    kv_.read_key_blocks(layer_, sequence_, head_, position, stored_);
    key_blocks_.emplace_back(*format_).decode(stored_.data(), padded_dim_);
  }
  values_.resize(values_.size() + static_cast<size_t>(kv_.value_dim()));
  kv_.read_value(layer_, sequence_, head_, position,
                 std::span(values_).last(static_cast<size_t>(kv_.value_dim())));
}

// A query of key_dim numbers. For block keys it is quantised as quant.dynamic does, with
// integers up to `limit`, since the product is one of integers.
// The scales are one per activation_block of the format, the integers one per padded element.
void CachedRows::set_query(std::span<const float> query, int32_t limit) {
  query_.assign(query.begin(), query.end());
  if (format_ == nullptr) return;
  // Padding with zeros adds nothing to the integer product, and it does not change the maximum of a
  // block either, so that the scale is that of the real elements.
  query_.resize(static_cast<size_t>(padded_dim_), 0.0f);
  query_integers_.resize(query_.size());
  query_scales_.resize(static_cast<size_t>(padded_dim_ / format_->activation_block));
  quantize_dynamic(query_, format_->activation_block, limit, query_integers_, query_scales_);
  quantized_query_.assign<int32_t>(query_integers_, limit, query_scales_);
}

// The product of the query with the loaded key at position `key`: blocked(256) sums in f32, or
// the integer product of docs/numerics for block keys.
float CachedRows::dot(int64_t key) const {
  // `key` must be in the loaded range; both functions below are on the inner path and do not check.
  const auto index = static_cast<size_t>(key - first_);
  if (format_ != nullptr) return integer_dot(key_blocks_[index], quantized_query_);
  // For float keys query_ has key_dim elements, which is the row stride of keys_.
  const float* row = keys_.data() + index * query_.size();
  return blocked_sum<float>(static_cast<int64_t>(query_.size()),
                            [&](int64_t d) { return query_[static_cast<size_t>(d)] * row[d]; });
}

// The value row at position `key`: value_dim floats that stay valid until the next load.
const float* CachedRows::value(int64_t key) const {
  return values_.data() + (key - first_) * kv_.value_dim();
}

}  // namespace quern
