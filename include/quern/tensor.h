// A typed, shaped value in a buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/buffer.h"
#include "quern/dtype.h"
#include "quern/error.h"
#include "quern/layout.h"
#include "quern/shape.h"

namespace quern {

// Bytes of a dense row-major tensor: rows are whole blocks of the dtype.
// Errors, all kInvalidArgument: extents that Shape::make refuses, a last extent that is not a
// multiple of the block size, 2^62 bytes or more.
Result<int64_t> dense_size_bytes(DType dtype, const Shape& shape);

// dtype + shape + layout over a Buffer. Copies share the buffer: a write to one is seen by all.
// A default-made tensor is empty: rank 0 without a buffer. Thread-compatible.
class Tensor {
 public:
  Tensor() = default;
  // Row-major over the first bytes of `buffer`, which may be larger.
  // Errors: kInvalidArgument where the buffer is smaller than the dense size, and those of
  // dense_size_bytes().
  static Result<Tensor> make(DType dtype, const Shape& shape, Buffer buffer);
  // Zeroed host tensor, row-major. Errors: dense_size_bytes(), kResourceExhausted.
  static Result<Tensor> zeros(DType dtype, const Shape& shape);
  // Host tensor with a copy of `values`; their bytes must be the tensor's, so T has the size of
  // the dtype's elements. Errors: kInvalidArgument for another count.
  template <class T>
  static Result<Tensor> from(DType dtype, const Shape& shape, std::span<const T> values) {
    return from_bytes(dtype, shape, std::as_bytes(values));
  }
  // The same from the bytes of a dense tensor in host byte order; for block formats too.
  static Result<Tensor> from_bytes(DType dtype, const Shape& shape,
                                   std::span<const std::byte> bytes);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Layout& layout() const { return layout_; }
  const Buffer& buffer() const { return buffer_; }
  Buffer& buffer() { return buffer_; }
  // How integers stand for real numbers, where they do; absent for plain numbers and for the
  // block formats, whose scales lie in the blocks.
  const std::optional<QuantSpec>& quant() const { return quant_; }
  void set_quant(QuantSpec quant) { quant_ = quant; }
  // Dense size; the buffer may be larger.
  int64_t size_bytes() const;
  // Without a buffer. A tensor of 0 elements has one.
  bool is_empty() const { return buffer_.is_empty(); }

  // The bytes of the buffer in host memory; nothing is copied between devices here.
  // Errors: kFailedPrecondition for a device buffer and an empty tensor.
  Result<std::span<const std::byte>> host_view() const { return buffer_.host_view(); }
  // The fence: waits for pending work and copies the dense bytes to the host.
  Result<std::vector<std::byte>> read() const;
  // read() with elements of type T. Errors: kInvalidArgument where sizeof(T) is not the size of
  // the dtype's elements, or a block holds several.
  template <class T>
  Result<std::vector<T>> read_as() const;
  // Same elements under another shape of equal count, on the same buffer; row-major only.
  // Errors: kInvalidArgument for another count or rows that are not whole blocks.
  Result<Tensor> reshape(const Shape& shape) const;

 private:
  DType dtype_ = DType::kF32;
  Shape shape_;
  Layout layout_;
  Buffer buffer_;
  std::optional<QuantSpec> quant_;
};

extern template Result<std::vector<float>> Tensor::read_as<float>() const;
extern template Result<std::vector<double>> Tensor::read_as<double>() const;
extern template Result<std::vector<int8_t>> Tensor::read_as<int8_t>() const;
extern template Result<std::vector<uint8_t>> Tensor::read_as<uint8_t>() const;
extern template Result<std::vector<int16_t>> Tensor::read_as<int16_t>() const;
extern template Result<std::vector<uint16_t>> Tensor::read_as<uint16_t>() const;
extern template Result<std::vector<int32_t>> Tensor::read_as<int32_t>() const;
extern template Result<std::vector<uint32_t>> Tensor::read_as<uint32_t>() const;
extern template Result<std::vector<int64_t>> Tensor::read_as<int64_t>() const;
extern template Result<std::vector<uint64_t>> Tensor::read_as<uint64_t>() const;

}  // namespace quern
