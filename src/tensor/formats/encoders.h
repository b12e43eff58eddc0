// Encoders of block formats; each writes one block. Bytes are the same on every machine.
#pragma once

#include <cstddef>

namespace quern {

// All take block_size values and write block_bytes bytes, as BlockFormat::Encode says. Scales of
// one block:
void encode_q8_0(const float* x, std::byte* block);
void encode_q4_0(const float* x, std::byte* block);
void encode_q4_1(const float* x, std::byte* block);
void encode_q5_0(const float* x, std::byte* block);
void encode_q5_1(const float* x, std::byte* block);

// Codebooks:
void encode_iq4_nl(const float* x, std::byte* block);
void encode_mxfp4(const float* x, std::byte* block);

// Super-blocks of 256:
void encode_q2_k(const float* x, std::byte* block);
void encode_q3_k(const float* x, std::byte* block);
void encode_q4_k(const float* x, std::byte* block);
void encode_q5_k(const float* x, std::byte* block);
void encode_q6_k(const float* x, std::byte* block);

}  // namespace quern
