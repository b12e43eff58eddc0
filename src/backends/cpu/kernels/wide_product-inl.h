// Products with wide activations: see wide_activations.h.
#pragma once

#include "backends/cpu/kernels/block_product-inl.h"
#include "backends/cpu/kernels/wide_activations.h"

namespace quern::cpu {
namespace {

constexpr bool kHasWideActivations = kThisIsa == Isa::kAvx2;

// sum += weights times the pair of activations at a place, added in lanes of 32 bits.
QUERN_INLINE void add_wide_pair(VecI32& sum, VecI16 weights, const int8_t* activations) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  // Written out, because compilers make all products before they add them and spill registers.
  VecI32 products;
  asm("vpbroadcastd %[a], %[p]\n\tvpmaddwd %[p], %[w], %[p]\n\tvpaddd %[p], %[sum], %[sum]"
      : [sum] "+x"(sum), [p] "=&x"(products)
      : [w] "x"(weights), [a] "m"(*reinterpret_cast<const FourBytes*>(activations)));
#else
  sum += multiply_pairs(weights, bits_as<VecI16>(splat_i32(activations)));
#endif
}

// TileProduct with one sum for all planes.
template <SchemeId kId, int kPlanes, int kTokens>
struct WideTileProduct : TileProduct<kId, kPlanes, kTokens> {
  using Base = TileProduct<kId, kPlanes, kTokens>;
  using Base::a;
  using Base::s;
  using Base::total;
  static constexpr int kBytesPerToken = 64;

  // -offset times the sum of the activations: 256 times that of the high plane plus the low one's.
  QUERN_INLINE VecI32 start_of(int t) const {
    if constexpr (!Base::kHasCorrection) return VecI32{};
    const VecI32 first = this->template correction<0>(t, 0);
    if constexpr (kPlanes == 1) return first;
    return (first << 8) + this->template correction<0>(t, kPlanes - 1);
  }

  // Even and odd bytes of a quad as 16-bit integers: signed where the codes have no offset.
  static QUERN_INLINE VecI16 even_bytes(VecU8 weights) {
    if constexpr (!Base::kHasCorrection) return (bits_as<VecI16>(weights) << 8) >> 8;
    return bits_as<VecI16>(weights) & 255;
  }
  static QUERN_INLINE VecI16 odd_bytes(VecU8 weights) {
    if constexpr (!Base::kHasCorrection) return bits_as<VecI16>(weights) >> 8;
    return bits_as<VecI16>(bits_as<VecU16>(weights) >> 8);
  }

  // The term of 32 elements, added to `block`.
  QUERN_INLINE void add_wide_term(const std::byte* record, VecF32 (&block)[kTokens]) {
    VecI32 sums[kTokens];
    unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA { sums[t] = start_of(t); });
    const std::byte* codes = record + Base::kHeaderBytes;
    unroll<8>([&](auto quad) QUERN_INLINE_LAMBDA {
      const VecU8 weights = load_quad<kId, kPlanes, int(decltype(quad){})>(codes);
      const VecI16 even = even_bytes(weights);
      const VecI16 odd = odd_bytes(weights);
      unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
        const int8_t* at = a.q + t * kBytesPerToken + quad * 8;
        add_wide_pair(sums[t], even, at);
        add_wide_pair(sums[t], odd, at + 4);
      });
    });
    const VecF32 scale = load_scales<s.storage>(record);
    unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
      // Below 2^29: exact, and one rounding follows.
      block[t] = block[t] + (scale * splat(a.d[t])) * to_f32(sums[t]);
    });
  }

  QUERN_INLINE void run(const std::byte* panel, int64_t num_blocks) {
    for (int64_t first = 0; first < num_blocks; first += 8) {
      const int64_t count = num_blocks - first < 8 ? num_blocks - first : 8;
      VecF32 block[kTokens] = {};
      for (int64_t i = 0; i < count; ++i) {
        add_wide_term(panel, block);
        prefetch_ahead<kTokens, Base::kRecordBytes>(panel);
        panel += Base::kRecordBytes;
        a.q += a.width * kBytesPerToken;
        if constexpr (Base::kHasCorrection) a.corrections += a.width * kPlanes;
        a.d += a.width;
      }
      unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA { total[t] = total[t] + block[t]; });
    }
  }
};

// y of the tile of kTokens tokens that begins at `token` and the rows of one panel.
template <SchemeId kId, int kPlanes, int kTokens>
void multiply_wide_tokens(const BlockProduct& p, int64_t panel, int64_t token) {
  WideTileProduct<kId, kPlanes, kTokens> product;
  product.a = tile_pointers<kId, kPlanes>(p, kTokens, token, token);
  product.a.q = p.q + token * p.columns * 2;
  unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA { product.total[t] = VecF32{}; });
  product.run(p.panels + panel * p.panel_bytes, p.columns / 32);
  for (int t = 0; t < kTokens; ++t) {
    store_rows(p.out, token + t, panel * kLanes, product.total[t]);
  }
}

// As block_product: tiles of 8, 4, 2 or 1 tokens, each at once.
template <SchemeId kId, int kPlanes>
void wide_block_product(const BlockProduct& p, const ProductRange& range) {
  static_assert(scheme(kId).term == 32 && !scheme(kId).has_min);
  for (int64_t panel = range.panel_begin; panel < range.panel_end; ++panel) {
    for (int64_t tile = range.token_begin; tile < range.token_end;) {
      const int64_t width = tile_width(range.token_end - tile);
      if (width == 8) {
        multiply_wide_tokens<kId, kPlanes, 8>(p, panel, tile);
      } else if (width == 4) {
        multiply_wide_tokens<kId, kPlanes, 4>(p, panel, tile);
      } else if (width == 2) {
        multiply_wide_tokens<kId, kPlanes, 2>(p, panel, tile);
      } else {
        multiply_wide_tokens<kId, kPlanes, 1>(p, panel, tile);
      }
      tile += width;
    }
  }
}

}  // namespace
}  // namespace quern::cpu
