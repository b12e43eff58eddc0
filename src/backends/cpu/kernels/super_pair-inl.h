// Products of two panels at once with super schemes: panel_pair-inl.h with integer sub-scales. Sums
// of sub-blocks, times their sub-scales, add up over 256 elements before they are a term.
#pragma once

#include "backends/cpu/kernels/block_product-inl.h"

namespace quern::cpu {
namespace {

// A stretch of two panels: weights [K / 4][panel] as bytes, sub-scales [K / sub_block][panel],
// scales [K / 256][panel], minima [K / sub_block / 2][panel] in pairs.
template <SchemeId kId, int kPlanes>
struct UnpackedSuperPair {
  static constexpr WeightScheme s = scheme(kId);
  static constexpr int64_t kBlocks = 32;  // of 32 elements
  static constexpr int kRuns = 32 / s.sub_block;
  static constexpr int kMinimumPairs = 256 / s.sub_block / 2;

  VecU8 operands[kBlocks * 8][2];
  VecI32 sub_scales[kBlocks * kRuns][2];
  VecF32 scales[kBlocks / 8][2];
  VecF32 minimum_scales[s.has_min ? kBlocks / 8 : 1][2];
  VecI16 minima[s.has_min ? kBlocks / 8 * kMinimumPairs : 1][2];

  // The 256 elements of a record of panel p.
  QUERN_INLINE void unpack_record(const std::byte* record, int64_t index, int p) {
    using Tile = TileProduct<kId, kPlanes, 1>;
    const std::byte* sub = record + (s.has_min ? 2 : 1) * Tile::kScaleBytes;
    const std::byte* codes = record + Tile::kHeaderBytes;
    scales[index][p] = load_scales<s.storage>(record);
    for (int64_t block = 8 * index; block < 8 * index + 8; ++block) {
      unroll<kRuns>([&](auto run) QUERN_INLINE_LAMBDA {
        sub_scales[block * kRuns + run][p] = load_sub_scales(sub + run * kLanes);
      });
      unroll<8>([&](auto quad) QUERN_INLINE_LAMBDA {
        operands[block * 8 + quad][p] = load_quad<kId, kPlanes, int(decltype(quad){})>(codes);
      });
      sub += kRuns * kLanes;
      codes += Tile::kCodeBytes;
    }
    if constexpr (s.has_min) {  // minima follow the sub-scales
      minimum_scales[index][p] = load_scales<s.storage>(record + Tile::kScaleBytes);
      unroll<kMinimumPairs>([&](auto pair) QUERN_INLINE_LAMBDA {
        minima[index * kMinimumPairs + pair][p] = load_minimum_pairs(sub + pair * 2 * kLanes);
      });
    }
  }

  void unpack(const std::byte* first, int64_t panel_bytes, int64_t num_blocks) {
    for (int p = 0; p < 2; ++p) {
      const std::byte* record = first + p * panel_bytes;
      for (int64_t index = 0; index < num_blocks / 8; ++index) {
        unpack_record(record, index, p);
        record += s.record_bytes(kLanes);
      }
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
  static constexpr bool kHasCorrection = Base::kHasCorrection;

  TilePointers a;

  // Pointers to `token` of the tile of 8 that begins at `tile`, and to block `first` of K, which
  // begins a record.
  QUERN_INLINE void start(const BlockProduct& p, int64_t tile, int64_t token, int64_t first) {
    a = tile_pointers<kId, kPlanes>(p, kTokenTile, tile, token);
    for (int64_t block = 0; block < first; block += 8) next_record();
    next_32(first);
  }
  QUERN_INLINE void next_32(int64_t blocks = 1) {
    a.q += blocks * a.width * kPlanes * 32;
    if constexpr (kHasCorrection) a.corrections += blocks * kRuns * a.width * kPlanes;
  }
  QUERN_INLINE void next_record() {
    a.d += a.width;
    if constexpr (s.has_min) a.pairs += 256 / s.sub_block * a.width * kPlanes;
  }

  QUERN_INLINE VecI32 correction(int run, int column) const {
    if constexpr (!kHasCorrection) return VecI32{};
    return splat(a.corrections[run * a.width * kPlanes + column]);
  }

  // Adds sub-block kRun of a block of 32, times its sub-scale, to `sums` of the columns.
  template <int kRun>
  QUERN_INLINE void add_run(const Unpacked& w, int64_t block, VecI32 (&sums)[2][kColumns]) const {
    using Sum = QuadSum<max_code<kId>(), kPlanes, kQuads>;
    Sum run[2][kColumns];
    unroll<kColumns>([&](auto c) QUERN_INLINE_LAMBDA {
      const VecI32 first = correction(kRun, c);
      run[0][c].start(first);
      run[1][c].start(first);
    });
    unroll<kQuads>([&](auto quad) QUERN_INLINE_LAMBDA {
      constexpr int kQuad = kRun * kQuads + int(decltype(quad){});
      const VecU8 first = w.operands[block * 8 + kQuad][0];
      const VecU8 second = w.operands[block * 8 + kQuad][1];
      unroll<kColumns>([&](auto c) QUERN_INLINE_LAMBDA {
        add_to_both(run[0][c], run[1][c], quad, first, second, a.q + c * 32 + kQuad * 4);
      });
    });
    unroll<2>([&](auto p) QUERN_INLINE_LAMBDA {
      const VecI32 sub = w.sub_scales[block * kRuns + kRun][p];
      unroll<kColumns>([&](auto c) QUERN_INLINE_LAMBDA { sums[p][c] += sub * run[p][c].total(); });
    });
  }

  // f32(m) of panel p: the minima of a record's sub-blocks times the sums of their activations.
  QUERN_INLINE VecF32 minimum_product(const Unpacked& w, int64_t record, int p, int t) const {
    VecI32 sums[kPlanes] = {};
    unroll<Unpacked::kMinimumPairs>([&](auto pair) QUERN_INLINE_LAMBDA {
      unroll<kPlanes>([&](auto plane) QUERN_INLINE_LAMBDA {
        const int16_t* at = a.pairs + ((pair * a.width + t) * kPlanes + plane) * 2;
        sums[plane] += multiply_pairs(w.minima[record * Unpacked::kMinimumPairs + pair][p],
                                      bits_as<VecI16>(splat_i32(at)));
      });
    });
    if constexpr (kPlanes == 1) return to_f32(sums[0]);
    return to_f32((sums[0] << 8) + sums[kPlanes - 1]);
  }

  // The term of a record, added to `total`.
  QUERN_INLINE void add_term(const Unpacked& w, int64_t record, int p,
                             const VecI32 (&sums)[kColumns], int t, VecF32& total) const {
    VecF32 integer = to_f32(sums[t * kPlanes]);
    if constexpr (kPlanes == 2) integer = 256.0f * integer + to_f32(sums[t * kPlanes + 1]);
    VecF32 term = (w.scales[record][p] * splat(a.d[t])) * integer;
    if constexpr (s.has_min) {
      term =
          term - (w.minimum_scales[record][p] * splat(a.d[t])) * minimum_product(w, record, p, t);
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
      next_record();
    }
  }
};

}  // namespace
}  // namespace quern::cpu
