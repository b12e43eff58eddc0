// Block-quantised formats: what a block holds, as exact integers and scales, and as f32.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quern/dtype.h"

namespace quern {

// Elements of the largest block: the K, iq and ternary formats.
inline constexpr int kMaxBlockSize = 256;

// Scratch memory of a reader: a plain value; thread-compatible.
// One block. With j = i / sub_block and g = i / scale_group, element i is
//   w = (scale[g] * sub[j]) * q[i], then + minimum (kScaleMin) or - (minimum * mins[j])
//   (kSuperScaleMin); every product is exact in f32.
// Only the entries that the format uses are written. Strict numerics calls scale D and minimum M
// or Dmin.
struct DecodedBlock {
  // The integer of element i at q[i], in the order of the row, whatever order the bytes have.
  alignas(64) int8_t q[kMaxBlockSize];
  int16_t sub[16];   // 1 where the format has no sub-scales
  int16_t mins[16];  // kSuperScaleMin only
  // scale[g] for elements g * scale_group on; entry 0 alone where the block has one scale.
  float scale[4];    // with the format's constant power of two in it
  float minimum;     // kScaleMin and kSuperScaleMin only
};

// A row of a static table: immutable and thread-safe.
// The one description of a format. Products with integer activations and dequantisation both go
// through decode; a backend's packed layout is made from it too.
struct BlockFormat {
  // Which fields of DecodedBlock a format uses: a scale; and a minimum; and integer sub-scales; and
  // all of them.
  enum class Kind : uint8_t { kScale, kScaleMin, kSuperScale, kSuperScaleMin };
  // Reads the block_bytes bytes of a block, at any alignment. Every byte pattern decodes: blocks
  // from files need no check.
  using Decode = void (*)(const std::byte* block, DecodedBlock& out);
  // Writes a block of block_size values; any values, NaN and infinity too.
  using Encode = void (*)(const float* x, std::byte* block);

  // The key of the table: one row for each dtype.
  DType dtype;
  Kind kind;
  int block_size;  // elements
  int block_bytes;
  int scale_group;       // elements that share a scale: the block, but 16 for nvfp4
  int sub_block;         // elements that share an integer sub-scale: 16, 32 or the block
  int activation_block;  // elements of a `quant.dynamic` block: 32 or 256
  Decode decode;
  Encode encode;  // null: the format can be read only

  // Used entries of DecodedBlock::scale: 1, or 4 for nvfp4.
  int num_scales() const { return block_size / scale_group; }
  // Used entries of DecodedBlock::sub and, with kSuperScaleMin, of mins: 1 to 16.
  int num_sub_blocks() const { return block_size / sub_block; }
  // Elements of one term of a product: those that share both scales, of weight and activation.
  int term_size() const { return std::min(scale_group, activation_block); }
};

// The format of a block-quantised weight dtype, or null for the others (q8_K is not a weight).
// Points into a static table.
const BlockFormat* find_block_format(DType dtype);

// True for floats, plain integers and every format that find_block_format knows.
bool can_dequantize(DType dtype);
// n elements to f32, n a multiple of the block size. Needs can_dequantize(dtype).
void dequantize_row(DType dtype, const std::byte* row, float* out, int64_t n);

// True for floats and the formats with an encoder.
bool can_encode(DType dtype);
// n f32 values to `dtype`, n a multiple of the block size; the same bits on every machine.
// A block with a NaN or an infinity decodes to NaNs (mxfp4: infinities). Needs can_encode(dtype).
void quantize_row(DType dtype, const float* row, std::byte* out, int64_t n);

}  // namespace quern
