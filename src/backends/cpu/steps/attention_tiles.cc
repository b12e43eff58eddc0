// Heads, then runs of tokens.
#include "backends/cpu/steps/attention_tiles.h"

#include <algorithm>

#include "backends/cpu/kernels/attention_kernels.h"

namespace quern::cpu {
namespace {

constexpr int64_t kTileRows = kMaxTileRows;

// Heads of a group in parts of nearly equal size, each with room in a tile.
int64_t heads_per_tile(int64_t group) {
  const int64_t parts = (group + kTileRows - 1) / kTileRows;
  return (group + parts - 1) / parts;
}

}  // namespace

KeyRange visible_keys(int64_t position, int64_t window) {
  const int64_t last = position + 1;
  return {window == 0 ? 0 : std::max<int64_t>(0, last - window), last};
}

std::vector<AttentionTile> cut_attention_tiles(const KvPlaces& places, int64_t kv_heads,
                                               int64_t group, int64_t window) {
  const int64_t heads = heads_per_tile(group);
  const int64_t tokens = std::max<int64_t>(1, kTileRows / heads);
  std::vector<AttentionTile> runs;  // of tokens, for any head
  for (int64_t end = places.num_tokens; end > 0;) {
    AttentionTile tile{.sequence = places.sequences[end - 1]};
    tile.keys = visible_keys(places.positions[end - 1], window);
    int64_t begin = end - 1;
    while (begin > 0 && end - begin < tokens && places.sequences[begin - 1] == tile.sequence) {
      --begin;
      const KeyRange keys = visible_keys(places.positions[begin], window);
      tile.keys = {std::min(tile.keys.first, keys.first), std::max(tile.keys.last, keys.last)};
    }
    tile.first_token = begin;
    tile.num_tokens = static_cast<int32_t>(end - begin);
    end = begin;
    runs.push_back(tile);
  }
  std::vector<AttentionTile> tiles;
  for (int64_t head = 0; head < kv_heads; ++head) {
    for (AttentionTile tile : runs) {
      tile.kv_head = static_cast<int32_t>(head);
      for (int64_t first = 0; first < group; first += heads) {
        tile.first_head = static_cast<int32_t>(head * group + first);
        tile.num_heads = static_cast<int32_t>(std::min(heads, group - first));
        tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

}  // namespace quern::cpu
