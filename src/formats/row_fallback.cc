// The choice for each format, as the usual mixtures make it.
// Blocks of 256 do not divide every row; smaller blocks of similar size take their place.
#include "formats/row_fallback.h"

#include <algorithm>
#include <array>

namespace quern {
namespace {

// A format whose blocks are too long, and what is taken instead.
struct Fallback {
  DType from;
  DType to;
};
// The nearest in size with shorter blocks, as llama.cpp chooses.
// Every `to` has blocks of 32, and as many bits an element as `from` or more.
constexpr std::array kFallbacks = {
    Fallback{DType::kQ2_K, DType::kIQ4_NL},    Fallback{DType::kQ3_K, DType::kIQ4_NL},
    Fallback{DType::kQ4_K, DType::kQ5_0},      Fallback{DType::kQ5_K, DType::kQ5_1},
    Fallback{DType::kQ6_K, DType::kQ8_0},      Fallback{DType::kIQ1_S, DType::kIQ4_NL},
    Fallback{DType::kIQ1_M, DType::kIQ4_NL},   Fallback{DType::kIQ2_XXS, DType::kIQ4_NL},
    Fallback{DType::kIQ2_XS, DType::kIQ4_NL},  Fallback{DType::kIQ2_S, DType::kIQ4_NL},
    Fallback{DType::kIQ3_XXS, DType::kIQ4_NL}, Fallback{DType::kIQ3_S, DType::kIQ4_NL},
    Fallback{DType::kIQ4_XS, DType::kIQ4_NL},  Fallback{DType::kTQ1_0, DType::kQ4_0},
    Fallback{DType::kTQ2_0, DType::kQ4_0},     Fallback{DType::kNVFP4, DType::kQ4_0},
    Fallback{DType::kQ1_0, DType::kQ4_0},      Fallback{DType::kQ2_0, DType::kQ4_0},
};

}  // namespace

// Rows must be whole blocks.
bool rows_fit(DType dtype, int64_t row_length) {
  return row_length % dtype_info(dtype).block_size == 0;
}

// The wanted format, its fallback, or f16 where nothing fits.
DType dtype_for_rows(DType wanted, int64_t row_length) {
  if (rows_fit(wanted, row_length)) return wanted;
  const auto* found = std::ranges::find(kFallbacks, wanted, &Fallback::from);
  if (found != kFallbacks.end() && rows_fit(found->to, row_length)) return found->to;
  return DType::kF16;
}

}  // namespace quern
