// Panels of block-quantised weights as f32, for products with float activations.
#pragma once

#include "backends/cpu/kernels/linear_kernels.h"
#include "backends/cpu/kernels/weight_codes-inl.h"

namespace quern::cpu {
namespace {

// w = scale * q, then + minimum or - minimum; `scale` is D * sub and `minimum` M or Dmin * m.
template <SchemeId kId>
QUERN_INLINE VecF32 dequantize(VecI32 integer, VecF32 scale, VecF32 minimum) {
  constexpr WeightScheme s = scheme(kId);
  const VecF32 product = scale * to_f32(integer);
  if constexpr (!s.has_min) return product;
  return s.is_super() ? product - minimum : product + minimum;
}

// Run kHalf of the 32 elements whose codes begin at `codes`.
template <SchemeId kId, int kRun, int kHalf>
QUERN_INLINE void dequantize_run(const std::byte* codes, VecF32 scale, VecF32 minimum, float* out,
                                 int64_t stride) {
  constexpr int kOffset = level_offset<kId, 1>();
  unroll<kRun / 4>([&](auto quad) QUERN_INLINE_LAMBDA {
    constexpr int kQuad = kHalf * (kRun / 4) + int(decltype(quad){});
    const VecI32 bytes = bits_as<VecI32>(load_quad<kId, 1, kQuad>(codes));
    unroll<4>([&](auto i) QUERN_INLINE_LAMBDA {
      // Offset 0 leaves 8-bit codes signed; others are unsigned.
      const VecI32 top = bytes << (24 - 8 * i);
      const VecI32 code = kOffset == 0 && max_code<kId>() == 255
                              ? top >> 24
                              : bits_as<VecI32>(bits_as<VecU32>(top) >> 24);
      store(out + (kQuad * 4 + i) * stride, dequantize<kId>(code - kOffset, scale, minimum));
    });
  });
}

template <SchemeId kId>
QUERN_INLINE void dequantize_record(const std::byte* record, float* out, int64_t stride) {
  constexpr WeightScheme s = scheme(kId);
  constexpr int64_t kScaleBytes = s.scale_bytes() * kLanes;
  constexpr int64_t kCodeBytes = s.code_bytes(kLanes);
  constexpr int kRun = s.is_super() ? s.sub_block : s.term;
  constexpr int kRuns = 32 / kRun;
  const std::byte* codes = record + s.header_bytes(kLanes);
  if constexpr (s.is_super()) {
    const std::byte* sub_scales = record + (s.has_min ? 2 : 1) * kScaleBytes;
    const std::byte* minima = sub_scales + kLanes * (256 / kRun);
    const VecF32 scale = load_scales<s.storage>(record);
    for (int i = 0; i < 8; ++i) {
      unroll<kRuns>([&](auto half) QUERN_INLINE_LAMBDA {
        const int j = i * kRuns + half;
        const VecF32 sub = to_f32(load_sub_scales(sub_scales + j * kLanes));
        VecF32 minimum{};
        if constexpr (s.has_min) {
          const VecI32 pair = bits_as<VecI32>(load_minimum_pairs(minima + j / 2 * 2 * kLanes));
          minimum = load_scales<s.storage>(record + kScaleBytes) *
                    to_f32(j % 2 == 0 ? pair & 0xFFFF : pair >> 16);
        }
        dequantize_run<kId, kRun, int(decltype(half){})>(codes, scale * sub, minimum, out, stride);
      });
      codes += kCodeBytes;
      out += 32 * stride;
    }
  } else {
    unroll<kRuns>([&](auto half) QUERN_INLINE_LAMBDA {
      const VecF32 scale = load_scales<s.storage>(record + half * kScaleBytes);
      VecF32 minimum{};
      if constexpr (s.has_min) minimum = load_scales<s.storage>(record + kRuns * kScaleBytes);
      dequantize_run<kId, kRun, int(decltype(half){})>(codes, scale, minimum, out, stride);
    });
  }
}

template <SchemeId kId>
void dequantize_panel(const std::byte* panel, int64_t columns, float* out, int64_t stride) {
  constexpr int64_t kRecordBytes = scheme(kId).record_bytes(kLanes);
  constexpr int kRecordSize = scheme(kId).record_size();
  for (int64_t k = 0; k < columns; k += kRecordSize) {
    dequantize_record<kId>(panel, out + k * stride, stride);
    panel += kRecordBytes;
  }
}

}  // namespace
}  // namespace quern::cpu
