// Products with weights that have one scale for each term of 16 or 32; compiled once per level.
#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/dequantize_panel-inl.h"
#include "backends/cpu/kernels/panel_pair-inl.h"

namespace quern::cpu {
namespace {

constexpr int kFirst = static_cast<int>(SchemeId::kQ8);
constexpr int kLast = static_cast<int>(SchemeId::kFp4By16);

}  // namespace

template <>
void add_term_products<kThisIsa>(LinearKernels& kernels) {
  kernels.num_lanes = kLanes;
  kernels.panels_at_once = kPairsPanels ? 2 : 1;
  kernels.has_wide_activations = kHasWideActivations;
  kernels.full_offset[0] = kFullOffset<1>;
  kernels.full_offset[1] = kFullOffset<2>;
  unroll<kLast - kFirst + 1>([&](auto i) {
    constexpr auto kId = static_cast<SchemeId>(kFirst + int(decltype(i){}));
    if constexpr (kPairsPanels) {
      kernels.block_products[0][kFirst + i] = paired_block_product<kId, 1>;
      kernels.block_products[1][kFirst + i] = paired_block_product<kId, 2>;
    } else {
      kernels.block_products[0][kFirst + i] = block_product<kId, 1>;
      kernels.block_products[1][kFirst + i] = block_product<kId, 2>;
    }
    kernels.dequantize_panel[kFirst + i] = dequantize_panel<kId>;
  });
}

}  // namespace quern::cpu
