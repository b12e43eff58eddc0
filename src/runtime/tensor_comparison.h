// How far two tensors of one type are apart, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quern/tensor.h"

namespace quern {

// Of all elements that differ. Indices count in row-major order.
struct TensorDifference {
  // Of the tensor, and of them those that differ.
  int64_t num_elements = 0;
  int64_t num_different = 0;
  int64_t first_index = 0;  // of the first element that differs
  int64_t worst_index = 0;  // of the largest difference; a NaN or infinity on one side is worst
  // The worst pair.
  double worst_actual = 0;
  double worst_expected = 0;
  double max_absolute = 0;
  // max_absolute divided by the largest finite magnitude that is expected.
  double max_relative = 0;
  // The largest distance in steps of the dtype's numbers; 0 for integers.
  double max_ulp = 0;
};

// Nothing where all elements have the same bits; NaNs are equal to each other. Elements are numbers
// of 8 bits and more; complex numbers count as two elements.
// Errors: kInvalidArgument for other dtypes and for tensors of different types.
Result<std::optional<TensorDifference>> compare_tensors(const Tensor& actual,
                                                        const Tensor& expected);

// "[0, 3, 5]" of a row-major index.
// `index` below the number of elements; a scalar gives "[]".
std::string element_position(const Shape& shape, int64_t index);

}  // namespace quern
