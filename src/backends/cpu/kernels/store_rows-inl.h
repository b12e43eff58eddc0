// The end of a product: scale, bias, store.
#pragma once

#include "backends/cpu/kernels/linear_kernels.h"
#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

// One vector of results: rows from `row` on of one token. Needs row < out.rows.
template <class T, class Vec>
QUERN_INLINE void store_rows(const ProductOutput<T>& out, int64_t token, int64_t row, Vec y) {
  constexpr int kCount = sizeof(Vec) / sizeof(T);
  const int64_t rest = out.rows - row;
  T* at = out.y + token * out.y_stride + row;
  if (out.scale != T(1)) y = y * splat(out.scale);
  if (rest >= kCount) {
    if (out.bias != nullptr) y = y + load<Vec>(out.bias + row);
    return store(at, y);
  }
  if (out.bias != nullptr) y = y + load_partial<Vec>(out.bias + row, rest);
  store_partial(at, y, rest);
}

}  // namespace
}  // namespace quern::cpu
