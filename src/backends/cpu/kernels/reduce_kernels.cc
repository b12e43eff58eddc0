// Reductions of rows and of columns; compiled once per level.
#include "backends/cpu/kernels/reduce_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/lanes-inl.h"
#include "ops/activation-inl.h"

namespace quern::cpu {
namespace {

// Each function: the start of a partial result, what an element becomes, how two results join.
struct SumOf {
  // Whether a result is one of the elements, so that the order does not matter.
  static constexpr bool kSelects = false;
  template <class V>
  static QUERN_INLINE V start() {
    return V{};
  }
  template <class V>
  static QUERN_INLINE V term(V x) {
    return x;
  }
  template <class V>
  QUERN_INLINE V operator()(V a, V b) const {
    return a + b;
  }
};
struct L1NormOf : SumOf {
  template <class V>
  static QUERN_INLINE V term(V x) {
    return simd::abs(x);
  }
};
struct ProductOf : SumOf {
  template <class V>
  static QUERN_INLINE V start() {
    return simd::splat<V>(1);
  }
  template <class V>
  QUERN_INLINE V operator()(V a, V b) const {
    return a * b;
  }
};
// Without a start value; the infinity that any element replaces serves. It depends on no order.
struct MaxOf : SumOf {
  static constexpr bool kSelects = true;
  template <class V>
  static QUERN_INLINE V start() {
    return simd::splat<V>(-__builtin_inff());
  }
  template <class V>
  QUERN_INLINE V operator()(V a, V b) const {
    return simd::max_of(a, b);
  }
};
struct MinOf : MaxOf {
  template <class V>
  static QUERN_INLINE V start() {
    return simd::splat<V>(__builtin_inff());
  }
  template <class V>
  QUERN_INLINE V operator()(V a, V b) const {
    return simd::min_of(a, b);
  }
};

// The partial results of one chunk from x on, joined: (l, l+16), (l, l+8), ...
template <class T, class Function>
QUERN_INLINE T reduce_chunk(const T* x, int64_t n) {
  using V = Lane<T>;
  constexpr int kWidth = sizeof(V) / sizeof(T);
  constexpr int kVectors = kSumLanes / kWidth;
  const Function join;
  V partials[kVectors];
  for (int v = 0; v < kVectors; ++v) partials[v] = Function::template start<V>();
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (int v = 0; v < kVectors; ++v) {
      partials[v] = join(partials[v], Function::term(load<V>(x + i + v * kWidth)));
    }
  }
  if constexpr (kWidth > 1) {
    // Whole vectors join in registers: rows of 1,024 are short enough for the end to show.
    if (i == n) return join_lanes(partials, join);
  }
  T lanes[kSumLanes];
  for (int v = 0; v < kVectors; ++v) store(lanes + v * kWidth, partials[v]);
  for (int l = 0; i < n; ++i, ++l) lanes[l] = join(lanes[l], Function::term(x[i]));
  for (int half = kSumLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] = join(lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

// Chunks of 4,096 fold in order. A start value changes no bit: x + (+0) is x but for -0, and there
// the definition starts from +0 too.
template <class T, class Function>
T reduce_row(const T* x, int64_t n) {
  const Function join;
  T total = Function::template start<T>();
  for (int64_t begin = 0; begin < n; begin += kSumChunk) {
    const int64_t count = n - begin < kSumChunk ? n - begin : kSumChunk;
    total = join(total, reduce_chunk<T, Function>(x + begin, count));
  }
  return total;
}

// By plain comparisons, where they suffice.
template <class T, class Function>
T select_row(const T* x, int64_t n) {
  if (n == 0) return reduce_row<T, Function>(x, n);
  using Pick = std::conditional_t<std::is_same_v<Function, MaxOf>, LargerJoin, SmallerJoin>;
  const PlainPick<T> plain = pick_plainly(x, n, Pick());
  return plain.is_certain ? plain.value : reduce_row<T, Function>(x, n);
}

// Row r of a chunk joins partial r mod 32 of its column, as element r of a row would, so columns
// have the bits of rows. Vectors go across columns; the partials of 64 columns stay in the
// first-level cache.
// Partial results of kReduceColumns columns, [32][kReduceColumns], then of the chunks.
template <class T, class Function>
void reduce_columns(const T* x, int64_t n, int64_t stride, int64_t columns, T* y, T* scratch) {
  using V = Lane<T>;
  constexpr int kWidth = sizeof(V) / sizeof(T);
  const Function join;
  T* total = scratch + 32 * kReduceColumns;
  for (int64_t first = 0; first < columns; first += kReduceColumns) {
    const int64_t count = columns - first < kReduceColumns ? columns - first : kReduceColumns;
    const int64_t whole = count / kWidth * kWidth;
    for (int64_t begin = 0; begin < n; begin += kSumChunk) {
      const int64_t rows = n - begin < kSumChunk ? n - begin : kSumChunk;
      for (int64_t i = 0; i < 32 * kReduceColumns; i += kWidth) {
        store(scratch + i, Function::template start<V>());
      }
      for (int64_t row = 0; row < rows; ++row) {
        const T* from = x + (begin + row) * stride + first;
        T* partial = scratch + row % 32 * kReduceColumns;
        // Each row lies in another page, so the processor does not fetch ahead itself (Zen 4, 4,096
        // x 1,024: 913 to 712 us on one thread; on two, where the caches hold x, 296 to 301 us).
        constexpr int64_t kAhead = 16;
        const T* ahead = row + kAhead < rows ? from + kAhead * stride : from;
        for (int64_t c = 0; c < count; c += 64 / int64_t{sizeof(T)}) {
          __builtin_prefetch(ahead + c);
        }
        for (int64_t c = 0; c < whole; c += kWidth) {
          store(partial + c, join(load<V>(partial + c), Function::term(load<V>(from + c))));
        }
        for (int64_t c = whole; c < count; ++c) {
          partial[c] = join(partial[c], Function::term(from[c]));
        }
      }
      for (int64_t half = 16 * kReduceColumns; half >= kReduceColumns; half /= 2) {
        for (int64_t i = 0; i < half; i += kWidth) {
          store(scratch + i, join(load<V>(scratch + i), load<V>(scratch + half + i)));
        }
      }
      for (int64_t c = 0; c < kReduceColumns; c += kWidth) {
        const V before = begin == 0 ? Function::template start<V>() : load<V>(total + c);
        store(total + c, join(before, load<V>(scratch + c)));
      }
    }
    for (int64_t c = 0; c < count; ++c) y[first + c] = total[c];
  }
}

template <class T>
ReduceFunctions<T> functions() {
  ReduceFunctions<T> made;
  const auto add = [&]<class Function>(ReduceFunction f, Function) {
    if constexpr (Function::kSelects) {
      made.row[static_cast<int>(f)] = select_row<T, Function>;
    } else {
      made.row[static_cast<int>(f)] = reduce_row<T, Function>;
    }
    made.columns[static_cast<int>(f)] = reduce_columns<T, Function>;
  };
  add(ReduceFunction::kSum, SumOf{});
  add(ReduceFunction::kL1Norm, L1NormOf{});
  add(ReduceFunction::kProduct, ProductOf{});
  add(ReduceFunction::kMax, MaxOf{});
  add(ReduceFunction::kMin, MinOf{});
  return made;
}

}  // namespace

template <>
ReduceKernels reduce_kernels<kThisIsa>() {
  return {.f32 = functions<float>(), .f64 = functions<double>()};
}

}  // namespace quern::cpu
