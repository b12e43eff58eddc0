// Products with weights of 256 elements with integer sub-scales; compiled once per level.
#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/dequantize_panel-inl.h"
#include "backends/cpu/kernels/panel_pair-inl.h"

namespace quern::cpu {
namespace {

constexpr int kFirst = static_cast<int>(SchemeId::kSuperQ4Min);
constexpr int kLast = static_cast<int>(SchemeId::kSuperQ8By32);

}  // namespace

template <>
void add_super_products<kThisIsa>(LinearKernels& kernels) {
  unroll<kLast - kFirst + 1>([&](auto i) {
    constexpr auto kId = static_cast<SchemeId>(kFirst + int(decltype(i){}));
    // Not those of 8 bits: not every level has add_to_both for their sums.
    if constexpr (kPairsPanels && max_code<kId>() < 255) {
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
