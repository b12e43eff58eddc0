// Products of packed block-quantised weights with packed activations: one panel times one tile.
// Lanes are weight rows; activations are broadcast four at a time, so nothing is summed across
// lanes. The strict order: terms fold inside 256 elements of K, then the folds fold.
#pragma once

#include "backends/cpu/kernels/column_sums-inl.h"
#include "backends/cpu/kernels/linear_kernels.h"
#include "backends/cpu/kernels/store_rows-inl.h"
#include "backends/cpu/kernels/weight_codes-inl.h"

namespace quern::cpu {
namespace {

// Activations of a tile of `width` tokens, see activation_layout.h; pointers walk along K.
struct TilePointers {
  int64_t width;
  const int8_t* q;
  const float* d;
  const float* sums;
  const int32_t* corrections;
  const int16_t* pairs;
};

// The cache lines of kBytes bytes.
template <int64_t kBytes>
QUERN_INLINE void prefetch(const std::byte* p) {
  unroll<(kBytes + 63) / 64>([&](auto line)
                                 QUERN_INLINE_LAMBDA { __builtin_prefetch(p + line * 64); });
}

// The bytes that lie kPrefetchDistance ahead.
template <int kTokens, int64_t kBytes>
QUERN_INLINE void prefetch_ahead(const std::byte* p) {
  constexpr int kDistance = kPrefetchDistance<kTokens>;
  if constexpr (kDistance > 0) prefetch<kBytes>(p + kDistance);
}

// kTokens of the tile's tokens.
template <SchemeId kId, int kPlanes, int kTokens>
struct TileProduct {
  static constexpr WeightScheme s = scheme(kId);
  static constexpr int64_t kCodeBytes = s.code_bytes(kLanes);
  static constexpr int64_t kHeaderBytes = s.header_bytes(kLanes);
  static constexpr int64_t kRecordBytes = s.record_bytes(kLanes);
  static constexpr int64_t kScaleBytes = s.scale_bytes() * kLanes;  // of all lanes
  static constexpr bool kHasCorrection = level_offset<kId, kPlanes>() != 0;
  // Elements that one exact integer sum covers: a term or a sub-block.
  static constexpr int kRun = s.is_super() ? s.sub_block : s.term;
  static constexpr int kRuns = 32 / kRun;
  static constexpr int kQuads = kRun / 4;
  using Sums = ColumnSums<kThisIsa, max_code<kId>(), kPlanes, kTokens * kPlanes, kQuads>;

  TilePointers a;
  VecF32 total[kTokens];

