// Float tensors as plain arrays of the type in which a reference kernel computes.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "ops/float_rows.h"
#include "quern/op.h"

namespace quern {

// A kernel with a template `run<T>`, computing in the type of the first input.
// `Kernel` has `template <class T> static Result<void> run(const KernelContext&)`; an OpDef takes
// float_kernel<Kernel> as its reference. The first input must be present.
template <class Kernel>
Result<void> float_kernel(const KernelContext& context) {
  return with_compute_type(context.inputs[0].dtype,
                           [&]<class T>(T) { return Kernel::template run<T>(context); });
}

// The dtype whose memory can be read as T without a conversion: f64 for double, f32 for float.
template <class T>
inline constexpr DType kComputeDType = std::is_same_v<T, double> ? DType::kF64 : DType::kF32;

// Elements of a float tensor as T: the tensor's own memory where its dtype is T, else a converted
// copy (an f64 tensor read as float rounds). An absent tensor reads as empty.
// Borrows the tensor's memory, which must live as long. Not copyable, since data_ may point into
// copy_.
template <class T>
class FloatInput {
 public:
  explicit FloatInput(const TensorView& tensor) {
    if (!tensor.is_present()) return;
    size_ = tensor.shape.num_elements();
    data_ = tensor.as<const T>();
    if (tensor.dtype == kComputeDType<T>) return;
    copy_.resize(static_cast<size_t>(size_) + 1);  // an empty tensor is not an absent one
    load_row(tensor, 0, size_, copy_.data());
    data_ = copy_.data();
  }
  FloatInput(const FloatInput&) = delete;
  FloatInput& operator=(const FloatInput&) = delete;

  const T& operator[](int64_t i) const { return data_[i]; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  bool is_present() const { return data_ != nullptr; }

 private:
  std::vector<T> copy_;
  const T* data_ = nullptr;
  int64_t size_ = 0;
};

// An output of T, in the tensor's own memory where its dtype is T; else the elements are rounded
// into the tensor, once each, when this object ends.
// Elements that the kernel does not write are zeros in a copy, and whatever the memory held
// otherwise: a kernel writes all of them.
template <class T>
class FloatOutput {
 public:
  explicit FloatOutput(const TensorView& tensor)
      : tensor_(tensor), data_(tensor.as<T>()), size_(tensor.shape.num_elements()) {
    if (tensor.dtype == kComputeDType<T>) return;
    copy_.resize(static_cast<size_t>(size_));
    data_ = copy_.data();
  }
  ~FloatOutput() {
    // Without elements there is nothing to store.
    if (!copy_.empty()) store_row(tensor_, 0, size_, copy_.data());
  }
  FloatOutput(const FloatOutput&) = delete;
  FloatOutput& operator=(const FloatOutput&) = delete;

  T& operator[](int64_t i) { return data_[i]; }
  T* data() { return data_; }
  int64_t size() const { return size_; }

 private:
  TensorView tensor_;
  std::vector<T> copy_;
  T* data_;
  int64_t size_;
};

}  // namespace quern
