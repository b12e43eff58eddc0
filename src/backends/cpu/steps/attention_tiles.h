// Cuts the query rows of attention over a cache into tiles that share loads of keys and values.
#pragma once

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
  // Outer chunks of 512 keys that the tile walks: [first_outer, last_outer).
  int64_t first_outer() const { return keys.first / kOuterKeys; }
  int64_t last_outer() const { return (keys.last + kOuterKeys - 1) / kOuterKeys; }
};

// The keys that a token at this position sees; window 0 is all.
KeyRange visible_keys(int64_t position, int64_t window);

// Tiles of all heads of all tokens; `group` query heads share a key-value head. Tiles of one
// key-value head follow one another, so that its keys and values stay in the caches; later tokens
// of a sequence, which see more keys, come first.
std::vector<AttentionTile> cut_attention_tiles(const KvPlaces& places, int64_t kv_heads,
                                               int64_t group, int64_t window);

}  // namespace quern::cpu
