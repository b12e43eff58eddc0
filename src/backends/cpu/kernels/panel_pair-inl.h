// Products of two panels at once, for many tokens and levels with 16 registers of 256 bits.
//
// A broadcast of activations serves both panels. Codes and scales are unpacked once for all tokens
// of a chunk, into memory that stays in the first-level cache:
//
//   for each stretch of K:      unpack it, of both panels,
//     for each group of tokens: go on with their sums, which wait in `totals` between stretches
//
// Terms, folds and their order are those of block_product-inl.h. The level defines add_to_both for
// its QuadSum, and add_pairs_to_both.
#pragma once

#include <concepts>
#include <type_traits>

#include "backends/cpu/kernels/super_pair-inl.h"
#include "backends/cpu/kernels/wide_product-inl.h"

namespace quern::cpu {
namespace {

constexpr bool kPairsPanels = kVectorBytes == 32;
// Tokens whose sums wait; a range of more goes in parts.
constexpr int64_t kPairTokens = 128;
// Fewer do not pay for the unpacking (Zen 3, 128 x 1,024, against one panel at a time: 16 tokens of
// q4_0 and q8_0 98 and 97 %, 24 103 and 100 %, 64 110 and 106 %).
constexpr int64_t kTokensWorthPairs = 24;

template <SchemeId kId>
constexpr bool kIsWide = uses_wide_activations(scheme(kId), kHasWideActivations);

// What QuadSum is to bytes, for weights and activations of 16 bits.
struct WidePairSum {
  VecI32 sum;

  QUERN_INLINE void start(VecI32 value) { sum = value; }
  QUERN_INLINE VecI32 total() const { return sum; }
};
template <std::same_as<WidePairSum> Sum>
QUERN_INLINE void add_to_both(Sum& x, Sum& y, int /*pair*/, VecU8 x_weights, VecU8 y_weights,
                              const int8_t* activations) {
  add_pairs_to_both(x.sum, y.sum, x_weights, y_weights, activations);
}

// A stretch of two panels: operands of multiplications, [K / 4][panel] quads of bytes or, for wide
// activations, [K / 2][panel] pairs of 16-bit integers; scales and minima [K / term][panel].
template <SchemeId kId, int kPlanes>
struct UnpackedPair {
  static constexpr WeightScheme s = scheme(kId);
  static constexpr int kOperands = kIsWide<kId> ? 16 : 8;  // of 32 elements
  static constexpr int64_t kBlocks = 256 / kOperands;      // 16 KB of operands
  static constexpr int kRuns = 32 / s.term;
  static_assert(kBlocks % 8 == 0, "a stretch ends where a fold does");

  VecU8 operands[kBlocks * kOperands][2];
  VecF32 scales[kBlocks * kRuns][2];
  VecF32 minima[s.has_min ? kBlocks : 1][2];

  // The 32 elements of a record of panel p.
  QUERN_INLINE void unpack_record(const std::byte* record, int64_t block, int p) {
    using Tile = WideTileProduct<kId, kPlanes, 1>;
    unroll<8>([&](auto quad) QUERN_INLINE_LAMBDA {
      const VecU8 weights =
          load_quad<kId, kPlanes, int(decltype(quad){})>(record + Tile::kHeaderBytes);
      if constexpr (kIsWide<kId>) {
        operands[block * kOperands + 2 * quad][p] = bits_as<VecU8>(Tile::even_bytes(weights));
        operands[block * kOperands + 2 * quad + 1][p] = bits_as<VecU8>(Tile::odd_bytes(weights));
      } else {
        operands[block * kOperands + quad][p] = weights;
      }
    });
    unroll<kRuns>([&](auto run) QUERN_INLINE_LAMBDA {
      scales[block * kRuns + run][p] = load_scales<s.storage>(record + run * Tile::kScaleBytes);
    });
    if constexpr (s.has_min) minima[block][p] = load_scales<s.storage>(record + Tile::kScaleBytes);
  }
};

// kTokens tokens of a tile.
template <SchemeId kId, int kPlanes, int kTokens>
struct PairProduct {
  using Base = TileProduct<kId, kPlanes, kTokens>;
  using Unpacked = UnpackedPair<kId, kPlanes>;
  static constexpr WeightScheme s = scheme(kId);
  static constexpr int kRuns = 32 / s.term;
  static constexpr int kOperands = Unpacked::kOperands / kRuns;  // of a run
  // Sums of a token: wide activations hold both planes.
  static constexpr int kSums = kIsWide<kId> ? 1 : kPlanes;
  static constexpr int kColumnBytes = kIsWide<kId> ? 64 : 32;
  static constexpr bool kHasCorrection = Base::kHasCorrection;

