// Kernels that work on integers as well as floats.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/fail.h"
#include "ops/float_access.h"
#include "quern/op.h"

namespace quern {

// Calls `f` with a zero of the integer type of `dtype`, 8 to 64 bits.
template <class F>
Result<void> with_integer_type(DType dtype, F&& f) {
  switch (dtype) {
    // One instance of the kernel for each width and sign.
    case DType::kI64:
      return f(int64_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kU64:
      return f(uint64_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kU16:
      return f(uint16_t{});
    case DType::kU8:
      return f(uint8_t{});
    default:
      // Type rules refuse these before any run; the error is for a rule that forgets to.
      return fail::unimplemented("There are no kernels on {} elements.", dtype_name(dtype));
  }
}

// Elements of an integer tensor, with the interface of FloatInput and FloatOutput.
// Borrowed memory that outlives the object. operator[] is const: only the view is.
template <class Int>
class IntegerElements {
 public:
  IntegerElements(Int* data, int64_t size) : data_(data), size_(size) {}
  explicit IntegerElements(const TensorView& view)
      : data_(view.as<Int>()), size_(view.shape.num_elements()) {}
  Int& operator[](int64_t i) const { return data_[i]; }
  int64_t size() const { return size_; }

 private:
  Int* data_;
  int64_t size_;
};

// Reads and writes elements of T: a compute type (narrow floats convert) or an integer type.
template <class T>
struct NumberAccess {
  using Input = IntegerElements<T>;
  using Output = IntegerElements<T>;
};
template <std::floating_point T>
struct NumberAccess<T> {
  using Input = FloatInput<T>;
  using Output = FloatOutput<T>;
};

// A kernel with a template `run<T>`: T is double or float for floats, else the integer type.
template <class Kernel>
Result<void> number_kernel(const KernelContext& context) {
  // The first input decides: rules of these operations make all inputs of one dtype.
  const DType dtype = context.inputs[0].dtype;
  if (is_float(dtype)) return float_kernel<Kernel>(context);
  return with_integer_type(dtype, [&]<class T>(T) { return Kernel::template run<T>(context); });
}

// Integer arithmetic that wraps, float arithmetic as it is.
// By way of uint64_t, because signed overflow is undefined; the cast keeps the low bits (C++20).
template <class T>
constexpr T wrapping_add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
constexpr T wrapping_subtract(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a - b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <class T>
constexpr T wrapping_multiply(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace quern
