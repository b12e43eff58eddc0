// Products of float matrices; compiled once per level.
#include "backends/cpu/kernels/gemm_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/gemm-inl.h"

namespace quern::cpu {
namespace {

// Rounds by integer steps: adding half an ulp less one, and the last bit that stays, carries into
// the upper half exactly where to nearest even rounds up.
void narrow_bf16(const float* x, int64_t n, uint16_t* out) {
  const auto narrow = [](VecF32 v) {
    const VecU32 bits = bits_as<VecU32>(v);
    const VecU32 rounded = bits + (0x7FFFu + ((bits >> 16) & 1u));
    const VecU32 quiet = bits | 0x400000u;
    return bits_as<VecI32>(v == v ? rounded : quiet) >> 16;
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store_i16(reinterpret_cast<int16_t*>(out + i), narrow(load<VecF32>(x + i)));
  }
  if (i == n) return;
  const VecI32 last = narrow(load_partial<VecF32>(x + i, n - i));
  for (int l = 0; i < n; ++i, ++l) out[i] = static_cast<uint16_t>(last[l]);
}

}  // namespace

template <>
GemmKernels gemm_kernels<kThisIsa>() {
  return {.f32 = {.height = kGemmHeight,
                  .width = GemmPanel<VecF32>::kWidth,
                  .separate = gemm_block<float, float, SeparateProducts<VecF32>>,
                  .fused = gemm_block<float, float, FusedProducts<VecF32>>,
                  .pack_tile = pack_tile<float>,
                  .pack_panels = pack_panels<float>},
          .f64 = {.height = kGemmHeight,
                  .width = GemmPanel<VecF64>::kWidth,
                  .separate = gemm_block<double, double, SeparateProducts<VecF64>>,
                  .fused = gemm_block<double, double, FusedProducts<VecF64>>,
                  .pack_tile = pack_tile<double>,
                  .pack_panels = pack_panels<double>},
          .bf16 = {},
          .zip_panels = nullptr,
          .narrow_bf16 = narrow_bf16};
}

}  // namespace quern::cpu
