// The lists of block formats, one for each family's file.
#pragma once

#include <span>

#include "tensor/block_format.h"

namespace quern {

// Static tables: the spans never end. Thread-safe.
std::span<const BlockFormat> simple_block_formats();    // q8_0, q4_0, q4_1, q5_0, q5_1, q1_0, q2_0
std::span<const BlockFormat> codebook_block_formats();  // iq4_nl, iq4_xs, mxfp4, nvfp4
std::span<const BlockFormat> ternary_block_formats();   // tq1_0, tq2_0
std::span<const BlockFormat> k_block_formats();         // q2_K to q6_K
std::span<const BlockFormat> iq_block_formats();        // iq1, iq2, iq3

}  // namespace quern
