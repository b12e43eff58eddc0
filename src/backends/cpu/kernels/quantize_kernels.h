// Kernels that quantise activations at one level.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/isa.h"

namespace quern::cpu {

// One token into a tile. Pointers are to the token's first element in each array of
// activation_layout.h; those of arrays that the layout lacks are null.
struct PackToken {
  int64_t columns = 0;
  int64_t width = 1;  // tokens of the tile
  int8_t* q = nullptr;
  float* d = nullptr;
  int32_t* int_sums = nullptr;
  float* sums = nullptr;
  int16_t* pairs_16 = nullptr;
  int16_t* pairs_32 = nullptr;
};

struct QuantizeKernels {
  // `quant.dynamic` of one row x into packed form; by planes - 1, then block 32 or 256.
  void (*pack_floats[2][2])(const float* x, const PackToken& out) = {};
  // The same from integers (int8 for one plane, int16 for two) and scales in plain form.
  void (*pack_integers[2][2])(const void* q, const float* d, const PackToken& out) = {};
  // `quant.dynamic` of one row of n elements into plain form, any block; q is int8 or int16.
  void (*quantize_row[2])(const float* x, int64_t n, int64_t block, void* q, float* d) = {};
};

// Defined once per level, in quantize_kernels.cc.
template <Isa kIsa>
QuantizeKernels quantize_kernels();

}  // namespace quern::cpu
