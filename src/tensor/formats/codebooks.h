// The 16 integers that the 4-bit codes of a codebook format name; fixed by the file formats.
#pragma once

#include <cstdint>

namespace quern {

// iq4_nl, iq4_xs: a curve fitted to normally distributed weights.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};
// mxfp4, nvfp4: twice the e2m1 values 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; -0 reads as
// 0.
inline constexpr int8_t kFp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace quern
