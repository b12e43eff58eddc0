// The iq formats of 1 to 3 bits: rows of a codebook with separate signs, 256 elements a block.
// All have an f16 scale d and sub-scales 2 s + 1 with s of 3 or 4 bits.
#include <array>
#include <bit>

#include "tensor/formats/block_bytes.h"
#include "tensor/formats/families.h"
#include "tensor/formats/iq_grids.h"

namespace quern {
namespace {

// q = row with the signs of `signs`: bit i set makes element i negative.
template <size_t kElements>
void put_signed(const std::array<int8_t, kElements>& row, uint32_t signs, int8_t* q) {
  for (size_t i = 0; i < kElements; ++i) {
    const int sign = 1 - 2 * static_cast<int>(signs >> i & 1);
    q[i] = static_cast<int8_t>(row[i] * sign);
  }
}

// 8 signs from 7 stored bits: the number of negative elements is even.
// `signs` has 7 bits or fewer; bit 7 of the result is their parity.
uint32_t with_parity(uint32_t signs) {
  return signs | (static_cast<uint32_t>(std::popcount(signs)) & 1) << 7;
}

// The formats store s for the sub-scale (s + 1/2) d; twice that is odd, and the half goes into d.
int16_t odd_scale(uint32_t s) {
  return static_cast<int16_t>(2 * s + 1);
}

// d | 8 times: 4 row numbers of 8 bits, u32 of 4 x 7 sign bits and s in the top 4
void decode_iq2_xxs(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block) * 0.125f;
  for (int64_t j = 0; j < 8; ++j) {
    const std::byte* rows = block + 2 + j * 8;
    const uint32_t rest = load_u32(rows + 4);
    out.sub[j] = odd_scale(rest >> 28);
    for (int64_t l = 0; l < 4; ++l) {
      //   u32 `rest`:  bits 0-6   7-13   14-20   21-27   28-31
      //                signs 0    1      2       3       s
      put_signed(kIq2XxsGrid[load_u8(rows + l)], with_parity(rest >> (7 * l) & 127),
                 out.q + j * 32 + l * 8);
    }
  }
}

// Two 4-bit s of each byte, low half first: the sub-scales of 16 groups of 16.
void read_nibble_scales(const std::byte* bytes, DecodedBlock& out) {
  for (int64_t j = 0; j < 8; ++j) {
    out.sub[2 * j] = odd_scale(load_u8(bytes + j) & 15);
    out.sub[2 * j + 1] = odd_scale(load_u8(bytes + j) >> 4);
  }
}

// d | 32 u16 of a 9-bit row number and 7 sign bits | 8 bytes of s
void decode_iq2_xs(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block) * 0.125f;
  for (int64_t l = 0; l < 32; ++l) {
    const uint32_t code = load_u16(block + 2 + 2 * l);
    put_signed(kIq2XsGrid[code & 511], with_parity(code >> 9), out.q + l * 8);
  }
  read_nibble_scales(block + 66, out);
}

// d | 32 low bytes of row numbers | 32 sign bytes | 8 bytes of 4 high bit pairs | 8 bytes of s
void decode_iq2_s(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block) * 0.125f;
  for (int64_t l = 0; l < 32; ++l) {
    const auto high = static_cast<uint32_t>(bit_pair(block[66 + l / 4], l % 4));
    const uint32_t row = load_u8(block + 2 + l) | high << 8;
    put_signed(kIq2SGrid[row], load_u8(block + 34 + l), out.q + l * 8);
  }
  read_nibble_scales(block + 74, out);
}

// d | 64 row numbers | 8 u32 of 4 x 7 sign bits and s in the top 4
void decode_iq3_xxs(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block) * 0.25f;
  for (int64_t j = 0; j < 8; ++j) {
    const uint32_t rest = load_u32(block + 66 + j * 4);
    out.sub[j] = odd_scale(rest >> 28);
    for (int64_t l = 0; l < 4; ++l) {
      // Rows of iq3 have 4 elements: two rows share the 8 signs, low half first.
      const std::byte* rows = block + 2 + j * 8 + l * 2;
      const uint32_t signs = with_parity(rest >> (7 * l) & 127);
      put_signed(kIq3XxsGrid[load_u8(rows)], signs, out.q + j * 32 + l * 8);
      put_signed(kIq3XxsGrid[load_u8(rows + 1)], signs >> 4, out.q + j * 32 + l * 8 + 4);
    }
  }
}

