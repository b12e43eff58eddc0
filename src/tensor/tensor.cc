// Tensors over buffers.
#include "quern/tensor.h"

#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"

namespace quern {

Result<int64_t> dense_size_bytes(DType dtype, const Shape& shape) {
  // A shape from a list of extents was never checked: negative ones would give a negative size.
  QUERN_TRY(Shape::make(shape.dims()));
  const DTypeInfo& info = dtype_info(dtype);
  // Blocks run along the last axis and never across the end of a row; last() of a scalar is 1,
  // which no type of packed elements divides.
  if (shape.last() % info.block_size != 0) {
    return fail::invalid("The last extent {} of a {} tensor is not a multiple of its block of {}.",
                         shape.last(), info.name, info.block_size);
  }
  const auto bytes = checked_multiply(shape.num_elements() / info.block_size, info.block_bytes);
  if (!bytes || *bytes >= int64_t{1} << 62) {
    return fail::invalid("A {} tensor of shape {} has 2^62 bytes or more.", info.name,
                         shape.to_string());
  }
  return *bytes;
}

Result<Tensor> Tensor::make(DType dtype, const Shape& shape, Buffer buffer) {
  QUERN_ASSIGN_OR_RETURN(const int64_t needed, dense_size_bytes(dtype, shape));
  // A larger buffer is taken: slices of a file may run to the file's end.
  if (buffer.size_bytes() < needed) {
    return fail::invalid("A {} tensor of shape {} needs {} bytes; the buffer has {}.",
                         dtype_name(dtype), shape.to_string(), needed, buffer.size_bytes());
  }
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.buffer_ = std::move(buffer);
  return tensor;
}

Result<Tensor> Tensor::zeros(DType dtype, const Shape& shape) {
  QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(dtype, shape));
  QUERN_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate_host(size));
  return make(dtype, shape, std::move(buffer));
}

Result<Tensor> Tensor::from_bytes(DType dtype, const Shape& shape,
                                  std::span<const std::byte> bytes) {
  QUERN_ASSIGN_OR_RETURN(const int64_t size, dense_size_bytes(dtype, shape));
  // Other than in make(): bytes that are left over mean a caller with another shape in mind.
  if (size != static_cast<int64_t>(bytes.size())) {
    return fail::invalid("A {} tensor of shape {} has {} bytes; {} were given.", dtype_name(dtype),
                         shape.to_string(), size, bytes.size());
  }
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, zeros(dtype, shape));
  QUERN_TRY(tensor.buffer_.write(0, bytes));
  return tensor;
}

int64_t Tensor::size_bytes() const {
  const auto size = dense_size_bytes(dtype_, shape_);
  return size ? *size : 0;
}

Result<std::vector<std::byte>> Tensor::read() const {
  std::vector<std::byte> bytes(static_cast<size_t>(size_bytes()));
  // A buffer of no bytes may be empty altogether.
  if (!bytes.empty()) QUERN_TRY(buffer_.read(0, bytes));
  return bytes;
}

template <class T>
Result<std::vector<T>> Tensor::read_as() const {
  const DTypeInfo& info = dtype_info(dtype_);
  if (info.block_size != 1 || info.block_bytes != static_cast<int32_t>(sizeof(T))) {
    return fail::invalid("A {} tensor cannot be read as elements of {} bytes.", info.name,
                         sizeof(T));
  }
  QUERN_ASSIGN_OR_RETURN(const auto bytes, read());
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The element types that the header promises.
template Result<std::vector<float>> Tensor::read_as<float>() const;
template Result<std::vector<double>> Tensor::read_as<double>() const;
template Result<std::vector<int8_t>> Tensor::read_as<int8_t>() const;
template Result<std::vector<uint8_t>> Tensor::read_as<uint8_t>() const;
template Result<std::vector<int16_t>> Tensor::read_as<int16_t>() const;
template Result<std::vector<uint16_t>> Tensor::read_as<uint16_t>() const;
template Result<std::vector<int32_t>> Tensor::read_as<int32_t>() const;
template Result<std::vector<uint32_t>> Tensor::read_as<uint32_t>() const;
template Result<std::vector<int64_t>> Tensor::read_as<int64_t>() const;
template Result<std::vector<uint64_t>> Tensor::read_as<uint64_t>() const;

// Only the shape changes: block formats need rows of whole blocks in the new one too.
Result<Tensor> Tensor::reshape(const Shape& shape) const {
  if (layout_.kind != LayoutKind::kRowMajor || shape.num_elements() != shape_.num_elements()) {
    return fail::invalid("A tensor of shape {} cannot be reshaped to {}.", shape_.to_string(),
                         shape.to_string());
  }
  QUERN_ASSIGN_OR_RETURN(Tensor result, make(dtype_, shape, buffer_));
  result.quant_ = quant_;
  return result;
}

}  // namespace quern
