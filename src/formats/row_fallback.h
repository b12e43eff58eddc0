// What a matrix gets when its rows are no whole number of blocks of the wanted format.
#pragma once

#include <cstdint>

#include "quern/dtype.h"

namespace quern {

// Whether rows of this length are whole blocks of the format.
bool rows_fit(DType dtype, int64_t row_length);
// `wanted` where it fits, else a format of 32 elements with at least as many bits, else f16.
DType dtype_for_rows(DType wanted, int64_t row_length);

}  // namespace quern
