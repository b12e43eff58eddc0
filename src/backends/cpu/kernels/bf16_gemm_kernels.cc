// Products of bf16 matrices by dot products of pairs, for levels that have them.
#include "backends/cpu/kernels/gemm_kernels.h"

#include QUERN_ISA_HEADER

#include "backends/cpu/kernels/gemm-inl.h"

namespace quern::cpu {
namespace {

struct PairProducts {
  using Vec = VecF32;
  static QUERN_INLINE VecF32 add(VecF32 sum, VecF32 b, const uint32_t& a) {
    return add_bf16_pairs(sum, &a, bits_as<VecU32>(b));
  }
};

void pack_pairs(const uint32_t* x, int64_t stride, int64_t rows, int64_t height, int64_t k,
                uint32_t* out) {
  pack_tile(reinterpret_cast<const float*>(x), stride, rows, height, k,
            reinterpret_cast<float*>(out));
}

// Rows 2 i and 2 i + 1 of b become row i of each panel.
void zip_panels(const uint16_t* x, int64_t stride, int64_t n, int64_t width, int64_t k,
                uint32_t* out) {
  constexpr int64_t kAhead = 8;
  for (int64_t i = 0; i < k; ++i) {
    const uint16_t* even = x + 2 * i * stride;
    const uint16_t* odd = even + stride;
    const int64_t ahead = i + kAhead < k ? 2 * kAhead * stride : 0;
    uint32_t* to = out + i * width;
    for (int64_t column = 0; column < n; column += width, to += k * width) {
      __builtin_prefetch(even + column + ahead);
      __builtin_prefetch(odd + column + ahead);
      int64_t w = 0;
      for (; w + kLanes <= width && column + w + kLanes <= n; w += kLanes) {
        store(to + w, load_u16(even + column + w) | (load_u16(odd + column + w) << 16));
      }
      for (; w < width; ++w) {
        const int64_t c = column + w;
        to[w] = c < n ? even[c] | (static_cast<uint32_t>(odd[c]) << 16) : 0;
      }
    }
  }
}

}  // namespace

template <>
void add_bf16_products<kThisIsa>(GemmKernels& kernels) {
  kernels.bf16 = {.height = kGemmHeight,
                  .width = GemmPanel<VecF32>::kWidth,
                  .separate = nullptr,
                  .fused = gemm_block<uint32_t, float, PairProducts>,
                  .pack_tile = pack_pairs,
                  .pack_panels = nullptr};
  kernels.zip_panels = zip_panels;
}

}  // namespace quern::cpu
