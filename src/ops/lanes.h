// Reductions in the order lanes(32): the definition of sum, product, max, min of strict numerics.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "ops/max_min.h"

// Element i of a chunk of 4,096 goes to partial i mod 32, ascending. The partials join as a tree
//   (l, l+16) (l, l+8) (l, l+4) (l, l+2) (l, l+1), the left operand first,
// and the results of the chunks fold in order. `element(i)` gives element i as a T; integers that
// may wrap are reduced as uint64_t.
namespace quern {

inline constexpr int64_t kNumLanes = 32;
inline constexpr int64_t kLanesChunk = 4096;

namespace lanes_detail {

// One chunk of `count` elements from `begin`, partials started from `start`.
template <class T, class F, class Join>
T reduce_chunk(int64_t begin, int64_t count, T start, F&& element, Join&& join) {
  T partial[kNumLanes];
  std::fill_n(partial, kNumLanes, start);
  for (int64_t i = 0; i < count; ++i) {
    T& lane = partial[i % kNumLanes];
    lane = join(lane, element(begin + i));
  }
  for (int64_t half = kNumLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) partial[l] = join(partial[l], partial[l + half]);
  }
  return partial[0];
}

// One chunk of `count` > 0 elements without a start value: an empty partial leaves the other side
// of a join unchanged.
template <class T, class F, class Join>
T select_chunk(int64_t begin, int64_t count, F&& element, Join&& join) {
  T partial[kNumLanes];
  int64_t filled = std::min(count, kNumLanes);
  for (int64_t i = 0; i < filled; ++i) partial[i] = element(begin + i);
  for (int64_t i = filled; i < count; ++i) {
    T& lane = partial[i % kNumLanes];
    lane = join(lane, element(begin + i));
  }
  for (int64_t half = kNumLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l + half < filled; ++l) partial[l] = join(partial[l], partial[l + half]);
    filled = std::min(filled, half);
  }
  return partial[0];
}

template <class T, class F, class Join>
T reduce(int64_t n, T start, F&& element, Join&& join) {
  T result = start;
  for (int64_t begin = 0; begin < n; begin += kLanesChunk) {
    const int64_t count = std::min(kLanesChunk, n - begin);
    result = join(result, reduce_chunk<T>(begin, count, start, element, join));
  }
  return result;
}

template <class T, class F, class Join>
T select(int64_t n, F&& element, Join&& join) {
  QUERN_CHECK(n > 0);
  T result = select_chunk<T>(0, std::min(kLanesChunk, n), element, join);
  for (int64_t begin = kLanesChunk; begin < n; begin += kLanesChunk) {
    const int64_t count = std::min(kLanesChunk, n - begin);
    result = join(result, select_chunk<T>(begin, count, element, join));
  }
  return result;
}

}  // namespace lanes_detail

// Sum of element(0) .. element(n - 1); +0 for n = 0. For a sum of squares the element is x * x.
template <class T, class F>
T lanes_sum(int64_t n, F&& element) {
  return lanes_detail::reduce<T>(n, T(0), element, [](T a, T b) { return static_cast<T>(a + b); });
}

// Product; 1 for n = 0.
template <class T, class F>
T lanes_product(int64_t n, F&& element) {
  return lanes_detail::reduce<T>(n, T(1), element, [](T a, T b) { return static_cast<T>(a * b); });
}

// Largest and smallest by strict_max and strict_min; n > 0.
template <class T, class F>
T lanes_max(int64_t n, F&& element) {
  return lanes_detail::select<T>(n, element, strict_max<T>);
}
template <class T, class F>
T lanes_min(int64_t n, F&& element) {
  return lanes_detail::select<T>(n, element, strict_min<T>);
}

// Sum divided by n, converted to T; NaN for n = 0. Floating point only.
template <class T, class F>
T lanes_mean(int64_t n, F&& element) {
  return lanes_sum<T>(n, element) / static_cast<T>(n);
}

}  // namespace quern
