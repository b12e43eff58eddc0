// Runs one operation on tensors: type rule, then reference kernel.
#pragma once

#include <string_view>
#include <vector>

#include "quern/op.h"
#include "quern/tensor.h"

namespace quern::test {

// Inputs in port order; an empty Tensor is an absent input, and trailing ones may be left out.
// Attributes not given take their defaults. With `kv`, a state of kind "kv" with the dims of `kv`
// is declared under the name in the attribute `state`.
// Errors: those of the engine: kNotFound for an unknown id, the type rule's, the kernel's.
Result<std::vector<Tensor>> run_op(std::string_view id, std::vector<Tensor> inputs,
                                   Attributes attributes = {}, KvState* kv = nullptr);

// The type rule alone.
Result<std::vector<TensorType>> infer_op(std::string_view id, const std::vector<TensorType>& inputs,
                                         const Attributes& attributes = {},
                                         const std::vector<StateDecl>& states = {});

// The only output of a run that must succeed; a failed expectation and an empty tensor if not.
Tensor run_one(std::string_view id, std::vector<Tensor> inputs, Attributes attributes = {},
               KvState* kv = nullptr);

// A host tensor of `values`; T must be the C++ type of dtype's elements (bit patterns for f16).
template <class T>
Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<T>& values) {
  auto tensor = Tensor::from<T>(dtype, shape, values);
  return tensor ? std::move(*tensor) : Tensor();
}
inline Tensor f32(const Shape& shape, const std::vector<float>& values) {
  return tensor_of(DType::kF32, shape, values);
}
inline Tensor f64(const Shape& shape, const std::vector<double>& values) {
  return tensor_of(DType::kF64, shape, values);
}
inline Tensor i32(const Shape& shape, const std::vector<int32_t>& values) {
  return tensor_of(DType::kI32, shape, values);
}

// Elements of a tensor as T; empty if the sizes do not match.
template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  auto values = tensor.read_as<T>();
  return values ? std::move(*values) : std::vector<T>();
}

}  // namespace quern::test
