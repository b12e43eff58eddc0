// Formats of weights -1, 0, +1 with one scale for 256 of them.
#include "tensor/formats/block_bytes.h"
#include "tensor/formats/families.h"

namespace quern {
namespace {

// A byte packs base-3 digits as the fraction byte / 256 = 0.d0 d1 d2 ... in base 3, rounded up.
// Digit n: shift n digits out (a product modulo 256), then take the integer part of 3 times the
// rest. The bytes of a group hold their first digits as consecutive elements, then their second,
// ...
// A byte may be any value: rest * 3 is at most 765, so a digit is 0, 1 or 2 in each case.
int8_t* read_trits(const std::byte* bytes, int num_bytes, int digits, int8_t* q) {
  uint32_t power = 1;
  for (int n = 0; n < digits; ++n) {
    for (int i = 0; i < num_bytes; ++i) {
      const uint32_t rest = load_u8(bytes + i) * power & 255;
      *q++ = static_cast<int8_t>(static_cast<int>(rest * 3 >> 8) - 1);
    }
    power *= 3;
  }
  return q;
}

// 32 bytes of 5 digits | 16 bytes of 5 | 4 bytes of 4 | d f16
void decode_tq1_0(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block + 52);
  out.sub[0] = 1;
  int8_t* q = read_trits(block, 32, 5, out.q);
  q = read_trits(block + 32, 16, 5, q);
  read_trits(block + 48, 4, 4, q);
}

// 2 x 32 bytes, bit pair l of byte m being element 32 l + m of its half | d f16; q = n - 1
void decode_tq2_0(const std::byte* block, DecodedBlock& out) {
  out.scale[0] = load_f16(block + 64);
  out.sub[0] = 1;
  int8_t* q = out.q;
  for (int half = 0; half < 2; ++half) {
    for (int l = 0; l < 4; ++l) {
      for (int m = 0; m < 32; ++m) {
        *q++ = static_cast<int8_t>(bit_pair(block[half * 32 + m], l) - 1);
      }
    }
  }
}

using enum BlockFormat::Kind;
constexpr BlockFormat kFormats[] = {
    {DType::kTQ1_0, kScale, 256, 54, 256, 256, 256, decode_tq1_0, nullptr},
    {DType::kTQ2_0, kScale, 256, 66, 256, 256, 256, decode_tq2_0, nullptr},
};

}  // namespace

std::span<const BlockFormat> ternary_block_formats() {
  return kFormats;
}

}  // namespace quern
