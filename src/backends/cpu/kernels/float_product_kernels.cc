// Products with float weights; compiled once per level.
#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/float_product-inl.h"

namespace quern::cpu {

template <>
void add_float_products<kThisIsa>(LinearKernels& kernels) {
  kernels.float_tile = kFullTile;
  kernels.float_panel_rows = kPanelVectors * kLanes;
  kernels.double_panel_rows = kPanelVectors * kLanes64;
  kernels.f32_product = float_product<WeightsF32>;
  kernels.f16_product = float_product<WeightsF16>;
  kernels.bf16_product = float_product<WeightsBF16>;
  kernels.f64_product = float_product<WeightsF64>;
  kernels.widen_f32 = widen<WeightsF32>;
  kernels.widen_f16 = widen<WeightsF16>;
  kernels.widen_bf16 = widen<WeightsBF16>;
  if (kLanes >= 16) kernels.token_block_bytes = int64_t{512} << 10;
}

}  // namespace quern::cpu
