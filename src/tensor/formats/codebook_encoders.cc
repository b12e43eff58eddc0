// Encoders of the 4-bit codebook formats; codebook_blocks.cc describes the bytes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tensor/formats/block_bytes.h"
#include "tensor/formats/codebook_fit.h"
#include "tensor/formats/codebooks.h"
#include "tensor/formats/encode_block.h"
#include "tensor/formats/encoders.h"

namespace quern {
namespace {

// The first code of each value; q holds values of the codebook only.
void write_codes(const int8_t* q, const int8_t (&values)[16], std::byte* codes) {
  const auto code_of = [&values](int8_t value) {
    // 0 has two codes in fp4 (0 and -0); the first is written.
    return static_cast<int>(std::find(std::begin(values), std::end(values), value) - values) & 15;
  };
  for (int j = 0; j < 16; ++j) {
    codes[j] = static_cast<std::byte>(code_of(q[j]) | code_of(q[j + 16]) << 4);
  }
}

// The scale as f16, then the codes.
void pack_iq4_nl(const DecodedBlock& in, std::byte* block) {
  store_f16(block, in.scale[0]);
  write_codes(in.q, kIq4Values, block + 2);
}

// The scale byte has no NaN: a block that is not finite becomes 12 * 2^127, which is infinity.
void pack_mxfp4(const DecodedBlock& in, std::byte* block) {
  if (std::isnan(in.scale[0])) {
    store_u8(block, 255);
    std::fill_n(block + 1, 16, std::byte{0x77});
    return;
  }
  // The inverse of decode_mxfp4(): scales are 2^-126 to 2^126, so the byte is 2 to 254.
  store_u8(block, (std::bit_cast<uint32_t>(in.scale[0]) >> 23) + 1);
  write_codes(in.q, kFp4Values, block + 1);
}

}  // namespace

// See codebook_fit.cc for the search.
void encode_iq4_nl(const float* x, std::byte* block) {
  encode_block<32, fit_iq4, pack_iq4_nl>(x, block);
}
void encode_mxfp4(const float* x, std::byte* block) {
  encode_block<32, fit_fp4, pack_mxfp4>(x, block);
}

}  // namespace quern