  TilePointers a;

  // Pointers to `token` of the tile of 8 that begins at `tile`, and to block `first` of K.
  QUERN_INLINE void start(const BlockProduct& p, int64_t tile, int64_t token, int64_t first) {
    a = tile_pointers<kId, kPlanes>(p, kTokenTile, tile, token);
    if constexpr (kIsWide<kId>) a.q = p.q + tile * p.columns * 2 + (token - tile) * kColumnBytes;
    next(first);
  }
  QUERN_INLINE void next(int64_t blocks) {
    a.q += blocks * a.width * kSums * kColumnBytes;
    a.d += blocks * a.width;
    if constexpr (kHasCorrection) a.corrections += blocks * kRuns * a.width * kPlanes;
    if constexpr (s.has_min) a.sums += blocks * a.width;
  }

  // -offset times the sum of the activations of a run: both planes of them.
  QUERN_INLINE VecI32 correction(int run, int token) const {
    const int32_t* at = a.corrections + (run * a.width + token) * kPlanes;
    if constexpr (kPlanes == 1) return splat(at[0]);
    return splat(at[0] * 256 + at[kPlanes - 1]);
  }

  // Exact sums of run kRun of a block: f(panel, token, sum).
  template <int kRun, class F>
  QUERN_INLINE void sum_run(const Unpacked& w, int64_t block, F f) const {
    using Sum = std::conditional_t<kIsWide<kId>, WidePairSum,
                                   QuadSum<max_code<kId>(), kPlanes, s.term / 4>>;
    Sum sums[2][kTokens * kSums];
    unroll<kTokens * kSums>([&](auto c) QUERN_INLINE_LAMBDA {
      sums[0][c].start(VecI32{});
      sums[1][c].start(VecI32{});
    });
    unroll<kOperands>([&](auto i) QUERN_INLINE_LAMBDA {
      constexpr int kAt = kRun * kOperands + int(decltype(i){});
      const VecU8 first = w.operands[block * Unpacked::kOperands + kAt][0];
      const VecU8 second = w.operands[block * Unpacked::kOperands + kAt][1];
      unroll<kTokens * kSums>([&](auto c) QUERN_INLINE_LAMBDA {
        add_to_both(sums[0][c], sums[1][c], i, first, second, a.q + c * kColumnBytes + kAt * 4);
      });
    });
    unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
      unroll<2>([&](auto p) QUERN_INLINE_LAMBDA {
        VecI32 sum = sums[p][t * kSums].total();
        // Both planes stay below 2^28: their sum is exact, and one rounding follows.
        if constexpr (kSums == 2) sum = (sum << 8) + sums[p][t * kSums + kSums - 1].total();
        f(p, t, sum);
      });
    });
  }

  // The terms of 32 elements, added to `fold`.
  QUERN_INLINE void add_terms(const Unpacked& w, int64_t block, VecF32 (&fold)[2][kTokens]) const {
    unroll<kRuns>([&](auto run) QUERN_INLINE_LAMBDA {
      constexpr int kRun = int(decltype(run){});
      sum_run<kRun>(w, block, [&](int p, int t, VecI32 sum) QUERN_INLINE_LAMBDA {
        if constexpr (kHasCorrection) sum = sum + correction(kRun, t);
        VecF32 term = (w.scales[block * kRuns + kRun][p] * splat(a.d[t])) * to_f32(sum);
        if constexpr (s.has_min) term = term + w.minima[block][p] * splat(a.sums[t]);
        fold[p][t] = fold[p][t] + term;
      });
    });
  }

  // A stretch.
  QUERN_INLINE void run(const Unpacked& w, int64_t num_blocks, VecF32 (&totals)[2][kTokens]) {
    for (int64_t first = 0; first < num_blocks; first += 8) {
      const int64_t end = num_blocks - first < 8 ? num_blocks : first + 8;
      VecF32 fold[2][kTokens] = {};
      for (int64_t block = first; block < end; ++block) {
        add_terms(w, block, fold);
        next(1);
      }
      unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
        totals[0][t] = totals[0][t] + fold[0][t];
        totals[1][t] = totals[1][t] + fold[1][t];
      });
    }
  }
};

