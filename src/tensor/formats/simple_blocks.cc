// Formats with one scale (and perhaps one minimum) a block and evenly spaced integers.
// Byte layouts: d, m are f16; "nibbles 16" is 16 bytes, byte j holding element j in its low half
// and element j + 16 in its high half; "fifth bits" is a u32 whose bit i is bit 4 of element i.
#include "tensor/formats/block_bytes.h"
#include "tensor/formats/encoders.h"
#include "tensor/formats/families.h"

namespace quern {
namespace {

// 16 bytes to 32 elements, less the offset.
void read_nibbles(const std::byte* nibbles, int offset, int8_t* q) {
  for (int j = 0; j < 16; ++j) {
    q[j] = static_cast<int8_t>(low_nibble(nibbles[j]) - offset);
    q[j + 16] = static_cast<int8_t>(high_nibble(nibbles[j]) - offset);
  }
}

// Bit i of the word weighs 16 in element i.
// Called after read_nibbles(), whose offset is off already: q is then -16 to 15, or 0 to 31.
void add_fifth_bits(uint32_t bits, int8_t* q) {
  for (int i = 0; i < 32; ++i) q[i] = static_cast<int8_t>(q[i] + ((bits >> i & 1) << 4));
}

// d | 32 signed bytes
void decode_q8_0(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.sub[0] = 1;
  for (int i = 0; i < 32; ++i) out.q[i] = static_cast<int8_t>(block[2 + i]);
}

// d | nibbles 16, q = n - 8
void decode_q4_0(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.sub[0] = 1;
  read_nibbles(block + 2, 8, out.q);
}

// d | m | nibbles 16
void decode_q4_1(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.minimum = load_f16(block + 2);
  out.sub[0] = 1;
  read_nibbles(block + 4, 0, out.q);
}

// d | fifth bits | nibbles 16, q = n - 16
void decode_q5_0(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.sub[0] = 1;
  read_nibbles(block + 6, 16, out.q);
  add_fifth_bits(load_u32(block + 2), out.q);
}

// d | m | fifth bits | nibbles 16
void decode_q5_1(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.minimum = load_f16(block + 2);
  out.sub[0] = 1;
  read_nibbles(block + 8, 0, out.q);
  add_fifth_bits(load_u32(block + 4), out.q);
}

// d | 128 bits in order: 1 is +1, 0 is -1
void decode_q1_0(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.sub[0] = 1;
  for (int i = 0; i < 128; ++i) {
    const uint32_t bit = load_u8(block + 2 + i / 8) >> (i % 8) & 1;
    out.q[i] = static_cast<int8_t>(2 * static_cast<int>(bit) - 1);
  }
}

// d | 64 bit pairs in order, q = n - 1
void decode_q2_0(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.sub[0] = 1;
  for (int i = 0; i < 64; ++i) {
    out.q[i] = static_cast<int8_t>(bit_pair(block[2 + i / 4], i % 4) - 1);
  }
}

// The columns that these formats share: one scale a block, activation blocks of 32.
constexpr BlockFormat simple(DType dtype, BlockFormat::Kind kind, int size, int bytes,
                             BlockFormat::Decode decode, BlockFormat::Encode encode) {
  return {dtype, kind, size, bytes, size, size, 32, decode, encode};
}

using enum BlockFormat::Kind;
constexpr BlockFormat kFormats[] = {
    simple(DType::kQ8_0, kScale, 32, 34, decode_q8_0, encode_q8_0),
    simple(DType::kQ4_0, kScale, 32, 18, decode_q4_0, encode_q4_0),
    simple(DType::kQ4_1, kScaleMin, 32, 20, decode_q4_1, encode_q4_1),
    simple(DType::kQ5_0, kScale, 32, 22, decode_q5_0, encode_q5_0),
    simple(DType::kQ5_1, kScaleMin, 32, 24, decode_q5_1, encode_q5_1),
    simple(DType::kQ1_0, kScale, 128, 18, decode_q1_0, nullptr),
    simple(DType::kQ2_0, kScale, 64, 18, decode_q2_0, nullptr),
};

}  // namespace

std::span<const BlockFormat> simple_block_formats() {
  return kFormats;
}

}  // namespace quern
