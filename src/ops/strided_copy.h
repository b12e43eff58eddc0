// Gathers a strided arrangement of elements into a dense tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "quern/shape.h"

namespace quern {

// Row-major strides of a dense tensor, in elements.
std::array<int64_t, kMaxRank> dense_strides(const Shape& shape);

// Element (i0, i1, ...) of the dense `target` of extents `shape` is the element of `source` at
// sum(i * strides), in elements of `element_bytes`; a stride of 0 repeats.
void strided_copy(const std::byte* source, std::span<const int64_t> strides, const Shape& shape,
                  int64_t element_bytes, std::byte* target);

}  // namespace quern
