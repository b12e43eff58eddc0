// Sums in the order blocked(256): the definition of dot products of strict numerics.
#pragma once

#include <algorithm>
#include <cstdint>

namespace quern {

// Elements of K in a block: long enough that adding its sum to the total costs little, short enough
// that the error grows with K / 256 + 256 and not with K.
inline constexpr int64_t kDotBlock = 256;

// Folds term(0) .. term(n - 1) inside each block of 256 from +0, then folds the block sums. A term
// of several elements (a quantised block) uses blocked_sum_of with the terms of 256 elements.
// n counts terms, and so does terms_per_block: 256 for products of elements, 8 for terms of 32
// elements, 16 for 16, 1 for 256 (the table of quantised weights in numerics). The last block may
// be short. n = 0 gives +0.
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

// The usual case: a term is one product, a block 256 of them. F is called in ascending k.
template <class T, class F>
T blocked_sum(int64_t n, F&& term) {
  return blocked_sum_of<T>(n, kDotBlock, term);
}

// The same fold for terms that come one by one, as loops over several axes give them.
// One thread only; holds three numbers. result() does not end the fold: more terms may follow.
template <class T>
class BlockedFold {
 public:
  void add(T term) {
    block_ = block_ + term;
    skip();
  }
  // A term that is left out but keeps its place in the order.
  // The same bits as adding +0: a block starts from +0 and can never become -0.
  void skip() {
    if (++count_ < kDotBlock) return;
    total_ = total_ + block_;
    block_ = T(0);
    count_ = 0;
  }
  // An open block joins as the last one. Without any term the result is +0.
  T result() const { return count_ > 0 ? total_ + block_ : total_; }

 private:
  // Finished blocks, the open block, and the terms in it (below 256).
  T total_ = T(0);
  T block_ = T(0);
  int64_t count_ = 0;
};

}  // namespace quern