// d | 64 low bytes of row numbers | 8 bytes of ninth bits | 32 sign bytes | 4 bytes of s
void decode_iq3_s(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block);
  for (int64_t l = 0; l < 64; ++l) {
    const uint32_t high = load_u8(block + 66 + l / 8) >> (l % 8) & 1;
    const uint32_t signs = load_u8(block + 74 + l / 2) >> (l % 2 * 4);
    put_signed(kIq3SGrid[load_u8(block + 2 + l) | high << 8], signs, out.q + l * 4);
  }
  for (int64_t j = 0; j < 8; ++j) {
    out.sub[j] = odd_scale(load_u8(block + 106 + j / 2) >> (j % 2 * 4) & 15);
  }
}

// q = 8 g + 1, or 8 g - 1 when `is_negative`: the eighth that the format adds to each g.
void put_shifted(const std::array<int8_t, 8>& row, bool is_negative, int8_t* q) {
  const int shift = is_negative ? -1 : 1;
  for (size_t i = 0; i < 8; ++i) q[i] = static_cast<int8_t>(8 * row[i] + shift);
}

// d | 32 low bytes of row numbers | 8 u16 of 4 x 3 high bits, s in bits 12-14, shift in bit 15
void decode_iq1_s(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block) * 0.125f;
  for (int64_t j = 0; j < 8; ++j) {
    const uint32_t rest = load_u16(block + 34 + 2 * j);
    out.sub[j] = odd_scale(rest >> 12 & 7);
    for (int64_t l = 0; l < 4; ++l) {
      // 11 bits: one of 2,048 rows.
      const uint32_t row = load_u8(block + 2 + j * 4 + l) | (rest >> (3 * l) & 7) << 8;
      put_shifted(kIq1Grid[row], rest >> 15 != 0, out.q + j * 32 + l * 8);
    }
  }
}

// 32 low bytes of row numbers | 32 nibbles of 3 high bits and shift | 4 u16 of 4 x 3 bits s; their
// top nibbles, low first, are d
void decode_iq1_m(const std::byte* block, DecodedBlock& out) {
  uint32_t d = 0;
  for (int64_t k = 0; k < 4; ++k) {
    const uint32_t scales = load_u16(block + 48 + 2 * k);
    // iq1_m has no field for d: a nibble of it lies above the three 4 x 3 bits of each u16.
    d |= scales >> 12 << (4 * k);
    for (int64_t j = 0; j < 4; ++j) out.sub[4 * k + j] = odd_scale(scales >> (3 * j) & 7);
  }
  out.scale[0] = f16_to_f32(static_cast<uint16_t>(d)) * 0.125f;
  for (int64_t l = 0; l < 32; ++l) {
    const uint32_t rest = load_u8(block + 32 + l / 2) >> (l % 2 * 4) & 15;
    const uint32_t row = load_u8(block + l) | (rest & 7) << 8;
    put_shifted(kIq1Grid[row], rest >> 3 != 0, out.q + l * 8);
  }
}

// All iq formats have 256 elements and activation blocks of 256; we do not write them.
constexpr BlockFormat iq(DType dtype, int bytes, int sub_block, BlockFormat::Decode decode) {
  return {dtype, BlockFormat::Kind::kSuperScale, 256, bytes, 256, sub_block, 256, decode, nullptr};
}

constexpr BlockFormat kFormats[] = {
    iq(DType::kIQ1_S, 50, 32, decode_iq1_s),     iq(DType::kIQ1_M, 56, 16, decode_iq1_m),
    iq(DType::kIQ2_XXS, 66, 32, decode_iq2_xxs), iq(DType::kIQ2_XS, 74, 16, decode_iq2_xs),
    iq(DType::kIQ2_S, 82, 16, decode_iq2_s),     iq(DType::kIQ3_XXS, 98, 32, decode_iq3_xxs),
    iq(DType::kIQ3_S, 110, 32, decode_iq3_s),
};

}  // namespace

std::span<const BlockFormat> iq_block_formats() {
  return kFormats;
}

}  // namespace quern
