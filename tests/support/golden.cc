// Arrays of an .npz file as tensors.
#include "support/golden.h"

#include <gtest/gtest.h>

#include <optional>

namespace quern::test {
namespace {

// NumPy's names: byte order ('|' where there is none), kind, and bytes of an element.
std::optional<DType> dtype_of(std::string_view descr) {
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"<f8", DType::kF64}, {"<f4", DType::kF32}, {"<f2", DType::kF16},
      {"<i8", DType::kI64}, {"<i4", DType::kI32}, {"<i2", DType::kI16},
      {"|i1", DType::kI8},  {"<u8", DType::kU64}, {"<u4", DType::kU32},
      {"<u2", DType::kU16}, {"|u1", DType::kU8},  {"<c16", DType::kComplex128}};
  for (const auto& [name, dtype] : kTypes) {
    if (name == descr) return dtype;
  }
  return std::nullopt;
}

}  // namespace

Result<Golden> Golden::open(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(NpzArchive archive, read_npz(path));
  Golden golden;
  golden.archive_ = std::move(archive);
  golden.path_ = path;
  return golden;
}

const NpyArray* Golden::find(std::string_view name) const {
  const auto it = archive_.find(std::string(name));
  if (it != archive_.end()) return &it->second;
  ADD_FAILURE() << path_ << " has no array '" << name << "'";
  return nullptr;
}

// Failures are reported here, so that tests need no checks of their own.
Tensor Golden::tensor(std::string_view name) const {
  const NpyArray* array = find(name);
  if (array == nullptr) return Tensor();
  const auto dtype = dtype_of(array->dtype);
  const auto shape = Shape::make(array->shape);
  if (dtype && shape) return tensor(name, *dtype, *shape);
  ADD_FAILURE() << "array '" << name << "' of " << path_ << " has the type " << array->dtype;
  return Tensor();
}

// For dtypes that NumPy does not have, such as bf16 and block formats, kept as integers.
Tensor Golden::tensor(std::string_view name, DType dtype, const Shape& shape) const {
  const NpyArray* array = find(name);
  if (array == nullptr) return Tensor();
  auto tensor = Tensor::from_bytes(dtype, shape, array->bytes);
  if (tensor) return std::move(*tensor);
  ADD_FAILURE() << "array '" << name << "' of " << path_ << ": " << tensor.error().message;
  return Tensor();
}

}  // namespace quern::test
