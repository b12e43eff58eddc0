// Attention of one query over a row of keys: the order of strict numerics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ops/lanes.h"
#include "ops/math/strict_math.h"
#include "ops/max_min.h"

namespace quern {

// The chunks of numerics: 64 keys share one maximum, 512 keys join before they meet the rest. They
// are counted from key 0 of the sequence, whatever part of it is visible, so that a window, a split
// prompt or another page size meets the same borders.
inline constexpr int64_t kInnerKeys = 64;
inline constexpr int64_t kOuterKeys = 512;

// What a set of keys contributes: maximum, sum of exp(score - m), sum of exp(score - m) * value.
// Empty when all its keys are masked.
template <class T>
struct SoftmaxState {
  // An explicit flag and not m = -infinity: the state of no keys must leave the other side's bits
  // alone, and exp(-inf - -inf) would be NaN.
  bool is_empty = true;
  // m is the largest score, l the sum of exp(score - m), o [value_dim] the same sum weighted with
  // the values. o is empty while the state is.
  T m = T(0);
  T l = T(0);
  std::vector<T> o;
};

// left = left (+) right: M = max(m, m_c), each side scaled by exp of its own m minus M. An empty
// side gives the other unchanged.
template <class T>
void join(SoftmaxState<T>& left, const SoftmaxState<T>& right) {
  if (right.is_empty) return;
  if (left.is_empty) {
    left = right;
    return;
  }
  // For finite maxima one of the factors a and b is exp(0), exactly 1, so that the side with the
  // maximum does not round in its product. NaN in m makes both factors NaN, and with them l and o.
  const T m = strict_max(left.m, right.m);
  const T a = strict_exp(left.m - m);
  const T b = strict_exp(right.m - m);
  // Products first, then the sum, each rounded: no contraction.
  left.l = left.l * a + right.l * b;
  for (size_t d = 0; d < left.o.size(); ++d) left.o[d] = left.o[d] * a + right.o[d] * b;
  left.m = m;
}

// Keys [first, last) of a sequence can be visible; all others are masked.
// In the sequence's own order; first <= last. A causal rule, a window and the end of the cache are
// all such a range; holes in it are scores of -infinity.
struct KeyRange {
  int64_t first;
  int64_t last;
};

// score(key) gives a finished score, -infinity for a masked key; value(key) a row of value_dim.
// Both are called only for keys in the range.
// T is the type computed in, f32 or f64. Score and Value are kept as given (attend passes
// references), and must outlive the walk. One thread only.
template <class T, class Score, class Value>
class KeyWalk {
 public:
  KeyWalk(KeyRange keys, int64_t value_dim, Score score, Value value)
      : keys_(keys), value_dim_(static_cast<size_t>(value_dim)), score_(score), value_(value) {}

  // Inner chunks of 64 join in order inside outer chunks of 512, which join in order; chunks count
  // from key 0.
  SoftmaxState<T> walk() const {
    SoftmaxState<T> state;
    // The first outer chunk is the one that holds keys_.first; its earlier inner chunks are walked
    // too, find every key out of range, and join as empty states.
    for (int64_t outer = keys_.first / kOuterKeys * kOuterKeys; outer < keys_.last;
         outer += kOuterKeys) {
      SoftmaxState<T> chunk;
      const int64_t end = std::min(outer + kOuterKeys, keys_.last);
      for (int64_t inner = outer; inner < end; inner += kInnerKeys) join(chunk, walk_inner(inner));
      join(state, chunk);
    }
    return state;
  }

 private:
  static constexpr T kMasked = -std::numeric_limits<T>::infinity();

  // Keys [begin, begin + 64).
  SoftmaxState<T> walk_inner(int64_t begin) const {
    // A chunk needs two passes: the maximum must be known before the first exponential. The second
    // pass reuses the scores, so that score(key) is called once per key.
    SoftmaxState<T> state;
    T scores[kInnerKeys];
    for (int64_t i = 0; i < kInnerKeys; ++i) {
      const int64_t key = begin + i;
      // A score can become -infinity by itself (an additive mask); it counts as masked from here
      // on.
      scores[i] = key < keys_.first || key >= keys_.last ? kMasked : score_(key);
      if (scores[i] == kMasked) continue;
      state.m = state.is_empty ? scores[i] : strict_max(state.m, scores[i]);
      state.is_empty = false;
    }
    if (!state.is_empty) add_values(begin, scores, state);
    return state;
  }

  // Values and weights of a chunk whose maximum is known. p[i] keeps place i for masked keys, since
  // the lane of a term is its key index mod 32; 64 is a multiple of 32, so i mod 32 is that lane.
  void add_values(int64_t begin, const T* scores, SoftmaxState<T>& state) const {
    T p[kInnerKeys];
    state.o.assign(value_dim_, T(0));
    for (int64_t i = 0; i < kInnerKeys; ++i) {
      p[i] = T(0);
      // Skipped and not added with weight 0: 0 * NaN of an unused row would spoil the sum.
      if (scores[i] == kMasked) continue;
      p[i] = strict_exp(scores[i] - state.m);
      const T* row = value_(begin + i);
      for (size_t d = 0; d < value_dim_; ++d) state.o[d] = state.o[d] + p[i] * row[d];
    }
    state.l = lanes_sum<T>(kInnerKeys, [&](int64_t i) { return p[i]; });
  }

  KeyRange keys_;
  size_t value_dim_;
  Score score_;
  Value value_;
};

// Attention of one query to `out`: o / l after the sink, if any, joined as the state (sink, 1, 0);
// zeros if every key was masked.
// `out` has value_dim elements and is written whole. `sink` may be null. A learned sink takes part
// in the maximum and in l but has no value, so that it takes weight away from all keys.
template <class T, class Score, class Value>
void attend(KeyRange keys, const T* sink, Score&& score, Value&& value, std::span<T> out) {
  const auto value_dim = static_cast<int64_t>(out.size());
  SoftmaxState<T> state = KeyWalk<T, Score&, Value&>(keys, value_dim, score, value).walk();
  // Joined last, also when the walk found nothing: the state (sink, 1, 0) gives 0 / 1. A sink of
  // -infinity has the factor exp(-inf) = 0, so that l and o keep their values.
  if (sink != nullptr) {
    join(state, SoftmaxState<T>{false, *sink, T(1), std::vector<T>(out.size(), T(0))});
  }
  for (size_t d = 0; d < out.size(); ++d) out[d] = state.is_empty ? T(0) : state.o[d] / state.l;
}

// From the dot product to the score before biases: * scale, then the soft cap where it is not 0:
// cap * tanh(s / cap).
// A cap of 0 means none; the tanh and the division are skipped then, not computed with 0.
template <class T>
T finish_score(T dot, T scale, T soft_cap) {
  const T s = dot * scale;
  return soft_cap == T(0) ? s : soft_cap * strict_tanh(s / soft_cap);
}

// `scale` as an attribute gives it: 0 stands for 1 / sqrt(head_dim), computed in f64.
// T rounds the f64 quotient once. head_dim is at least 1.
template <class T>
T attention_scale(double scale, int64_t head_dim);

extern template float attention_scale(double, int64_t);
extern template double attention_scale(double, int64_t);

}  // namespace quern