  // Sums of run kHalf of 32 elements: f(token, sum of its first plane, of its last plane).
  template <int kHalf, class F>
  QUERN_INLINE void sum_run(const std::byte* codes, F f) {
    Sums sums;
    unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
      unroll<kPlanes>([&](auto p) QUERN_INLINE_LAMBDA {
        sums.start(t * kPlanes + p, correction<kHalf>(t, p));
      });
    });
    unroll<kQuads>([&](auto quad) QUERN_INLINE_LAMBDA {
      constexpr int kQuad = kHalf * kQuads + int(decltype(quad){});
      sums.add(quad, load_quad<kId, kPlanes, kQuad>(codes), a.q + kQuad * 4);
    });
    unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
      f(t, sums.total(t * kPlanes), sums.total(t * kPlanes + kPlanes - 1));
    });
  }

  template <int kHalf>
  QUERN_INLINE VecI32 correction(int token, int plane) const {
    if constexpr (!kHasCorrection) return VecI32{};
    return splat(a.corrections[(kHalf * a.width + token) * kPlanes + plane]);
  }

  // One term of each run of 32 elements, added to `block`.
  QUERN_INLINE void add_terms(const std::byte* record, VecF32 (&block)[kTokens]) {
    unroll<kRuns>([&](auto half) QUERN_INLINE_LAMBDA {
      const std::byte* scales = record + half * kScaleBytes;
      const VecF32 scale = load_scales<s.storage>(scales);
      sum_run<int(decltype(half){})>(
          record + kHeaderBytes, [&](int t, VecI32 integer, VecI32 low) QUERN_INLINE_LAMBDA {
            // Both planes stay below 2^28: their sum is exact, and one rounding follows.
            if constexpr (kPlanes == 2) integer = (integer << 8) + low;
            VecF32 term = (scale * splat(a.d[t])) * to_f32(integer);
            if constexpr (s.has_min) {
              const VecF32 minimum = load_scales<s.storage>(record + kScaleBytes);
              term = term + minimum * splat(a.sums[t]);
            }
            block[t] = block[t] + term;
          });
    });
  }

  QUERN_INLINE void next_32() {
    a.q += a.width * kPlanes * 32;
    if constexpr (kHasCorrection) a.corrections += kRuns * a.width * kPlanes;
  }

  // A term scheme along K.
  QUERN_INLINE void run_terms(const std::byte* panel, int64_t num_blocks) {
    for (int64_t first = 0; first < num_blocks; first += 8) {
      const int64_t count = num_blocks - first < 8 ? num_blocks - first : 8;
      VecF32 block[kTokens] = {};
      for (int64_t i = 0; i < count; ++i) {
        add_terms(panel, block);
        prefetch_ahead<kTokens, kRecordBytes>(panel);
        panel += kRecordBytes;
        next_32();
        a.d += a.width;
        if constexpr (s.has_min) a.sums += a.width;
      }
      unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA { total[t] = total[t] + block[t]; });
    }
  }

  // Sum over 256 elements of integer sub-scale times integer sum, for each token and plane.
  QUERN_INLINE void sum_sub_blocks(const std::byte* record, VecI32 (&sums)[kTokens][kPlanes]) {
    const std::byte* sub_scales = record + (s.has_min ? 2 : 1) * kScaleBytes;
    const std::byte* codes = record + kHeaderBytes;
    for (int i = 0; i < 8; ++i) {
      unroll<kRuns>([&](auto half) QUERN_INLINE_LAMBDA {
        const VecI32 sub = load_sub_scales(sub_scales + half * kLanes);
        sum_run<int(decltype(half){})>(codes,
                                       [&](int t, VecI32 first, VecI32 last) QUERN_INLINE_LAMBDA {
                                         sums[t][0] += sub * first;
                                         if constexpr (kPlanes == 2)
                                           sums[t][kPlanes - 1] += sub * last;
                                       });
      });
      sub_scales += kRuns * kLanes;
      prefetch_ahead<kTokens, kCodeBytes>(codes);
      codes += kCodeBytes;
      next_32();
    }
  }

  // f32(m): the minima of the sub-blocks times the sums of their activations.
  QUERN_INLINE VecF32 minimum_product(const std::byte* record, int t) const {
    constexpr int kPairs = 256 / s.sub_block / 2;
    const std::byte* minima = record + 2 * kScaleBytes + kLanes * (256 / s.sub_block);
    VecI32 sums[kPlanes] = {};
    unroll<kPairs>([&](auto pair) QUERN_INLINE_LAMBDA {
      const VecI16 minimum = load_minimum_pairs(minima + pair * 2 * kLanes);
      unroll<kPlanes>([&](auto p) QUERN_INLINE_LAMBDA {
        const int16_t* at = a.pairs + ((pair * a.width + t) * kPlanes + p) * 2;
        sums[p] += multiply_pairs(minimum, bits_as<VecI16>(splat_i32(at)));
      });
    });
    if constexpr (kPlanes == 1) return to_f32(sums[0]);
    return to_f32((sums[0] << 8) + sums[kPlanes - 1]);
  }

  // A super scheme along K: one term for each 256 elements.
  QUERN_INLINE void run_super(const std::byte* panel, int64_t num_blocks) {
    for (int64_t first = 0; first < num_blocks; first += 8) {
      VecI32 sums[kTokens][kPlanes] = {};
      // Minima are read after the codes; lines read backwards stop the hardware's prefetching
      // (q2_K from memory on Zen 4: 3.4 times slower).
      if constexpr (kTokens == 1 && s.sub_block == 16) prefetch<kHeaderBytes>(panel);
      prefetch_ahead<kTokens, kHeaderBytes>(panel);
      sum_sub_blocks(panel, sums);
      const VecF32 scale = load_scales<s.storage>(panel);
      unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
        VecF32 integer = to_f32(sums[t][0]);
        if constexpr (kPlanes == 2) integer = 256.0f * integer + to_f32(sums[t][kPlanes - 1]);
        VecF32 term = (scale * splat(a.d[t])) * integer;
        if constexpr (s.has_min) {
          const VecF32 minimum = load_scales<s.storage>(panel + kScaleBytes);
          term = term - (minimum * splat(a.d[t])) * minimum_product(panel, t);
        }
        total[t] = total[t] + term;
      });
      panel += kRecordBytes;
      a.d += a.width;
      if constexpr (s.has_min) a.pairs += 256 / s.sub_block * a.width * kPlanes;
    }
  }
};

