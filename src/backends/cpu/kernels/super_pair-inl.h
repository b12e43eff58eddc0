// Products of two panels at once with super schemes: panel_pair-inl.h with integer sub-scales. Sums
// of sub-blocks, times their sub-scales, add up over 256 elements before they are a term. Where
// sums take factors these are the sub-scales, and the offset of the codes, times the sums of the
// activations and the sub-scales, is taken off at the end.
#pragma once

#include "backends/cpu/kernels/block_product-inl.h"

namespace quern::cpu {
namespace {

// Lanes of 32 bits as pairs of 16 bits: `low` and `high`, which must fit.
QUERN_INLINE VecI16 pair_up(VecI32 low, VecI32 high) {
  return bits_as<VecI16>((low & 0xFFFF) | (high << 16));
}

// Whether the level's add_to_both takes factors of the lanes.
template <SchemeId kId, int kPlanes>
constexpr bool kTakesFactors =
    requires(QuadSum<max_code<kId>(), kPlanes, scheme(kId).sub_block / 4>& sum, VecU8 weights,
             const int8_t* activations, VecI16 factors) {
  add_to_both(sum, sum, 0, weights, weights, activations, factors, factors);
};

// A stretch of two panels: weights [K / 4][panel] as bytes, sub-scales [K / sub_block][panel], as
// pairs where they are factors, scales [K / 256][panel]; in pairs [K / sub_block / 2][panel] the
// minima, or sub-scales that the offset is multiplied with.
template <SchemeId kId, int kPlanes>
struct UnpackedSuperPair {
  static constexpr WeightScheme s = scheme(kId);
  static constexpr int64_t kBlocks = 32;  // of 32 elements
  static constexpr int kRuns = 32 / s.sub_block;
  static constexpr int kSubBlocks = 256 / s.sub_block;
  static constexpr int kPairs = kSubBlocks / 2;
  static constexpr bool kIsFactor = kTakesFactors<kId, kPlanes>;  // a sub-scale
  static constexpr bool kHasOffset = level_offset<kId, kPlanes>() != 0;
  static constexpr bool kHasPairs = s.has_min || (kIsFactor && kHasOffset);
  static_assert(!(s.has_min && kHasOffset));
  using SubScales = ConditionalType<kIsFactor, VecI16, VecI32>;

  VecU8 operands[kBlocks * 8][2];
  SubScales sub_scales[kBlocks * kRuns][2];
  VecF32 scales[kBlocks / 8][2];
  VecF32 minimum_scales[s.has_min ? kBlocks / 8 : 1][2];
  VecI16 pairs[kHasPairs ? kBlocks / 8 * kPairs : 1][2];

  // The 256 elements of a record of panel p.
  QUERN_INLINE void unpack_record(const std::byte* record, int64_t index, int p) {
    using Tile = TileProduct<kId, kPlanes, 1>;
    const std::byte* sub = record + (s.has_min ? 2 : 1) * Tile::kScaleBytes;
    const std::byte* codes = record + Tile::kHeaderBytes;
    scales[index][p] = load_scales<s.storage>(record);
    unroll<kSubBlocks>([&](auto i) QUERN_INLINE_LAMBDA {
      const VecI32 scale = load_sub_scales(sub + i * kLanes);
      SubScales& place = sub_scales[index * kSubBlocks + i][p];
      if constexpr (kIsFactor) {
        place = pair_up(scale, scale);
      } else {
        place = scale;
      }
    });
    for (int64_t block = 8 * index; block < 8 * index + 8; ++block) {
      unroll<8>([&](auto quad) QUERN_INLINE_LAMBDA {
        operands[block * 8 + quad][p] = load_quad<kId, kPlanes, int(decltype(quad){})>(codes);
      });
      codes += Tile::kCodeBytes;
    }
    if constexpr (s.has_min)
      minimum_scales[index][p] = load_scales<s.storage>(record + Tile::kScaleBytes);
    if constexpr (kHasPairs) {
      unroll<kPairs>([&](auto i) QUERN_INLINE_LAMBDA {
        const std::byte* first = sub + 2 * i * kLanes;
        pairs[index * kPairs + i][p] =
            s.has_min ? load_minimum_pairs(first + kSubBlocks * kLanes)  // they follow
                      : pair_up(load_sub_scales(first), load_sub_scales(first + kLanes));
      });
    }
  }
};

// kTokens tokens of a tile.
template <SchemeId kId, int kPlanes, int kTokens>
struct SuperPairProduct {
  using Base = TileProduct<kId, kPlanes, kTokens>;
  using Unpacked = UnpackedSuperPair<kId, kPlanes>;
  static constexpr WeightScheme s = scheme(kId);
  static constexpr int kRuns = Unpacked::kRuns;
  static constexpr int kQuads = s.sub_block / 4;
  static constexpr int kColumns = kTokens * kPlanes;
  static constexpr bool kIsFactor = Unpacked::kIsFactor;
  static constexpr int kOffset = level_offset<kId, kPlanes>();
  static constexpr bool kHasCorrection = kOffset != 0 && !kIsFactor;

  TilePointers a;

