// Encoders of the formats with one scale a block; simple_blocks.cc describes the bytes.
#include "tensor/formats/block_bytes.h"
#include "tensor/formats/encode_block.h"
#include "tensor/formats/encoders.h"

namespace quern {
namespace {

// q + offset, 0 to 31: the low 4 bits here, bit 4 (of the 5-bit formats) in fifth_bits().
void write_nibbles(const int8_t* q, int offset, std::byte* nibbles) {
  for (int j = 0; j < 16; ++j) {
    // q is within the range of the fit, so that q + offset is never negative.
    const int low = (q[j] + offset) & 15;
    const int high = (q[j + 16] + offset) & 15;
    nibbles[j] = static_cast<std::byte>(low | high << 4);
  }
}

// Bit 4 of each element, as the word of the 5-bit formats.
uint32_t fifth_bits(const int8_t* q, int offset) {
  uint32_t bits = 0;
  for (int i = 0; i < 32; ++i) bits |= static_cast<uint32_t>((q[i] + offset) >> 4 & 1) << i;
  return bits;
}

// Each packer is the inverse of the decoder of its format.
void pack_q8_0(const DecodedBlock& in, std::byte* block) {
  store_f16(block, in.scale[0]);
  for (int i = 0; i < 32; ++i) block[2 + i] = static_cast<std::byte>(in.q[i]);
}

void pack_q4_0(const DecodedBlock& in, std::byte* block) {
  store_f16(block, in.scale[0]);
  write_nibbles(in.q, 8, block + 2);
}

void pack_q4_1(const DecodedBlock& in, std::byte* block) {
  store_f16(block, in.scale[0]);
  store_f16(block + 2, in.minimum);
  write_nibbles(in.q, 0, block + 4);
}

void pack_q5_0(const DecodedBlock& in, std::byte* block) {
  store_f16(block, in.scale[0]);
  store_u32(block + 2, fifth_bits(in.q, 16));
  write_nibbles(in.q, 16, block + 6);
}

void pack_q5_1(const DecodedBlock& in, std::byte* block) {
  store_f16(block, in.scale[0]);
  store_f16(block + 2, in.minimum);
  store_u32(block + 4, fifth_bits(in.q, 0));
  write_nibbles(in.q, 0, block + 8);
}

// The range of integers of each format, and whether it has a minimum.
// No search: activations and caches take q8_0 while a model runs, where time counts.
void fit_q8_0(const float* x, DecodedBlock& out) {
  fit_amax(x, 32, 127, out);
}
void fit_q4_0(const float* x, DecodedBlock& out) {
  fit_scale(x, 32, -8, 7, out);
}
void fit_q4_1(const float* x, DecodedBlock& out) {
  fit_scale_min(x, 32, 15, out);
}
void fit_q5_0(const float* x, DecodedBlock& out) {
  fit_scale(x, 32, -16, 15, out);
}
void fit_q5_1(const float* x, DecodedBlock& out) {
  fit_scale_min(x, 32, 31, out);
}

}  // namespace

// A block that is not finite is written as NaN; see encode_block().
void encode_q8_0(const float* x, std::byte* block) {
  encode_block<32, fit_q8_0, pack_q8_0>(x, block);
}
void encode_q4_0(const float* x, std::byte* block) {
  encode_block<32, fit_q4_0, pack_q4_0>(x, block);
}
void encode_q4_1(const float* x, std::byte* block) {
  encode_block<32, fit_q4_1, pack_q4_1>(x, block);
}
void encode_q5_0(const float* x, std::byte* block) {
  encode_block<32, fit_q5_0, pack_q5_0>(x, block);
}
void encode_q5_1(const float* x, std::byte* block) {
  encode_block<32, fit_q5_1, pack_q5_1>(x, block);
}

}  // namespace quern
