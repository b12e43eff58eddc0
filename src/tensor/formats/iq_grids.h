// Codebooks of the iq1, iq2 and iq3 formats: a block stores row numbers, a row is 8 or 4 integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace quern {

template <size_t kElements, size_t kRows>
using IqGrid = std::array<std::array<int8_t, kElements>, kRows>;

extern const IqGrid<8, 2048> kIq1Grid;    // iq1_s, iq1_m: -1, 0, 1
extern const IqGrid<8, 256> kIq2XxsGrid;  // magnitudes 8, 25, 43
extern const IqGrid<8, 512> kIq2XsGrid;   // magnitudes 8, 25, 43
extern const IqGrid<8, 1024> kIq2SGrid;   // magnitudes 8, 25, 43
extern const IqGrid<4, 256> kIq3XxsGrid;  // magnitudes 4 to 62
extern const IqGrid<4, 512> kIq3SGrid;    // odd magnitudes 1 to 15

}  // namespace quern
