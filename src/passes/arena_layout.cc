// Greedy placement by size, first fit.
#include "passes/arena_layout.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"

namespace quern {
namespace {

// A value that has its place: bytes [begin, end), alive in the steps first to last.
struct Placed {
  int64_t begin;
  int64_t end;
  int32_t first;
  int32_t last;
};

// The lowest offset with `size` free bytes between the placed values that live with the request.
// `placed` is sorted by begin.
int64_t first_fit(const std::vector<Placed>& placed, const ArenaRequest& request, int64_t size) {
  int64_t offset = 0;
  for (const Placed& other : placed) {
    if (other.last < request.first || request.last < other.first) continue;
    if (other.begin - offset >= size) break;
    offset = std::max(offset, other.end);
  }
  return offset;
}

}  // namespace

// Large values first: small ones then fit into the gaps between them. Equal sizes keep their
// order, so that a plan is the same on every run and machine.
ArenaLayout lay_out_arena(std::span<const ArenaRequest> requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return requests[a].size_bytes > requests[b].size_bytes; });

  ArenaLayout layout;
  layout.offsets.resize(requests.size());
  std::vector<Placed> placed;
  for (const size_t index : order) {
    const ArenaRequest& request = requests[index];
    const int64_t size = round_up(std::max<int64_t>(request.size_bytes, 1), kArenaAlignment);
    const int64_t offset = first_fit(placed, request, size);
    const Placed value{offset, offset + size, request.first, request.last};
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Placed::begin), value);
    layout.offsets[index] = offset;
    layout.size_bytes = std::max(layout.size_bytes, value.end);
  }
  return layout;
}

}  // namespace quern
