// Cuts the query rows of attention over a cache into tiles that share loads of keys and values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/attention_core.h"
#include "ops/kv_places.h"

namespace quern::cpu {

// Consecutive tokens of one sequence and query heads of one key-value head. Row r of a tile is
// token r / num_heads and head r % num_heads.
struct AttentionTile {
  int32_t sequence = 0;
  int32_t kv_head = 0;
  int64_t first_token = 0;
  int32_t num_tokens = 0;
  int32_t first_head = 0;  // a query head
  int32_t num_heads = 0;
  KeyRange keys = {0, 0};  // what some row of the tile can see

  // Query rows of the tile.
  int num_rows() const { return num_tokens * num_heads; }
};

// A page of the cache is the inner chunk of the definition, and an outer chunk is whole pages: the
// order of every sum falls out of walking pages in order.
inline constexpr int64_t kPagesPerOuter = kOuterKeys / kInnerKeys;

// Pages [first, last) of a cache.
struct PageRange {
  int64_t first = 0;
  int64_t last = 0;
};

// The pages of a tile's keys in parts of `pages_per_part`, a divisor of kPagesPerOuter: parts begin
// at multiples of it, so that each lies in one outer chunk.
class TileParts {
 public:
  TileParts(const AttentionTile& tile, int64_t pages_per_part)
      : pages_{tile.keys.first / kInnerKeys, (tile.keys.last + kInnerKeys - 1) / kInnerKeys},
        pages_per_part_(pages_per_part) {}
  int64_t count() const { return last() - first(); }
  PageRange pages(int64_t part) const {
    const int64_t begin = (first() + part) * pages_per_part_;
    return {std::max(begin, pages_.first), std::min(begin + pages_per_part_, pages_.last)};
  }
  // The outer chunk that holds the part.
  int64_t outer(int64_t part) const { return (first() + part) * pages_per_part_ / kPagesPerOuter; }

 private:
  int64_t first() const { return pages_.first / pages_per_part_; }
  int64_t last() const { return (pages_.last + pages_per_part_ - 1) / pages_per_part_; }

  PageRange pages_;
  int64_t pages_per_part_;
};

// The keys that a token at this position sees; window 0 is all.
KeyRange visible_keys(int64_t position, int64_t window);

// Tiles of all heads of all tokens; `group` query heads share a key-value head. Tiles of one
// key-value head follow one another, so that its keys and values stay in the caches; later tokens
// of a sequence, which see more keys, come first.
std::vector<AttentionTile> cut_attention_tiles(const KvPlaces& places, int64_t kv_heads,
                                               int64_t group, int64_t window);

}  // namespace quern::cpu
