// Panels of the common formats written straight from the blocks of a file: a rearrangement of bits,
// several times faster than decoding and coding again. Loading a model is mostly this.
#pragma once

#include "backends/cpu/kernels/block_packing.h"

namespace quern::cpu {

// What pack_panel() writes, bit for bit up to the payloads of NaN scales. False, with nothing
// written, for formats that have no direct form: q8_0, q4_0, q4_1, q5_0, q5_1, q4_K, q5_K and q6_K
// have one. `full_offset` is 0 or 128.
bool pack_panel_directly(const PanelSource& source, const WeightScheme& scheme, int lanes,
                         int full_offset, std::byte* out);

}  // namespace quern::cpu
