// Products with float weights: panels of several vectors of output rows, activations broadcast.
// Every output is one chain of multiply, then add, folded blocked(256).
#pragma once

#include "backends/cpu/kernels/linear_kernels.h"
#include "backends/cpu/kernels/store_rows-inl.h"
#include "backends/cpu/kernels/unroll-inl.h"

namespace quern::cpu {
namespace {

// Types of panels: how a vector of weights loads. Vectors in a panel: enough independent sums to
// hide the latency of an add when one token is multiplied.
constexpr int kPanelVectors = kLanes >= 16 ? 2 : 4;

struct WeightsF32 {
  using Element = float;
  using Vec = VecF32;
  static constexpr int kBytes = 4;
  static QUERN_INLINE Vec load_at(const std::byte* p) { return load<VecF32>(p); }
};
struct WeightsF16 {
  using Element = float;
  using Vec = VecF32;
  static constexpr int kBytes = 2;
  static QUERN_INLINE Vec load_at(const std::byte* p) {
    return widen_f16(reinterpret_cast<const uint16_t*>(p));
  }
};
struct WeightsBF16 {
  using Element = float;
  using Vec = VecF32;
  static constexpr int kBytes = 2;
  static QUERN_INLINE Vec load_at(const std::byte* p) {
    return widen_bf16(reinterpret_cast<const uint16_t*>(p));
  }
};
struct WeightsF64 {
  using Element = double;
  using Vec = VecF64;
  static constexpr int kBytes = 8;
  static QUERN_INLINE Vec load_at(const std::byte* p) { return load<VecF64>(p); }
};

// Strict numerics round the product; a fused form for the other modes goes here.
template <class Vec, class Element>
QUERN_INLINE Vec add_product(Vec sum, Vec weights, Element x) {
  return sum + weights * splat(x);
}

// kTokens tokens of one tile times vectors first .. first + kVectors of a panel.
template <class Weights, int kTokens, int kVectors>
void multiply_float_tile(const FloatProduct<typename Weights::Element>& p, int64_t panel, int first,
                         int64_t token) {
  using Vec = typename Weights::Vec;
  using Element = typename Weights::Element;
  constexpr int kVecLanes = sizeof(Vec) / sizeof(Element);
  constexpr int64_t kStep = int64_t{kPanelVectors} * kVecLanes * Weights::kBytes;
  const std::byte* weights =
      p.panels + panel * p.panel_bytes + int64_t{first} * kVecLanes * Weights::kBytes;
  const Element* x = p.x + token * p.columns;

  Vec total[kTokens][kVectors] = {};
  for (int64_t begin = 0; begin < p.columns; begin += 256) {
    const int64_t count = p.columns - begin < 256 ? p.columns - begin : 256;
    Vec block[kTokens][kVectors] = {};
    for (int64_t k = 0; k < count; ++k) {
      Vec w[kVectors];
      unroll<kVectors>([&](auto v) QUERN_INLINE_LAMBDA {
        w[v] = Weights::load_at(weights + v * kVecLanes * Weights::kBytes);
      });
      unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
        unroll<kVectors>([&](auto v) QUERN_INLINE_LAMBDA {
          block[t][v] = add_product(block[t][v], w[v], x[t]);
        });
      });
      weights += kStep;
      x += kTokens;
    }
    unroll<kTokens>([&](auto t) QUERN_INLINE_LAMBDA {
      unroll<kVectors>([&](auto v)
                           QUERN_INLINE_LAMBDA { total[t][v] = total[t][v] + block[t][v]; });
    });
  }

  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t row = (panel * kPanelVectors + first + v) * kVecLanes;
      if (row < p.out.rows) store_rows(p.out, token + t, row, total[t][v]);
    }
  }
}

// All vectors of a panel, kVectors at a time.
template <class Weights, int kTokens, int kVectors>
QUERN_INLINE void multiply_float_panel(const FloatProduct<typename Weights::Element>& p,
                                       int64_t panel, int64_t token) {
  for (int first = 0; first < kPanelVectors; first += kVectors) {
    multiply_float_tile<Weights, kTokens, kVectors>(p, panel, first, token);
  }
}

// Registers decide: kFullTile tokens x kFullVectors vectors of sums, with room for the weights.
constexpr int kFullTile = kLanes >= 16 ? 24 : (kLanes == 8 ? 6 : 4);
constexpr int kFullVectors = kLanes >= 16 ? 1 : 2;

template <class Weights>
void float_product(const FloatProduct<typename Weights::Element>& p, const ProductRange& range) {
  for (int64_t panel = range.panel_begin; panel < range.panel_end; ++panel) {
    for (int64_t token = range.token_begin; token < range.token_end;) {
      const int64_t width = float_tile_width(range.token_end - token, kFullTile);
      if (width == kFullTile) {
        multiply_float_panel<Weights, kFullTile, kFullVectors>(p, panel, token);
      } else if (kFullTile > 8 && width == 8) {
        multiply_float_panel<Weights, 8, 2>(p, panel, token);
      } else if (kFullTile > 4 && width == 4) {
        multiply_float_panel<Weights, 4, 2>(p, panel, token);
      } else if (width == 2) {
        multiply_float_panel<Weights, 2, kPanelVectors>(p, panel, token);
      } else {
        multiply_float_panel<Weights, 1, kPanelVectors>(p, panel, token);
      }
      token += width;
    }
  }
}

template <class Weights>
void widen(const std::byte* codes, int64_t count, int64_t rows, int64_t width, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    float* to = out + i * width;
    for (int64_t first = 0; first < rows; first += width, to += count * width) {
      for (int64_t lane = 0; lane < width; lane += kLanes) {
        store(to + lane, Weights::load_at(codes));
        codes += kLanes * Weights::kBytes;
      }
    }
  }
}

}  // namespace
}  // namespace quern::cpu
