// Several blocked(256) dot products side by side, so that plain loops vectorise.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/blocked.h"

namespace quern {

// out[c] = blocked(256) sum over k of x[k] * b[k * stride + c], for kColumns columns c. The bits
// are those of kColumns separate sums.
// The row-major b has one row per k:
//   x[0] * ( b[0]       b[1]          ...  b[kColumns - 1] )
//   x[1] * ( b[stride]  b[stride + 1] ...                  )   each column is a sum of its own
// kColumns is a constant so that a compiler keeps `block` and `total` in registers and vectorises
// over c; no lane meets another, which is why the order of each sum is untouched.
// n may be 0, which writes zeros. b is read at columns 0 .. kColumns - 1 of n rows; out must not
// overlap the inputs.
template <int kColumns, class T>
void blocked_dot_columns(int64_t n, const T* x, const T* b, int64_t stride, T* out) {
  T total[kColumns] = {};
  for (int64_t begin = 0; begin < n; begin += kDotBlock) {
    T block[kColumns] = {};
    const int64_t end = std::min(begin + kDotBlock, n);
    for (int64_t k = begin; k < end; ++k) {
      const T* row = b + k * stride;
      for (int c = 0; c < kColumns; ++c) block[c] = block[c] + x[k] * row[c];
    }
    for (int c = 0; c < kColumns; ++c) total[c] = total[c] + block[c];
  }
  std::copy_n(total, kColumns, out);
}

}  // namespace quern
