// What must leave a cache so that the rest of it begins a new prompt.
#pragma once

#include <cstdint>
#include <span>

namespace quern {

// Tokens that both begin with, from 0 to the shorter of the two lengths.
int64_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b);

// Tokens start .. start + count - 1 of a cache; count 0: none.
struct CacheGap {
  int64_t start = 0;
  int64_t count = 0;
};

// The shortest gap behind the common prefix without which all of `cached` begins `ids`; none where
// only a cut up to the end of the cache does that, or nothing needs to go. Linear in both lengths.
// Example: cached [S A a B b], prompt [S B b C]: the prefix is S, the gap A a (start 1, count 2),
// and B b survives it.
CacheGap find_cache_gap(std::span<const int32_t> cached, std::span<const int32_t> ids);

}  // namespace quern
