// Where the parts of quantised activations lie in one block of memory, packed for the products.
//
// Tokens stand in tiles of 8, the rest in tiles of 4, 2 and 1. An array with A elements per token
// gives the tile of W tokens that begins at token t the elements from t * A on; inside a tile
//   q         int8   [K / 32][W][plane][32]        hi plane first with 16 bits
//   d         f32    [K / block][W]
//   int_sums  i32    [K / run][W][plane]           sums of q over runs of 32 (block 32) or 16 (256)
//   sums      f32    [K / 32][W]                   d * f32(S), block 32 only
//   pairs_16  int16  [K / 32][W][plane][2]         sums over runs of 16, block 256 only
//   pairs_32  int16  [K / 64][W][plane][2]         sums over runs of 32, block 256 only
#pragma once

#include <cstdint>

namespace quern::cpu {

// Needs columns to be a multiple of `block`, block 32 or 256, bits 8 or 16, and sizes checked
// before: num_tokens * columns < 2^58. Offsets are in bytes, multiples of 64.
struct ActivationLayout {
  int64_t num_tokens = 0;
  int64_t columns = 0;
  int block = 32;
  int bits = 8;
  int64_t q = 0;
  int64_t d = 0;
  int64_t int_sums = 0;
  int64_t sums = 0;
  int64_t pairs_16 = 0;
  int64_t pairs_32 = 0;
  int64_t size_bytes = 0;

  int num_planes() const { return bits / 8; }
  // Elements of a run that int_sums adds up.
  int run() const { return block == 32 ? 32 : 16; }
};

ActivationLayout make_activation_layout(int64_t num_tokens, int64_t columns, int block, int bits);

// Whether activations of this shape have a packed form; others exist in plain form only.
bool can_pack_activations(int64_t columns, int64_t block, int64_t bits);

}  // namespace quern::cpu
