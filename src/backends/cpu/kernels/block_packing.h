// Writes block-quantised rows as a panel of a weight scheme.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/weight_scheme.h"
#include "tensor/block_format.h"

namespace quern::cpu {

// The scheme that holds a format exactly.
SchemeId scheme_of(const BlockFormat& format);

// The integer that the level adds to a weight's integers to make unsigned (or signed full) codes;
// `full_offset` is that of 8-bit codes and the iq4 table.
int code_offset(const WeightScheme& scheme, int full_offset);

// Rows of one panel. `row(lane)` = rows + lane * row_bytes; lanes from num_rows on are zeros.
struct PanelSource {
  const BlockFormat& format;
  const std::byte* rows;
  int64_t row_bytes;
  int num_rows;
  int64_t columns;
};
// `out` has columns / record_size * record_bytes zeroed bytes.
void pack_panel(const PanelSource& source, const WeightScheme& scheme, int lanes, int full_offset,
                std::byte* out);
// The same through BlockFormat::decode, for every format: what direct_packing.h is tested against.
void pack_decoded_panel(const PanelSource& source, const WeightScheme& scheme, int lanes,
                        int full_offset, std::byte* out);

}  // namespace quern::cpu