// Pointers to `token` and those behind it in the tile that begins at token `tile`.
template <SchemeId kId, int kPlanes>
QUERN_INLINE TilePointers tile_pointers(const BlockProduct& p, int64_t width, int64_t tile,
                                        int64_t token) {
  constexpr WeightScheme s = scheme(kId);
  constexpr int kRun = s.is_super() ? s.sub_block : s.term;
  const int64_t in_tile = token - tile;
  TilePointers a = {};
  a.width = width;
  a.q = p.q + (tile * p.columns + in_tile * 32) * kPlanes;
  a.d = p.d + tile * (p.columns / s.record_size()) + in_tile;
  if constexpr (level_offset<kId, kPlanes>() != 0) {
    a.corrections = p.corrections + (tile * (p.columns / kRun) + in_tile) * kPlanes;
  }
  if constexpr (s.has_min && !s.is_super()) a.sums = p.sums + tile * (p.columns / 32) + in_tile;
  if constexpr (s.has_min && s.is_super()) {
    a.pairs = p.pairs + (tile * (p.columns / s.sub_block) + in_tile * 2) * kPlanes;
  }
  return a;
}

// y of kTokens tokens from `token` and the rows of one panel.
template <SchemeId kId, int kPlanes, int kTokens>
void multiply_tokens(const BlockProduct& p, int64_t panel, int64_t width, int64_t tile,
                     int64_t token) {
  TileProduct<kId, kPlanes, kTokens> product;
  product.a = tile_pointers<kId, kPlanes>(p, width, tile, token);
  unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA { product.total[t] = VecF32{}; });
  const std::byte* weights = p.panels + panel * p.panel_bytes;
  if constexpr (scheme(kId).is_super()) {
    product.run_super(weights, p.columns / 32);
  } else {
    product.run_terms(weights, p.columns / 32);
  }
  for (int t = 0; t < kTokens; ++t) {
    store_rows(p.out, token + t, panel * kLanes, product.total[t]);
  }
}

// The tile of `width` tokens (8, 4, 2 or 1) that begins at token `tile`.
template <SchemeId kId, int kPlanes>
void multiply_tile(const BlockProduct& p, int64_t panel, int64_t width, int64_t tile) {
  constexpr int kMost = kTokensAtOnce<scheme(kId).is_super(), kPlanes>;
  for (int64_t token = tile; token < tile + width;) {
    const int64_t rest = tile + width - token;
    if (kMost >= 8 && rest >= 8) {
      multiply_tokens<kId, kPlanes, (kMost >= 8 ? 8 : 1)>(p, panel, width, tile, token);
      token += 8;
    } else if (kMost >= 4 && rest >= 4) {
      multiply_tokens<kId, kPlanes, (kMost >= 4 ? 4 : 1)>(p, panel, width, tile, token);
      token += 4;
    } else if (kMost >= 2 && rest >= 2) {
      multiply_tokens<kId, kPlanes, (kMost >= 2 ? 2 : 1)>(p, panel, width, tile, token);
      token += 2;
    } else {
      multiply_tokens<kId, kPlanes, 1>(p, panel, width, tile, token);
      token += 1;
    }
  }
}

// The kernel of one scheme. The panel is the outer loop: its weights stay in the first-level cache
// while the tiles pass.
template <SchemeId kId, int kPlanes>
void block_product(const BlockProduct& p, const ProductRange& range) {
  for (int64_t panel = range.panel_begin; panel < range.panel_end; ++panel) {
    for (int64_t tile = range.token_begin; tile < range.token_end;) {
      const int64_t width = tile_width(range.token_end - tile);
      multiply_tile<kId, kPlanes>(p, panel, width, tile);
      tile += width;
    }
  }
}

}  // namespace
}  // namespace quern::cpu