  // Pointers to `token` of the tile of 8 that begins at `tile`, and to block `first` of K, which
  // begins a record.
  QUERN_INLINE void start(const BlockProduct& p, int64_t tile, int64_t token, int64_t first) {
    a = tile_pointers<kId, kPlanes>(p, kTokenTile, tile, token);
    if constexpr (Unpacked::kHasPairs) {
      a.pairs = p.pairs + (tile * (p.columns / s.sub_block) + (token - tile) * 2) * kPlanes;
    }
    next_records(first / 8);
    next_32(first);
  }
  QUERN_INLINE void next_32(int64_t blocks = 1) {
    a.q += blocks * a.width * kPlanes * 32;
    if constexpr (kHasCorrection) a.corrections += blocks * kRuns * a.width * kPlanes;
  }
  QUERN_INLINE void next_records(int64_t records = 1) {
    a.d += records * a.width;
    if constexpr (Unpacked::kHasPairs)
      a.pairs += records * Unpacked::kSubBlocks * a.width * kPlanes;
  }

  QUERN_INLINE VecI32 correction(int run, int column) const {
    if constexpr (!kHasCorrection) return VecI32{};
    return splat(a.corrections[run * a.width * kPlanes + column]);
  }

  // Adds sub-block kRun of a block of 32, times its sub-scale, to `sums` of the columns.
  template <int kRun>
  QUERN_INLINE void add_run(const Unpacked& w, int64_t block, VecI32 (&sums)[2][kColumns]) const {
    using Sum = QuadSum<max_code<kId>(), kPlanes, kQuads>;
    const auto& sub = w.sub_scales[block * kRuns + kRun];
    Sum run[2][kColumns];
    unroll<kColumns>([&](auto c) QUERN_INLINE_LAMBDA {
      const VecI32 first = correction(kRun, c);
      run[0][c].start(kIsFactor ? sums[0][c] : first);
      run[1][c].start(kIsFactor ? sums[1][c] : first);
    });
    unroll<kQuads>([&](auto quad) QUERN_INLINE_LAMBDA {
      constexpr int kQuad = kRun * kQuads + int(decltype(quad){});
      const VecU8 first = w.operands[block * 8 + kQuad][0];
      const VecU8 second = w.operands[block * 8 + kQuad][1];
      unroll<kColumns>([&](auto c) QUERN_INLINE_LAMBDA {
        const int8_t* at = a.q + c * 32 + kQuad * 4;
        if constexpr (kIsFactor) {
          add_to_both(run[0][c], run[1][c], quad, first, second, at, sub[0], sub[1]);
        } else {
          add_to_both(run[0][c], run[1][c], quad, first, second, at);
        }
      });
    });
    unroll<kColumns>([&](auto c) QUERN_INLINE_LAMBDA {
      unroll<2>([&](auto p) QUERN_INLINE_LAMBDA {
        if constexpr (kIsFactor) {
          sums[p][c] = run[p][c].total();
        } else {
          sums[p][c] += sub[p] * run[p][c].total();
        }
      });
    });
  }

  // A record's pairs of panel p times the sums of their activations, for each plane.
  QUERN_INLINE void multiply_sums(const Unpacked& w, int64_t record, int p, int t,
                                  VecI32 (&products)[kPlanes]) const {
    unroll<Unpacked::kPairs>([&](auto pair) QUERN_INLINE_LAMBDA {
      unroll<kPlanes>([&](auto plane) QUERN_INLINE_LAMBDA {
        const int16_t* at = a.pairs + ((pair * a.width + t) * kPlanes + plane) * 2;
        products[plane] += multiply_pairs(w.pairs[record * Unpacked::kPairs + pair][p],
                                          bits_as<VecI16>(splat_i32(at)));
      });
    });
  }

  // The term of a record, added to `total`.
  QUERN_INLINE void add_term(const Unpacked& w, int64_t record, int p,
                             const VecI32 (&sums)[kColumns], int t, VecF32& total) const {
    VecI32 pairs[kPlanes] = {};
    if constexpr (Unpacked::kHasPairs) multiply_sums(w, record, p, t, pairs);
    VecI32 high = sums[t * kPlanes], low = sums[t * kPlanes + kPlanes - 1];
    if constexpr (kOffset != 0 && kIsFactor) {
      high -= kOffset * pairs[0];
      low -= kOffset * pairs[kPlanes - 1];
    }
    VecF32 integer = to_f32(high);
    if constexpr (kPlanes == 2) integer = 256.0f * integer + to_f32(low);
    VecF32 term = (w.scales[record][p] * splat(a.d[t])) * integer;
    if constexpr (s.has_min) {
      const VecI32 minimum = kPlanes == 1 ? pairs[0] : (pairs[0] << 8) + pairs[kPlanes - 1];
      term = term - (w.minimum_scales[record][p] * splat(a.d[t])) * to_f32(minimum);
    }
    total = total + term;
  }

  // A stretch of whole records.
  QUERN_INLINE void run(const Unpacked& w, int64_t num_blocks, VecF32 (&totals)[2][kTokens]) {
    for (int64_t record = 0; record < num_blocks / 8; ++record) {
      VecI32 sums[2][kColumns] = {};
      for (int64_t block = 8 * record; block < 8 * record + 8; ++block) {
        unroll<kRuns>([&](auto run)
                          QUERN_INLINE_LAMBDA { add_run<int(decltype(run){})>(w, block, sums); });
        next_32();
      }
      unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
        add_term(w, record, 0, sums[0], t, totals[0][t]);
        add_term(w, record, 1, sums[1], t, totals[1][t]);
      });
      next_records();
    }
  }
};

}  // namespace
}  // namespace quern::cpu
