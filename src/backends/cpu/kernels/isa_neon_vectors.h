// What the 128-bit levels of Arm share.
#pragma once

#include <arm_neon.h>

namespace quern::cpu {
namespace {
constexpr int kVectorBytes = 16;
// How far ahead of the weights a product prefetches, in bytes; 0: not at all. Not measured on
// hardware: as on AVX2.
template <int kTokens>
constexpr int kPrefetchDistance = kTokens == 1 ? 2048 : 0;
// Tokens that one pass over a panel of a block-quantised weight multiplies: 1, 2, 4 or 8. There are
// 32 registers: sums of every plane, float sums, and the weights of a quad.
template <bool kIsSuper, int kPlanes>
constexpr int kTokensAtOnce = 8 / kPlanes;
}  // namespace
}  // namespace quern::cpu

#include "backends/cpu/kernels/vector-inl.h"

namespace quern::cpu {
namespace {

QUERN_INLINE VecU32 load_u16(const uint16_t* p) {
  return (VecU32)vmovl_u16(vld1_u16(p));
}
QUERN_INLINE VecF32 widen_f16(const uint16_t* p) {
  return (VecF32)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

// Conversions between kLanes integers of 8 or 16 bits in memory and lanes of 32 bits. Stores need
// values in range.
QUERN_INLINE VecI32 load_i16(const int16_t* p) {
  return (VecI32)vmovl_s16(vld1_s16(p));
}
QUERN_INLINE VecI32 load_i8(const int8_t* p) {
  const int8x8_t bytes = vreinterpret_s8_s32(vget_low_s32((int32x4_t)splat_i32(p)));
  return (VecI32)vmovl_s16(vget_low_s16(vmovl_s8(bytes)));
}
QUERN_INLINE void store_i16(int16_t* p, VecI32 v) {
  vst1_s16(p, vmovn_s32((int32x4_t)v));
}
QUERN_INLINE void store_i8(int8_t* p, VecI32 v) {
  const int16x4_t words = vmovn_s32((int32x4_t)v);
  const int32_t bytes =
      vget_lane_s32(vreinterpret_s32_s8(vmovn_s16(vcombine_s16(words, words))), 0);
  __builtin_memcpy(p, &bytes, sizeof(bytes));
}
// 2 kLanes unsigned bytes to 16 bits.
QUERN_INLINE VecI16 widen_u8(const uint8_t* p) {
  return (VecI16)vmovl_u8(vld1_u8(p));
}

// a > b ? a : b. Not vmaxq_f32, which gives NaN where either is.
QUERN_INLINE VecF32 larger(VecF32 a, VecF32 b) {
  return (VecF32)vbslq_f32(vcgtq_f32((float32x4_t)a, (float32x4_t)b), (float32x4_t)a,
                           (float32x4_t)b);
}
// Whether a bit of v is set.
QUERN_INLINE bool any_lane(VecI32 v) {
  return vmaxvq_u32((uint32x4_t)v) != 0;
}

// Products of 16-bit pairs, added: one 32-bit lane for each pair.
QUERN_INLINE VecI32 multiply_pairs(VecI16 a, VecI16 b) {
  const int32x4_t low = vmull_s16(vget_low_s16((int16x8_t)a), vget_low_s16((int16x8_t)b));
  return (VecI32)vpaddq_s32(low, vmull_high_s16((int16x8_t)a, (int16x8_t)b));
}

// a * b + c with one rounding.
QUERN_INLINE VecF32 multiply_add(VecF32 a, VecF32 b, VecF32 c) {
  return (VecF32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
QUERN_INLINE VecF64 multiply_add(VecF64 a, VecF64 b, VecF64 c) {
  return (VecF64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}

// Stores past the caches: none here.
constexpr bool kHasStreaming = false;
QUERN_INLINE void stream_line(const void*, void*) {}
QUERN_INLINE void end_of_stream() {}

// Table entry for each code below 16.
QUERN_INLINE VecI8 look_up(const int8_t* table, VecU8 codes) {
  return (VecI8)vqtbl1q_s8(vld1q_s8(table), (uint8x16_t)codes);
}

}  // namespace
}  // namespace quern::cpu
