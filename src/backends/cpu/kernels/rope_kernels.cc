// Rotation of pairs; compiled once per level.
#include "backends/cpu/kernels/rope_kernels.h"

#include QUERN_ISA_HEADER

#include <utility>

#include "backends/cpu/kernels/lanes-inl.h"

namespace quern::cpu {
namespace {

template <class T>
QUERN_INLINE void copy_rest(const RopeRow<T>& row, const T* x, T* y) {
  if (x == y) return;
  for (int64_t i = row.n_rot; i < row.head_dim; ++i) y[i] = x[i];
}

template <class T>
void rotate_half(const RopeRow<T>& row) {
  using V = VectorFor<T>;
  const int64_t pairs = row.n_rot / 2;
  for (int64_t head = 0; head < row.heads; ++head) {
    const T* x = row.x + head * row.head_dim;
    T* y = row.y + head * row.head_dim;
    const auto rotate = [&]<class X>(X, int64_t i) {
      const X x0 = load<X>(x + i), x1 = load<X>(x + pairs + i);
      const X c = load<X>(row.cos + i), s = load<X>(row.sin + i);
      store(y + i, x0 * c - x1 * s);
      store(y + pairs + i, x0 * s + x1 * c);
    };
    int64_t i = 0;
    for (; i + kLanesOf<V> <= pairs; i += kLanesOf<V>) rotate(V{}, i);
    for (; i < pairs; ++i) rotate(T{}, i);
    copy_rest(row, x, y);
  }
}

// Lanes 1 0 3 2 5 4 ...
template <class V, int... kIndex>
QUERN_INLINE V swap_pairs_at(V v, std::integer_sequence<int, kIndex...>) {
  return __builtin_shufflevector(v, v, (kIndex ^ 1)...);
}
template <class V>
QUERN_INLINE V swap_pairs(V v) {
  return swap_pairs_at(v, std::make_integer_sequence<int, kLanesOf<V>>());
}

// x0 * c + x1 * -s is x0 * c - x1 * s, and the order of a sum of two does not show.
template <class T>
void rotate_interleaved(const RopeRow<T>& row) {
  using V = VectorFor<T>;
  for (int64_t head = 0; head < row.heads; ++head) {
    const T* x = row.x + head * row.head_dim;
    T* y = row.y + head * row.head_dim;
    int64_t i = 0;
    if constexpr (kLanesOf < V >> 1) {
      for (; i + kLanesOf<V> <= row.n_rot; i += kLanesOf<V>) {
        const V pairs = load<V>(x + i);
        store(y + i, pairs * load<V>(row.cos + i) + swap_pairs(pairs) * load<V>(row.sin + i));
      }
    }
    for (; i < row.n_rot; i += 2) {
      const T x0 = x[i], x1 = x[i + 1];
      y[i] = x0 * row.cos[i] + x1 * row.sin[i];
      y[i + 1] = x1 * row.cos[i + 1] + x0 * row.sin[i + 1];
    }
    copy_rest(row, x, y);
  }
}

template <class T>
RopeFunctions<T> functions() {
  return {.rotate_half = rotate_half<T>, .rotate_interleaved = rotate_interleaved<T>};
}

}  // namespace

template <>
RopeKernels rope_kernels<kThisIsa>() {
  return {.f32 = functions<float>(), .f64 = functions<double>()};
}

}  // namespace quern::cpu
