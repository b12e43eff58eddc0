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

// 32 lanes are two vectors of AVX-512 or four of AVX2 in f32: enough independent chains to hide the
// latency of an addition. A chunk bounds what one thread must do in order.
inline constexpr int64_t kNumLanes = 32;
inline constexpr int64_t kLanesChunk = 4096;

namespace lanes_detail {

// One chunk of `count` elements from `begin`, partials started from `start`.
// Lanes that no element reaches keep `start`, the neutral element, so that joining them changes
// nothing but the sign of a zero.
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
// For max and min, which have no neutral element among the numbers.
template <class T, class F, class Join>
T select_chunk(int64_t begin, int64_t count, F&& element, Join&& join) {
  T partial[kNumLanes];
  int64_t filled = std::min(count, kNumLanes);
  for (int64_t i = 0; i < filled; ++i) partial[i] = element(begin + i);
  for (int64_t i = filled; i < count; ++i) {
    T& lane = partial[i % kNumLanes];
    lane = join(lane, element(begin + i));
  }
  // `filled` lanes hold elements, the first ones. A lane without a partner stays as it is; after
  // the step only the lower half counts.
  for (int64_t half = kNumLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l + half < filled; ++l) partial[l] = join(partial[l], partial[l + half]);
    filled = std::min(filled, half);
  }
  return partial[0];
}

// n = 0 gives `start`. A first chunk joins `start` too, as numerics' fold from +0 asks.
template <class T, class F, class Join>
T reduce(int64_t n, T start, F&& element, Join&& join) {
  T result = start;
  for (int64_t begin = 0; begin < n; begin += kLanesChunk) {
    const int64_t count = std::min(kLanesChunk, n - begin);
    result = join(result, reduce_chunk<T>(begin, count, start, element, join));
  }
  return result;
}

// Chunk results join from left to right, from the first one and not from a start value.
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
// For integers T is unsigned, so that a wrap is defined.
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
// Not for integers, whose mean is computed in f64 by its callers.
template <class T, class F>
T lanes_mean(int64_t n, F&& element) {
  return lanes_sum<T>(n, element) / static_cast<T>(n);
}

}  // namespace quern
