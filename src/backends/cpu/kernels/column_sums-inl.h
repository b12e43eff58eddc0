// The integer sums of one run of weights with several columns of activations: a column is a plane
// of a token. Here one QuadSum for each; a level whose instructions multiply several columns at
// once specialises ColumnSums for itself after including this file.
#pragma once

#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/unroll-inl.h"

namespace quern::cpu {
namespace {

// Bytes from a column of activations to the next, see activation_layout.h.
constexpr int kColumnStride = 32;

// Lanes are weight rows. The quads 0 .. kQuads - 1 are added in this order, each once; totals are
// there after the last. Columns are constants (Index), so that sums stay in registers.
template <Isa kIsa, int kMaxCode, int kPlanes, int kColumns, int kQuads>
struct ColumnSums {
  QuadSum<kMaxCode, kPlanes, kQuads> sums[kColumns];

  QUERN_INLINE void start(int column, VecI32 value) { sums[column].start(value); }
  // The weights of one quad times its activations, which begin for column 0 at `activations`.
  template <class Quad>
  QUERN_INLINE void add(Quad quad, VecU8 weights, const int8_t* activations) {
    unroll<kColumns>([&](auto c) QUERN_INLINE_LAMBDA {
      sums[c].add(quad, weights, activations + c * kColumnStride);
    });
  }
  QUERN_INLINE VecI32 total(int column) const { return sums[column].total(); }
};

}  // namespace
}  // namespace quern::cpu
