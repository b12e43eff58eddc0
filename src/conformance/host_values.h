// Elements of host tensors as numbers, for comparing and converting them.
#pragma once

#include <span>
#include <vector>

#include "quern/op.h"
#include "quern/tensor.h"

namespace quern {

// A view of a host tensor for kernels that do not write it; null data for an empty tensor.
// Errors: the tensor is in device memory.
Result<TensorView> host_view_of(const Tensor& tensor);

// All elements as f64, complex numbers as pairs: exact but for 64-bit integers past 2^53; none of
// an empty tensor. Reads the tensor wherever it is. Errors: a dtype that is no plain number.
Result<std::vector<double>> numbers_of(const Tensor& tensor);

// The reverse: floats round once to nearest even, integers round and clamp.
Result<Tensor> tensor_of_numbers(DType dtype, const Shape& shape, std::span<const double> values);

// Floats in another float dtype; complex numbers in the one of that precision (f64: complex128,
// else complex64); other tensors as they are.
Result<Tensor> in_precision(const Tensor& tensor, DType dtype);

bool is_complex(DType dtype);

}  // namespace quern
