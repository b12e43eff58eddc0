// Places values of known size and lifetime in one block of memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quern {

// A value that is alive from step `first` to step `last`, both included.
struct ArenaRequest {
  int64_t size_bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
};

// Where each request lies. A plain value.
struct ArenaLayout {
  std::vector<int64_t> offsets;  // by request, multiples of kArenaAlignment
  int64_t size_bytes = 0;
};

// A cache line: values of different steps never share one, and vector loads do not split.
inline constexpr int64_t kArenaAlignment = 64;

// Largest first, each at the lowest offset that no value alive at the same time covers. A request
// without bytes still gets an address. Sizes must sum to less than 2^62.
// Finding the smallest block is NP-hard (dynamic storage allocation); this order is the usual
// heuristic (arXiv:2001.03288). Deterministic: the same requests give the same offsets on every
// machine.
ArenaLayout lay_out_arena(std::span<const ArenaRequest> requests);

}  // namespace quern
