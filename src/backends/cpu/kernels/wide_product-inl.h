// Products with wide activations: see wide_activations.h.
#pragma once

#include "backends/cpu/kernels/block_product-inl.h"
#include "backends/cpu/kernels/wide_activations.h"

namespace quern::cpu {
namespace {

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

// TileProduct with one sum for both planes.
template <SchemeId kId, int kTokens>
struct WideTileProduct : TileProduct<kId, 2, kTokens> {
  using Base = TileProduct<kId, 2, kTokens>;
  using Base::a;
  using Base::s;
  using Base::total;
  static constexpr int kBytesPerToken = 64;

  // 256 corr_hi + corr_lo: -offset times the sum of the activations.
  QUERN_INLINE VecI32 start_of(int t) const {
    return (this->template correction<0>(t, 0) << 8) + this->template correction<0>(t, 1);
  }

  // The term of 32 elements, added to `block`.
  QUERN_INLINE void add_wide_term(const std::byte* record, VecF32 (&block)[kTokens]) {
    VecI32 sums[kTokens];
    unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA { sums[t] = start_of(t); });
    const std::byte* codes = record + Base::kHeaderBytes;
    unroll<8>([&](auto quad) QUERN_INLINE_LAMBDA {
      const VecU16 weights = bits_as<VecU16>(load_quad<kId, 2, int(decltype(quad){})>(codes));
      const VecI16 even = bits_as<VecI16>(weights & 255);
      const VecI16 odd = bits_as<VecI16>(weights >> 8);
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
        this->next_32();
        a.d += a.width;
      }
      unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA { total[t] = total[t] + block[t]; });
    }
  }
};

// y of kTokens tokens from `token` and the rows of one panel.
template <SchemeId kId, int kTokens>
void multiply_wide_tokens(const BlockProduct& p, int64_t panel, int64_t width, int64_t tile,
                          int64_t token) {
  WideTileProduct<kId, kTokens> product;
  product.a = tile_pointers<kId, 2>(p, width, tile, token);
  unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA { product.total[t] = VecF32{}; });
  product.run(p.panels + panel * p.panel_bytes, p.columns / 32);
  for (int t = 0; t < kTokens; ++t) {
    store_rows(p.out, token + t, panel * kLanes, product.total[t]);
  }
}

// As block_product: tiles of 8, 4, 2 or 1 tokens, each at once.
template <SchemeId kId>
void wide_block_product(const BlockProduct& p, const ProductRange& range) {
  static_assert(scheme(kId).term == 32 && !scheme(kId).has_min);
  for (int64_t panel = range.panel_begin; panel < range.panel_end; ++panel) {
    for (int64_t tile = range.token_begin; tile < range.token_end;) {
      const int64_t width = tile_width(range.token_end - tile);
      if (width == 8) {
        multiply_wide_tokens<kId, 8>(p, panel, width, tile, tile);
      } else if (width == 4) {
        multiply_wide_tokens<kId, 4>(p, panel, width, tile, tile);
      } else if (width == 2) {
        multiply_wide_tokens<kId, 2>(p, panel, width, tile, tile);
      } else {
        multiply_wide_tokens<kId, 1>(p, panel, width, tile, tile);
      }
      tile += width;
    }
  }
}

}  // namespace
}  // namespace quern::cpu
