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

template <class V>
constexpr int kSumVectorsOf = kSumLanes / kLanesOf<V>;

// 32 partials join as (l, l+16), (l, l+8), ...
template <class V, class Join>
QUERN_INLINE ElementOf<V> join_lanes(V* partials, Join join) {
  constexpr int kVectors = kSumVectorsOf<V>;
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

// Sum of n elements. add(i, partials) adds elements i .. i + 31 to 32 partials, element_at(i) gives
// one element.
template <class V, class Add, class ElementAt>
QUERN_INLINE ElementOf<V> lanes_sum_of_steps(int64_t n, Add add, ElementAt element_at) {
  using T = ElementOf<V>;
  constexpr int kVectors = kSumVectorsOf<V>;
  T total = 0;
  for (int64_t begin = 0; begin < n; begin += kSumChunk) {
    const int64_t end = n - begin < kSumChunk ? n : begin + kSumChunk;
    V partials[kVectors] = {};
    int64_t i = begin;
    for (; i + kSumLanes <= end; i += kSumLanes) add(i, partials);
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

// The same with vector_at(i), which gives elements i .. i + lanes - 1.
template <class V, class VectorAt, class ElementAt>
QUERN_INLINE ElementOf<V> lanes_sum(int64_t n, VectorAt vector_at, ElementAt element_at) {
  return lanes_sum_of_steps<V>(
      n,
      [&](int64_t i, V* partials) {
        for (int v = 0; v < kSumVectorsOf<V>; ++v) partials[v] += vector_at(i + v * kLanesOf<V>);
      },
      element_at);
}

// The larger of a and b, +0 above -0, NaN if either is.
template <class T>
QUERN_INLINE T strict_larger(T a, T b) {
  if (a > b) return a;
  if (b > a) return b;
  if (a == b) return a == 0 ? a + b : a;
  return a + b;
}

template <class T>
struct PlainPick {
  T value;
  bool is_certain;  // or else the value means nothing
};
// The element that `pick` (LargerJoin, SmallerJoin) leaves of n > 0, by plain comparisons. They
// miss NaN and the sign of zero: there, for infinities and below four vectors it is not certain.
template <class T, class Pick>
QUERN_INLINE PlainPick<T> pick_plainly(const T* x, int64_t n, Pick pick) {
  using V = VectorFor<T>;
  constexpr int kWidth = kLanesOf<V>;
  constexpr int kCount = 4;  // chains side by side hide the latency of a comparison
  constexpr int64_t kStep = kCount * kWidth;
  if (n < kStep) return {x[0], false};
  const int64_t whole = n - n % kStep;
  V best[kCount], odd[kCount] = {};  // odd: NaN as soon as an element is one, or infinite
  for (int v = 0; v < kCount; ++v) best[v] = load<V>(x + v * kWidth);
  for (int64_t i = 0; i < whole; i += kStep) {
    for (int v = 0; v < kCount; ++v) {
      const V next = load<V>(x + i + v * kWidth);
      best[v] = pick(next, best[v]);
      odd[v] += next - next;
    }
  }
  for (int v = 1; v < kCount; ++v) {
    best[0] = pick(best[v], best[0]);
    odd[0] += odd[v];
  }
  T value = fold_lanes(best[0], pick), strange = fold_lanes(odd[0], AddJoin());
  for (int64_t i = whole; i < n; ++i) {
    value = pick(x[i], value);
    strange += x[i] - x[i];
  }
  return {value, strange == strange && value != 0};
}

// Largest of n > 0 elements: NaN if any is, +0 above -0. It depends on no order.
template <class T>
QUERN_INLINE T largest(const T* x, int64_t n) {
  const PlainPick<T> plain = pick_plainly(x, n, LargerJoin());
  if (plain.is_certain) return plain.value;
  T best = x[0];
  for (int64_t i = 0; i < n; ++i) best = strict_larger(best, x[i]);
  return best;
}

}  // namespace
}  // namespace quern::cpu
