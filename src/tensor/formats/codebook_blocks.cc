// Formats whose 4-bit codes name one of 16 unevenly spaced integers: iq4 and the fp4 kinds.
#include <bit>

#include "tensor/formats/block_bytes.h"
#include "tensor/formats/codebooks.h"
#include "tensor/formats/encoders.h"
#include "tensor/formats/families.h"

namespace quern {
namespace {

// `half` bytes; byte j holds element j in its low half and element j + half in its high half.
void read_codes(const std::byte* codes, int half, const int8_t (&values)[16], int8_t* q) {
  for (int64_t j = 0; j < half; ++j) {
    q[j] = values[low_nibble(codes[j])];
    q[j + half] = values[high_nibble(codes[j])];
  }
}

// d f16 | codes 16
void decode_iq4_nl(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  out.sub[0] = 1;
  read_codes(block + 2, 16, kIq4Values, out.q);
}

// d f16 | u16 of 8 high scale bit pairs | 8 low scale nibbles | codes 16 of each 32
void decode_iq4_xs(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  // 6-bit sub-scales less 32: pair j of the u16 above nibble j of the 4 bytes.
  const int high = static_cast<int>(load_u16(block + 2));
  for (int64_t j = 0; j < 8; ++j) {
    const int low = static_cast<int>(load_u8(block + 4 + j / 2)) >> (j % 2 * 4) & 15;
    out.sub[j] = static_cast<int16_t>((low | (high >> (2 * j) & 3) << 4) - 32);
    read_codes(block + 8 + j * 16, 16, kIq4Values, out.q + j * 32);
  }
}

// Exponent byte | codes 16. The scale is 2^(byte - 128), half of e8m0 since the integers are
// doubled: exact for every byte, denormal for 0 and 1.
void decode_mxfp4(const std::byte* block, DecodedBlock& out) {
  const uint32_t byte = load_u8(block);
  // The exponent field of 2^(byte - 128) is byte - 1; 2^-128 and 2^-127 lie below the normal range,
  // where bit 21 weighs 2^-128 and bit 22 weighs 2^-127.
  out.scale[0] = std::bit_cast<float>(byte < 2 ? 1u << (21 + byte) : (byte - 1) << 23);
  out.sub[0] = 1;
  read_codes(block + 1, 16, kFp4Values, out.q);
}

// 4 scale bytes | codes 8 of each 16. A scale is half of an e4m3 without sign; 0x7F is 0.
//    byte  0 .. 3         4 .. 11       12 .. 19      20 .. 27      28 .. 35
//          scale g = 0-3  elements 0-15 elements 16-31  32-47         48-63
void decode_nvfp4(const std::byte* block, DecodedBlock& out) {
  out.sub[0] = 1;
  for (int64_t g = 0; g < 4; ++g) {
    const uint32_t code = load_u8(block + g) & 0x7F;
    out.scale[g] = code == 0x7F ? 0.0f : f8e4m3_to_f32(static_cast<uint8_t>(code)) * 0.5f;
    read_codes(block + 4 + g * 8, 8, kFp4Values, out.q + g * 16);
  }
}

using enum BlockFormat::Kind;
// Columns: dtype, kind, elements, bytes, scale group, sub-block, activation block, decoder,
// encoder.
constexpr BlockFormat kFormats[] = {
    {DType::kIQ4_NL, kScale, 32, 18, 32, 32, 32, decode_iq4_nl, encode_iq4_nl},
    {DType::kIQ4_XS, kSuperScale, 256, 136, 256, 32, 256, decode_iq4_xs, nullptr},
    {DType::kMXFP4, kScale, 32, 17, 32, 32, 32, decode_mxfp4, encode_mxfp4},
    {DType::kNVFP4, kScale, 64, 36, 16, 64, 32, decode_nvfp4, nullptr},
};

}  // namespace

std::span<const BlockFormat> codebook_block_formats() {
  return kFormats;
}

}  // namespace quern
