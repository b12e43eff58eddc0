// See lane_evaluators.h. QUERN_LANE_ISA is the name of the function defined here;
// QUERN_LANE_WIDTHS, a mask, says which of the widths 1, 4, 8, 16 are compiled.
#include "ops/math/lane_evaluators.h"

#include "ops/math/strict_math-inl.h"

namespace quern {
namespace {

// The lane type of N elements. One element is the plain type, as callers of strict_math.h use it.
template <class T, int N>
struct LanesOf {
  using Type = simd::VectorOf<T, N>;
};
template <class T>
struct LanesOf<T, 1> {
  using Type = T;
};

// Whole vectors only (n is a multiple of N). memcpy because the arrays are aligned to T alone.
template <class F, class T, int N>
void evaluate_unary(const T* x, T* y, long n) {
  using V = typename LanesOf<T, N>::Type;
  for (long i = 0; i < n; i += N) {
    V v;
    __builtin_memcpy(&v, x + i, sizeof(V));
    v = F::template apply<V>(v);
    __builtin_memcpy(y + i, &v, sizeof(V));
  }
}
template <class F, class T, int N>
void evaluate_binary(const T* x, const T* y, T* z, long n) {
  using V = typename LanesOf<T, N>::Type;
  for (long i = 0; i < n; i += N) {
    V a, b;
    __builtin_memcpy(&a, x + i, sizeof(V));
    __builtin_memcpy(&b, y + i, sizeof(V));
    a = F::template apply<V>(a, b);
    __builtin_memcpy(z + i, &a, sizeof(V));
  }
}

// The loop for f32 width W, or null where this file leaves it out.
template <class F, class T, int W>
constexpr void (*unary_or_null())(const T*, T*, long) {
  // Widths count the f32 lanes of a register: f64 has half as many, but never less than one.
  constexpr int kN = sizeof(T) == 4 || W == 1 ? W : W / 2;
  if constexpr ((QUERN_LANE_WIDTHS & W) != 0) return evaluate_unary<F, T, kN>;
  return nullptr;
}
template <class F, class T, int W>
constexpr void (*binary_or_null())(const T*, const T*, T*, long) {
  constexpr int kN = sizeof(T) == 4 || W == 1 ? W : W / 2;
  if constexpr ((QUERN_LANE_WIDTHS & W) != 0) return evaluate_binary<F, T, kN>;
  return nullptr;
}
template <class F>
constexpr UnaryEvaluators unary_row(const char* name) {
  return {name,
          {unary_or_null<F, float, 1>(), unary_or_null<F, float, 4>(), unary_or_null<F, float, 8>(),
           unary_or_null<F, float, 16>()},
          {unary_or_null<F, double, 1>(), unary_or_null<F, double, 4>(),
           unary_or_null<F, double, 8>(), unary_or_null<F, double, 16>()}};
}
template <class F>
constexpr BinaryEvaluators binary_row(const char* name) {
  return {name,
          {binary_or_null<F, float, 1>(), binary_or_null<F, float, 4>(),
           binary_or_null<F, float, 8>(), binary_or_null<F, float, 16>()},
          {binary_or_null<F, double, 1>(), binary_or_null<F, double, 4>(),
           binary_or_null<F, double, 8>(), binary_or_null<F, double, 16>()}};
}

// Each function template becomes a type, which can be passed as a template argument.
#define QUERN_UNARY(name)            \
  struct Apply_##name {              \
    template <class V>               \
    QUERN_SIMD_FN V apply(V x) {     \
      return simd::strict_##name(x); \
    }                                \
  };
#define QUERN_BINARY(name)              \
  struct Apply_##name {                 \
    template <class V>                  \
    QUERN_SIMD_FN V apply(V x, V y) {   \
      return simd::strict_##name(x, y); \
    }                                   \
  };
#include "ops/math/binary_functions.inc"
#include "ops/math/unary_functions.inc"
#undef QUERN_UNARY
#undef QUERN_BINARY

#define QUERN_UNARY(name) unary_row<Apply_##name>(#name),
#define QUERN_BINARY(name) binary_row<Apply_##name>(#name),
// In the order of the lists, the same in every copy of this file: tests compare row i with row i.
constexpr UnaryEvaluators kUnary[] = {
#include "ops/math/unary_functions.inc"
};
constexpr BinaryEvaluators kBinary[] = {
#include "ops/math/binary_functions.inc"
};
#undef QUERN_UNARY
#undef QUERN_BINARY

}  // namespace

LaneEvaluators QUERN_LANE_ISA() {
  return {kUnary, sizeof(kUnary) / sizeof(kUnary[0]), kBinary,
          sizeof(kBinary) / sizeof(kBinary[0])};
}

}  // namespace quern