// What multiply_pair() makes of a scheme.
template <SchemeId kId, int kPlanes>
struct PairOf {
  using Unpacked = UnpackedPair<kId, kPlanes>;
  static constexpr int kTokens = kIsWide<kId> || kPlanes == 1 ? 4 : 2;
  using Product = PairProduct<kId, kPlanes, kTokens>;
};
template <SchemeId kId, int kPlanes>
requires(scheme(kId).is_super()) struct PairOf<kId, kPlanes> {
  using Unpacked = UnpackedSuperPair<kId, kPlanes>;
  static constexpr int kTokens = kPlanes == 1 ? 4 : 2;
  using Product = SuperPairProduct<kId, kPlanes, kTokens>;
};

// Panels `panel` and panel + 1 times at most kPairTokens tokens, whole tiles of 8.
template <SchemeId kId, int kPlanes>
void multiply_pair(const BlockProduct& p, int64_t panel, int64_t token_begin, int64_t token_end) {
  using Pair = PairOf<kId, kPlanes>;
  using Unpacked = typename Pair::Unpacked;
  constexpr WeightScheme s = scheme(kId);
  constexpr int kTokens = Pair::kTokens;
  Unpacked unpacked;
  VecF32 totals[kPairTokens / kTokens][2][kTokens] = {};
  const std::byte* panels = p.panels + panel * p.panel_bytes;
  const int64_t num_blocks = p.columns / 32;
  for (int64_t first = 0; first < num_blocks; first += Unpacked::kBlocks) {
    const int64_t count =
        num_blocks - first < Unpacked::kBlocks ? num_blocks - first : Unpacked::kBlocks;
    const int64_t first_record = first * 32 / s.record_size();
    for (int i = 0; i < 2; ++i) {
      const std::byte* record = panels + i * p.panel_bytes + first_record * s.record_bytes(kLanes);
      for (int64_t r = 0; r < count * 32 / s.record_size(); ++r) {
        unpacked.unpack_record(record, r, i);
        record += s.record_bytes(kLanes);
      }
    }
    for (int64_t token = token_begin; token < token_end; token += kTokens) {
      typename Pair::Product product;
      product.start(p, token / kTokenTile * kTokenTile, token, first);
      product.run(unpacked, count, totals[(token - token_begin) / kTokens]);
    }
  }
  for (int64_t token = token_begin; token < token_end; ++token) {
    const auto& sums = totals[(token - token_begin) / kTokens];
    for (int i = 0; i < 2; ++i) {
      store_rows(p.out, token, (panel + i) * kLanes, sums[i][(token - token_begin) % kTokens]);
    }
  }
}

// The kernel of a scheme: pairs of panels times whole tiles, what is left as before.
template <SchemeId kId, int kPlanes>
void paired_block_product(const BlockProduct& p, const ProductRange& range) {
  const auto rest = [&](const ProductRange& part) {
    if constexpr (kIsWide<kId>) {
      wide_block_product<kId, kPlanes>(p, part);
    } else {
      block_product<kId, kPlanes>(p, part);
    }
  };
  const int64_t tiled = (range.token_end - range.token_begin) / kTokenTile * kTokenTile;
  const int64_t tiles_end = range.token_begin + tiled;
  if (tiled < kTokensWorthPairs) return rest(range);
  const int64_t pairs_end = range.panel_begin + (range.panel_end - range.panel_begin) / 2 * 2;
  for (int64_t panel = range.panel_begin; panel < pairs_end; panel += 2) {
    for (int64_t token = range.token_begin; token < tiles_end; token += kPairTokens) {
      const int64_t end = token + kPairTokens < tiles_end ? token + kPairTokens : tiles_end;
      multiply_pair<kId, kPlanes>(p, panel, token, end);
    }
  }
  rest({range.panel_begin, pairs_end, tiles_end, range.token_end});
  rest({pairs_end, range.panel_end, range.token_begin, range.token_end});
}

}  // namespace
}  // namespace quern::cpu
