// Encoders of the K formats; k_blocks.cc describes the bytes.
#include "tensor/formats/block_bytes.h"
#include "tensor/formats/encode_block.h"
#include "tensor/formats/encoders.h"

namespace quern {
namespace {

// Bits `shift` and `shift + 1` of each q + offset to 64 bytes of interleaved bit pairs.
void write_bit_pairs(const int8_t* q, int offset, int shift, std::byte* pairs) {
  for (int h = 0; h < 2; ++h) {
    for (int l = 0; l < 32; ++l) {
      int byte = 0;
      for (int p = 0; p < 4; ++p) {
        byte |= ((q[h * 128 + p * 32 + l] + offset) >> shift & 3) << (2 * p);
      }
      pairs[h * 32 + l] = static_cast<std::byte>(byte);
    }
  }
}

// The low 4 bits of each q to 128 bytes; the high half of a byte is 32 elements on.
void write_nibbles(const int8_t* q, std::byte* nibbles) {
  for (int c = 0; c < 4; ++c) {
    for (int l = 0; l < 32; ++l) {
      const int low = q[c * 64 + l] & 15;
      const int high = q[c * 64 + 32 + l] & 15;
      nibbles[c * 32 + l] = static_cast<std::byte>(low | high << 4);
    }
  }
}

// Bit `shift` of each q + offset to 32 bytes, bit s of byte l for element 32 s + l.
void write_bits(const int8_t* q, int offset, int shift, std::byte* bits) {
  for (int l = 0; l < 32; ++l) {
    int byte = 0;
    for (int s = 0; s < 8; ++s) byte |= ((q[s * 32 + l] + offset) >> shift & 1) << s;
    bits[l] = static_cast<std::byte>(byte);
  }
}

// 8 sub-scales and 8 minimums of 6 bits to 12 bytes, the inverse of read_scales_and_mins().
void write_scales_and_mins(const DecodedBlock& in, std::byte* bytes) {
  for (int j = 0; j < 4; ++j) {
    const int scale = in.sub[j + 4];
    const int min = in.mins[j + 4];
    bytes[j] = static_cast<std::byte>(in.sub[j] | scale >> 4 << 6);
    bytes[j + 4] = static_cast<std::byte>(in.mins[j] | min >> 4 << 6);
    bytes[j + 8] = static_cast<std::byte>((scale & 15) | (min & 15) << 4);
  }
}

// Each packer is the inverse of the decoder of its format.
void pack_q2_k(const DecodedBlock& in, std::byte* block) {
  for (int j = 0; j < 16; ++j) block[j] = static_cast<std::byte>(in.sub[j] | in.mins[j] << 4);
  write_bit_pairs(in.q, 0, 0, block + 16);
  store_f16(block + 80, in.scale[0]);
  store_f16(block + 82, in.minimum);
}

// Integers and sub-scales are stored with their offsets, 4 and 32.
void pack_q3_k(const DecodedBlock& in, std::byte* block) {
  write_bits(in.q, 4, 2, block);
  write_bit_pairs(in.q, 4, 0, block + 32);
  std::byte* scales = block + 96;
  for (int j = 0; j < 8; ++j) {
    // A sub-scale is stored as 0 to 63: its low nibble here, its top two bits in the loop below.
    scales[j] = static_cast<std::byte>(((in.sub[j] + 32) & 15) | ((in.sub[j + 8] + 32) & 15) << 4);
  }
  for (int j = 0; j < 4; ++j) {
    int byte = 0;
    for (int p = 0; p < 4; ++p) byte |= (in.sub[j + 4 * p] + 32) >> 4 << (2 * p);
    scales[8 + j] = static_cast<std::byte>(byte);
  }
  store_f16(block + 108, in.scale[0]);
}

void pack_q4_k(const DecodedBlock& in, std::byte* block) {
  store_f16(block, in.scale[0]);
  store_f16(block + 2, in.minimum);
  write_scales_and_mins(in, block + 4);
  write_nibbles(in.q, block + 16);
}

void pack_q5_k(const DecodedBlock& in, std::byte* block) {
  store_f16(block, in.scale[0]);
  store_f16(block + 2, in.minimum);
  write_scales_and_mins(in, block + 4);
  write_bits(in.q, 0, 4, block + 16);
  write_nibbles(in.q, block + 48);
}

// Integers are stored with the offset 32, sub-scales with a sign.
void pack_q6_k(const DecodedBlock& in, std::byte* block) {
  for (int h = 0; h < 2; ++h) {
    for (int l = 0; l < 64; ++l) {
      const int low = (in.q[h * 128 + l] + 32) & 15;
      const int high = (in.q[h * 128 + 64 + l] + 32) & 15;
      block[h * 64 + l] = static_cast<std::byte>(low | high << 4);
    }
  }
  write_bit_pairs(in.q, 32, 4, block + 128);
  for (int j = 0; j < 16; ++j) block[192 + j] = static_cast<std::byte>(in.sub[j]);
  store_f16(block + 208, in.scale[0]);
}

// The ranges of integers and sub-scales of each format.
// q of b bits is 0 to 2^b - 1 where there is a minimum, else -2^(b-1) to 2^(b-1) - 1; sub-scales
// have 4, 6 or 8 bits, with a sign only where q has one.
void fit_q2_k(const float* x, DecodedBlock& out) {
  fit_super_scale_min(x, {.sub_block = 16, .low = 0, .high = 3, .sub_low = 0, .sub_high = 15}, out);
}
void fit_q3_k(const float* x, DecodedBlock& out) {
  fit_super_scale(x, {.sub_block = 16, .low = -4, .high = 3, .sub_low = -32, .sub_high = 31}, out);
}
void fit_q4_k(const float* x, DecodedBlock& out) {
  fit_super_scale_min(x, {.sub_block = 32, .low = 0, .high = 15, .sub_low = 0, .sub_high = 63},
                      out);
}
void fit_q5_k(const float* x, DecodedBlock& out) {
  fit_super_scale_min(x, {.sub_block = 32, .low = 0, .high = 31, .sub_low = 0, .sub_high = 63},
                      out);
}
void fit_q6_k(const float* x, DecodedBlock& out) {
  fit_super_scale(x, {.sub_block = 16, .low = -32, .high = 31, .sub_low = -128, .sub_high = 127},
                  out);
}

}  // namespace

// A block that is not finite is written as NaN; see encode_block().
void encode_q2_k(const float* x, std::byte* block) {
  encode_block<256, fit_q2_k, pack_q2_k>(x, block);
}
void encode_q3_k(const float* x, std::byte* block) {
  encode_block<256, fit_q3_k, pack_q3_k>(x, block);
}
void encode_q4_k(const float* x, std::byte* block) {
  encode_block<256, fit_q4_k, pack_q4_k>(x, block);
}
void encode_q5_k(const float* x, std::byte* block) {
  encode_block<256, fit_q5_k, pack_q5_k>(x, block);
}
void encode_q6_k(const float* x, std::byte* block) {
  encode_block<256, fit_q6_k, pack_q6_k>(x, block);
}

}  // namespace quern
