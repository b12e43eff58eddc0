// Gathers a strided arrangement of elements into a dense tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "quern/shape.h"

namespace quern {

// Row-major strides of a dense tensor, in elements.
// Entries past the rank are 0.
std::array<int64_t, kMaxRank> dense_strides(const Shape& shape);

// Element (i0, i1, ...) of the dense `target` of extents `shape` is the element of `source` at
// sum(i * strides), in elements of `element_bytes`; a stride of 0 repeats.
// The two do not overlap. `strides` has an entry for each axis, `element_bytes` is any whole size.
// Without elements nothing is touched, so both pointers may be null.
void strided_copy(const std::byte* source, std::span<const int64_t> strides, const Shape& shape,
                  int64_t element_bytes, std::byte* target);

}  // namespace quern
