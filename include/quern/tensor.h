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
// Errors: the last extent is not a multiple of the block size; the size passes 2^62.
Result<int64_t> dense_size_bytes(DType dtype, const Shape& shape);

// dtype + shape + layout over a Buffer. Copies share the buffer. Thread-compatible.
class Tensor {
 public:
  Tensor() = default;
  // Errors: the buffer is smaller than the dense size.
  static Result<Tensor> make(DType dtype, const Shape& shape, Buffer buffer);
  // Zeroed host tensor, row-major.
  static Result<Tensor> zeros(DType dtype, const Shape& shape);
  // Host tensor with a copy of `values`; the count must equal the shape's.
  template <class T>
  static Result<Tensor> from(DType dtype, const Shape& shape, std::span<const T> values) {
    return from_bytes(dtype, shape, std::as_bytes(values));
  }
  static Result<Tensor> from_bytes(DType dtype, const Shape& shape,
                                   std::span<const std::byte> bytes);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Layout& layout() const { return layout_; }
  const Buffer& buffer() const { return buffer_; }
  Buffer& buffer() { return buffer_; }
  const std::optional<QuantSpec>& quant() const { return quant_; }
  void set_quant(QuantSpec quant) { quant_ = quant; }
  int64_t size_bytes() const;
  bool is_empty() const { return buffer_.is_empty(); }

  // The bytes in host memory; fails on a device buffer. Nothing is copied between devices here.
  Result<std::span<const std::byte>> host_view() const { return buffer_.host_view(); }
  // The fence: waits for pending work and copies to the host.
  Result<std::vector<std::byte>> read() const;
  // read() with elements of type T; sizeof(T) must be the dtype's.
  template <class T>
  Result<std::vector<T>> read_as() const;
  // Same elements under another shape of equal count; row-major only.
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
