// Steps of strict math that an instruction set has as one instruction with the same bits. Found by
// overloading on the vector type; a type without an overload takes the portable steps of simd.h.
//   lesser_or_second(a, b)   a < b ? a : b, so b where either is NaN or both are zero
//   greater_or_second(a, b)  a > b ? a : b
//   times_power(p, n)        p * 2^n, rounded once; n is a whole number
//   nearest_whole(x)         the nearest whole number, even where two are; -0 for what rounds to it
//   exact_product_add(a, b, c)  a * b + c for products that are exact, so that one rounding is all
//                            that separate steps would make
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern::simd {

// Keeps the names known where there is no overload.
struct NoSuchLanes {};
static inline void lesser_or_second(NoSuchLanes, NoSuchLanes) {}
static inline void greater_or_second(NoSuchLanes, NoSuchLanes) {}
static inline void times_power(NoSuchLanes, NoSuchLanes) {}
static inline void nearest_whole(NoSuchLanes) {}
static inline void exact_product_add(NoSuchLanes, NoSuchLanes, NoSuchLanes) {}

#if defined(__AVX2__)
// Vector types of equal element and size are one type: these are VectorOf<float, 8> and
// VectorOf<double, 4>, so the overloads are found for them.
typedef float F32x8 __attribute__((vector_size(32)));
typedef double F64x4 __attribute__((vector_size(32)));
static inline __attribute__((always_inline)) F32x8 lesser_or_second(F32x8 a, F32x8 b) {
  return (F32x8)_mm256_min_ps((__m256)a, (__m256)b);
}
static inline __attribute__((always_inline)) F32x8 greater_or_second(F32x8 a, F32x8 b) {
  return (F32x8)_mm256_max_ps((__m256)a, (__m256)b);
}
static inline __attribute__((always_inline)) F64x4 lesser_or_second(F64x4 a, F64x4 b) {
  return (F64x4)_mm256_min_pd((__m256d)a, (__m256d)b);
}
static inline __attribute__((always_inline)) F64x4 greater_or_second(F64x4 a, F64x4 b) {
  return (F64x4)_mm256_max_pd((__m256d)a, (__m256d)b);
}
#if defined(__FMA__)
// Only for products that the caller knows to be exact; elsewhere a fused step would change bits.
static inline __attribute__((always_inline)) F32x8 exact_product_add(F32x8 a, F32x8 b, F32x8 c) {
  return (F32x8)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
static inline __attribute__((always_inline)) F64x4 exact_product_add(F64x4 a, F64x4 b, F64x4 c) {
  return (F64x4)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#endif
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
typedef float F32x16 __attribute__((vector_size(64)));
typedef double F64x8 __attribute__((vector_size(64)));
// The forms with a mask of all lanes, because GCC 12 warns about the undefined operand of the
// plain ones.
static inline __attribute__((always_inline)) F32x16 lesser_or_second(F32x16 a, F32x16 b) {
  return (F32x16)_mm512_maskz_min_ps(0xFFFF, (__m512)a, (__m512)b);
}
static inline __attribute__((always_inline)) F32x16 greater_or_second(F32x16 a, F32x16 b) {
  return (F32x16)_mm512_maskz_max_ps(0xFFFF, (__m512)a, (__m512)b);
}
static inline __attribute__((always_inline)) F64x8 lesser_or_second(F64x8 a, F64x8 b) {
  return (F64x8)_mm512_maskz_min_pd(0xFF, (__m512d)a, (__m512d)b);
}
static inline __attribute__((always_inline)) F64x8 greater_or_second(F64x8 a, F64x8 b) {
  return (F64x8)_mm512_maskz_max_pd(0xFF, (__m512d)a, (__m512d)b);
}
// One instruction in place of two products and the integer steps that make their factors.
static inline __attribute__((always_inline)) F32x16 times_power(F32x16 p, F32x16 n) {
  return (F32x16)_mm512_maskz_scalef_ps(0xFFFF, (__m512)p, (__m512)n);
}
static inline __attribute__((always_inline)) F64x8 times_power(F64x8 p, F64x8 n) {
  return (F64x8)_mm512_maskz_scalef_pd(0xFF, (__m512d)p, (__m512d)n);
}
static inline __attribute__((always_inline)) F32x16 nearest_whole(F32x16 x) {
  return (F32x16)_mm512_maskz_roundscale_ps(0xFFFF, (__m512)x, _MM_FROUND_TO_NEAREST_INT);
}
static inline __attribute__((always_inline)) F64x8 nearest_whole(F64x8 x) {
  return (F64x8)_mm512_maskz_roundscale_pd(0xFF, (__m512d)x, _MM_FROUND_TO_NEAREST_INT);
}
static inline __attribute__((always_inline)) F32x16 exact_product_add(F32x16 a, F32x16 b,
                                                                      F32x16 c) {
  return (F32x16)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
static inline __attribute__((always_inline)) F64x8 exact_product_add(F64x8 a, F64x8 b, F64x8 c) {
  return (F64x8)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#endif

}  // namespace quern::simd
