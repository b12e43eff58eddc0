// Sums in the order blocked(256): the definition of dot products of strict numerics.
#pragma once

#include <algorithm>
#include <cstdint>

namespace quern {

inline constexpr int64_t kDotBlock = 256;

// Folds term(0) .. term(n - 1) inside each block of 256 from +0, then folds the block sums. A term
// of several elements (a quantised block) uses blocked_sum_of with the terms of 256 elements.
template <class T, class F>
T blocked_sum_of(int64_t n, int64_t terms_per_block, F&& term) {
  T total = T(0);
  for (int64_t begin = 0; begin < n; begin += terms_per_block) {
    const int64_t end = std::min(begin + terms_per_block, n);
    T block = T(0);
    for (int64_t k = begin; k < end; ++k) block = block + term(k);
    total = total + block;
  }
  return total;
}

template <class T, class F>
T blocked_sum(int64_t n, F&& term) {
  return blocked_sum_of<T>(n, kDotBlock, term);
}

}  // namespace quern
