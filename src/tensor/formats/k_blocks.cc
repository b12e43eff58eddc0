// The K formats: 256 elements, an f16 scale, and integer sub-scales of 16 or 32 elements.
// Bit planes are interleaved so that 32 neighbours come from 32 neighbouring bytes.
#include "tensor/formats/block_bytes.h"
#include "tensor/formats/encoders.h"
#include "tensor/formats/families.h"

namespace quern {
namespace {

// 64 bytes of bit pairs: pair p of byte 32 h + l is element 128 h + 32 p + l.
void read_bit_pairs(const std::byte* pairs, int8_t* q) {
  for (int h = 0; h < 2; ++h) {
    for (int p = 0; p < 4; ++p) {
      for (int l = 0; l < 32; ++l) {
        *q++ = static_cast<int8_t>(bit_pair(pairs[h * 32 + l], p));
      }
    }
  }
}

// 128 bytes: byte 32 c + l holds element 64 c + l in its low half and 64 c + 32 + l in its high.
void read_nibbles(const std::byte* nibbles, int8_t* q) {
  for (int c = 0; c < 4; ++c) {
    for (int l = 0; l < 32; ++l) {
      q[c * 64 + l] = static_cast<int8_t>(low_nibble(nibbles[c * 32 + l]));
      q[c * 64 + 32 + l] = static_cast<int8_t>(high_nibble(nibbles[c * 32 + l]));
    }
  }
}

// 32 bytes: bit s of byte l belongs to element 32 s + l, where it weighs `weight`.
void add_bits(const std::byte* bits, int weight, int8_t* q) {
  for (int s = 0; s < 8; ++s) {
    for (int l = 0; l < 32; ++l) {
      const int bit = std::to_integer<int>(bits[l]) >> s & 1;
      q[s * 32 + l] = static_cast<int8_t>(q[s * 32 + l] + bit * weight);
    }
  }
}

// 12 bytes of 8 scales and 8 minimums of 6 bits. Bytes 0-3 and 4-7 hold scales and minimums 0-3 in
// their low 6 bits and the top 2 bits of numbers 4-7 above; bytes 8-11 hold the low 4 bits of
// those.
void read_scales_and_mins(const std::byte* bytes, DecodedBlock& out) {
  for (int j = 0; j < 4; ++j) {
    const uint32_t scale = load_u8(bytes + j);
    const uint32_t min = load_u8(bytes + 4 + j);
    const uint32_t both = load_u8(bytes + 8 + j);
    out.sub[j] = static_cast<int16_t>(scale & 63);
    out.mins[j] = static_cast<int16_t>(min & 63);
    out.sub[j + 4] = static_cast<int16_t>((both & 15) | scale >> 6 << 4);
    out.mins[j + 4] = static_cast<int16_t>(both >> 4 | min >> 6 << 4);
  }
}

// 16 bytes, scale in the low and minimum in the high half | bit pairs | d | dmin
//   byte 0          16                    80   82
//        16 x (m, s) 64 bytes of bit pairs d    dmin       w = d * s * q - dmin * m
void decode_q2_k(const std::byte* block, DecodedBlock& out) {
  for (int j = 0; j < 16; ++j) {
    out.sub[j] = static_cast<int16_t>(low_nibble(block[j]));
    out.mins[j] = static_cast<int16_t>(high_nibble(block[j]));
  }
  read_bit_pairs(block + 16, out.q);
  out.scale[0] = load_f16(block + 80);
  out.minimum = load_f16(block + 82);
}

// high bits 32 | bit pairs | 12 bytes of 16 scales of 6 bits, less 32 | d; q = n - 4
//   byte 0         32                    96            104          108
//        high bits 64 bytes of bit pairs 8 low nibbles 4 high pairs d
// Scale j of 16: low nibble of byte j (j < 8) or high nibble of byte j - 8; its top two bits are
// pair j / 4 of byte 8 + j % 4.
void decode_q3_k(const std::byte* block, DecodedBlock& out) {
  read_bit_pairs(block + 32, out.q);
  add_bits(block, 4, out.q);
  for (int8_t& q : out.q) q = static_cast<int8_t>(q - 4);
  const std::byte* scales = block + 96;
  for (int j = 0; j < 8; ++j) {
    const int high = bit_pair(scales[8 + j % 4], j / 4);
    const int high_of_second = bit_pair(scales[8 + j % 4], j / 4 + 2);
    out.sub[j] = static_cast<int16_t>((low_nibble(scales[j]) | high << 4) - 32);
    out.sub[j + 8] = static_cast<int16_t>((high_nibble(scales[j]) | high_of_second << 4) - 32);
  }
  out.scale[0] = load_f16(block + 108);
}

// d | dmin | 12 bytes of scales and minimums | nibbles
//   byte 0 2    4                     16
//        d dmin 12 bytes of 6-bit s, m 128 bytes of nibbles   w = d * s * q - dmin * m
void decode_q4_k(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.minimum = load_f16(block + 2);
  read_scales_and_mins(block + 4, out);
  read_nibbles(block + 16, out.q);
}

// d | dmin | 12 bytes of scales and minimums | fifth bits 32 | nibbles
//   byte 0 2    4        16             48
//        d dmin 12 bytes 32 fifth bits  128 bytes of nibbles
void decode_q5_k(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.minimum = load_f16(block + 2);
  read_scales_and_mins(block + 4, out);
  read_nibbles(block + 48, out.q);
  add_bits(block + 16, 16, out.q);
}

// low nibbles 128 | high bit pairs 64 | 16 signed scale bytes | d; q = n - 32.
// In each half of 128, byte l of 64 holds the nibbles of elements l and l + 64.
//   byte 0           128           192          208
//        low nibbles high bit pairs 16 scales i8 d            w = d * s * (n - 32)
void decode_q6_k(const std::byte* block, DecodedBlock& out) {
  read_bit_pairs(block + 128, out.q);
  for (int64_t h = 0; h < 2; ++h) {
    int8_t* q = out.q + h * 128;
    for (int l = 0; l < 64; ++l) {
      const std::byte nibbles = block[h * 64 + l];
      q[l] = static_cast<int8_t>((q[l] << 4 | low_nibble(nibbles)) - 32);
      q[l + 64] = static_cast<int8_t>((q[l + 64] << 4 | high_nibble(nibbles)) - 32);
    }
  }
  for (int j = 0; j < 16; ++j) {
    const int scale = static_cast<int>(load_u8(block + 192 + j));
    // Sign extension of 8 bits without a cast of a value past int8.
    out.sub[j] = static_cast<int16_t>((scale ^ 128) - 128);
  }
  out.scale[0] = load_f16(block + 208);
}

// The columns that all K formats share.
constexpr BlockFormat super(DType dtype, BlockFormat::Kind kind, int bytes, int sub_block,
                            BlockFormat::Decode decode, BlockFormat::Encode encode) {
  return {dtype, kind, 256, bytes, 256, sub_block, 256, decode, encode};
}

using enum BlockFormat::Kind;
constexpr BlockFormat kFormats[] = {
    super(DType::kQ2_K, kSuperScaleMin, 84, 16, decode_q2_k, encode_q2_k),
    super(DType::kQ3_K, kSuperScale, 110, 16, decode_q3_k, encode_q3_k),
    super(DType::kQ4_K, kSuperScaleMin, 144, 32, decode_q4_k, encode_q4_k),
    super(DType::kQ5_K, kSuperScaleMin, 176, 32, decode_q5_k, encode_q5_k),
    super(DType::kQ6_K, kSuperScale, 210, 16, decode_q6_k, encode_q6_k),
};

}  // namespace

std::span<const BlockFormat> k_block_formats() {
  return kFormats;
}

}  // namespace quern
