// Reductions in the order lanes(32) in chunks of 4,096 over vectors: the bits of ops/lanes.h.
// Included after QUERN_ISA_HEADER.
#pragma once

#include <type_traits>

namespace quern::cpu {
namespace {

constexpr int kSumLanes = 32;
constexpr int64_t kSumChunk = 4096;

// What a vector type is made of, and the vector of this level for an element type.
template <class V>
using ElementOf = std::remove_cvref_t<decltype(V{}[0])>;
template <class T>
struct VectorOfElement;
template <>
struct VectorOfElement<float> {
  using Type = VecF32;
};
template <>
struct VectorOfElement<double> {
  using Type = VecF64;
};
template <class T>
using VectorFor = typename VectorOfElement<T>::Type;
template <class V>
constexpr int kLanesOf = sizeof(V) / sizeof(ElementOf<V>);

// The vector of the formulas: a vector of one lane is a plain number to them.
template <class V>
struct FormulaLane {
  using Type = V;
};
template <class V>
requires(kLanesOf<V> == 1) struct FormulaLane<V> {
  using Type = ElementOf<V>;
};
template <class T>
using Lane = typename FormulaLane<VectorFor<T>>::Type;

template <class T, int kCount>
struct SmallVector {
  typedef T Type __attribute__((vector_size(kCount * sizeof(T))));
};
template <class Half>
struct Halves {
  Half low;
  Half high;
};

// Lanes join as (l, l + n/2), (l, l + n/4), ..., the lower one first.
template <class V, class Join>
QUERN_INLINE ElementOf<V> fold_lanes(V v, Join join) {
  constexpr int kHalf = kLanesOf<V> / 2;
  if constexpr (kHalf == 0) {
    return v[0];
  } else if constexpr (kHalf == 1) {
    return join(v[0], v[1]);
  } else {
    Halves<typename SmallVector<ElementOf<V>, kHalf>::Type> halves;
    __builtin_memcpy(&halves, &v, sizeof(v));
    return fold_lanes(join(halves.low, halves.high), join);
  }
}

// 32 partials join as (l, l+16), (l, l+8), ...
template <class V, class Join>
QUERN_INLINE ElementOf<V> join_lanes(V* partials, Join join) {
  constexpr int kVectors = kSumLanes / kLanesOf<V>;
#pragma GCC unroll 8
  for (int half = kVectors / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) partials[i] = join(partials[i], partials[i + half]);
  }
  return fold_lanes(partials[0], join);
}

struct AddJoin {
  template <class T>
  QUERN_INLINE T operator()(T a, T b) const {
    return a + b;
  }
};

struct LargerJoin {
  template <class T>
  QUERN_INLINE T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct SmallerJoin {
  template <class T>
  QUERN_INLINE T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

// Sum of n elements. vector_at(i) gives elements i .. i + lanes - 1, element_at(i) one.
template <class V, class VectorAt, class ElementAt>
QUERN_INLINE ElementOf<V> lanes_sum(int64_t n, VectorAt vector_at, ElementAt element_at) {
  using T = ElementOf<V>;
  constexpr int kVectors = kSumLanes / kLanesOf<V>;
  T total = 0;
  for (int64_t begin = 0; begin < n; begin += kSumChunk) {
    const int64_t end = n - begin < kSumChunk ? n : begin + kSumChunk;
    V partials[kVectors] = {};
    int64_t i = begin;
    for (; i + kSumLanes <= end; i += kSumLanes) {
      for (int v = 0; v < kVectors; ++v) partials[v] += vector_at(i + v * kLanesOf<V>);
    }
    if (i < end) {
      T lanes[kSumLanes];
      for (int v = 0; v < kVectors; ++v) store(lanes + v * kLanesOf<V>, partials[v]);
      for (int l = 0; i < end; ++i, ++l) lanes[l] += element_at(i);
      for (int v = 0; v < kVectors; ++v) partials[v] = load<V>(lanes + v * kLanesOf<V>);
    }
    total += join_lanes(partials, AddJoin());
  }
  return total;
}

// The larger of a and b, +0 above -0, NaN if either is.
template <class T>
QUERN_INLINE T strict_larger(T a, T b) {
  if (a > b) return a;
  if (b > a) return b;
  if (a == b) return a == 0 ? a + b : a;
  return a + b;
}

// Largest of n > 0 elements: NaN if any is, +0 above -0. It depends on no order.
template <class T>
QUERN_INLINE T largest(const T* x, int64_t n) {
  using V = VectorFor<T>;
  constexpr int kWidth = kLanesOf<V>;
  T best = x[0];
  int64_t i = 0;
  if (n >= 4 * kWidth) {
    V best4[4];
    for (int v = 0; v < 4; ++v) best4[v] = load<V>(x + v * kWidth);
    V sum = V{};  // NaN as soon as an element is; an infinity minus itself is one too
    for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
      for (int v = 0; v < 4; ++v) {
        const V next = load<V>(x + i + v * kWidth);
        best4[v] = next > best4[v] ? next : best4[v];
        sum += next - next;
      }
    }
    for (int v = 1; v < 4; ++v) best4[0] = best4[v] > best4[0] ? best4[v] : best4[0];
    best = fold_lanes(best4[0], LargerJoin());
    const T joined_sum = fold_lanes(sum, AddJoin());
    // Infinities, NaN and zeros need the careful comparison.
    if (joined_sum != joined_sum || best == 0) {
      best = x[0];
      i = 0;
    }
  }
  for (; i < n; ++i) best = strict_larger(best, x[i]);
  return best;
}

}  // namespace
}  // namespace quern::cpu
