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
// Linear in the values placed so far: plans have some hundreds of storages, which need no tree.
int64_t first_fit(const std::vector<Placed>& placed, const ArenaRequest& request, int64_t size) {
  int64_t offset = 0;
  for (const Placed& other : placed) {
    // Never alive at the same step: the two may lie on top of each other.
    if (other.last < request.first || request.last < other.first) continue;
    // `offset` is past the end of every earlier neighbour in time, so the gap before `other` is
    // free. As `placed` is sorted by begin, no later value can cover it either.
    if (other.begin - offset >= size) break;
    // Not simply other.end: an earlier, longer value may reach beyond this one.
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
    // A value of no bytes takes one line: its kernel may still form a pointer to it, which must lie
    // inside the block.
    const int64_t size = round_up(std::max<int64_t>(request.size_bytes, 1), kArenaAlignment);
    const int64_t offset = first_fit(placed, request, size);
    // The sum of all sizes bounds `end` by 2^62 plus padding, as the caller promises: no overflow.
    const Placed value{offset, offset + size, request.first, request.last};
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Placed::begin), value);
    layout.offsets[index] = offset;
    layout.size_bytes = std::max(layout.size_bytes, value.end);
  }
  return layout;
}

}  // namespace quern
