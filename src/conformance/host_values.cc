// Conversions through f64.
#include "conformance/host_values.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/fail.h"
#include "ops/float_rows.h"
#include "ops/number_kernel.h"

namespace quern {
namespace {

// Both parts of complex numbers, one after the other.
template <class T>
std::vector<double> parts_of(const TensorView& view) {
  // Copied out, since bytes of a buffer need not be aligned to T.
  std::vector<T> parts(static_cast<size_t>(view.shape.num_elements()) * 2);
  if (!parts.empty()) std::memcpy(parts.data(), view.data, parts.size() * sizeof(T));
  return {parts.begin(), parts.end()};
}

template <class T>
void store_parts(const TensorView& view, std::span<const double> values) {
  for (size_t i = 0; i < values.size(); ++i) view.as<T>()[i] = static_cast<T>(values[i]);
}

}  // namespace

bool is_complex(DType dtype) {
  return dtype == DType::kComplex64 || dtype == DType::kComplex128;
}

// The tensor's memory as kernels see it; it must be on the host.
Result<TensorView> host_view_of(const Tensor& tensor) {
  // A tensor without elements still has an address, since null means absent.
  static std::array<std::byte, 64> nothing{};
  if (tensor.is_empty()) return TensorView{};
  QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.host_view());
  std::byte* data = bytes.empty() ? nothing.data() : const_cast<std::byte*>(bytes.data());
  return TensorView{.dtype = tensor.dtype(), .shape = tensor.shape(), .data = data};
}

// All elements as doubles, both parts of complex ones; block formats have none.
Result<std::vector<double>> numbers_of(const Tensor& tensor) {
  if (tensor.is_empty() || tensor.shape().num_elements() == 0) return std::vector<double>{};
  QUERN_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, tensor.read());
  const TensorView view{.dtype = tensor.dtype(), .shape = tensor.shape(), .data = bytes.data()};
  // Every float dtype fits in f64 without loss.
  if (is_float(view.dtype)) return load_all<double>(view);
  if (view.dtype == DType::kComplex64) return parts_of<float>(view);
  if (view.dtype == DType::kComplex128) return parts_of<double>(view);
  std::vector<double> values(static_cast<size_t>(view.shape.num_elements()));
  QUERN_TRY(with_integer_type(view.dtype, [&]<class T>(T) -> Result<void> {
    std::copy_n(view.as<const T>(), values.size(), values.begin());
    return {};
  }));
  return values;
}

// Rounds each number once to the dtype.
Result<Tensor> tensor_of_numbers(DType dtype, const Shape& shape, std::span<const double> values) {
  QUERN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(dtype, shape));
  const size_t parts = is_complex(dtype) ? 2 : 1;
  // Complex numbers take two each.
  if (values.size() != parts * static_cast<size_t>(shape.num_elements())) {
    return fail::invalid("A tensor of shape {} has {} elements; {} numbers were given.",
                         shape.to_string(), shape.num_elements(), values.size());
  }
  QUERN_ASSIGN_OR_RETURN(const TensorView view, host_view_of(tensor));
  if (dtype == DType::kComplex64) {
    store_parts<float>(view, values);
  } else if (dtype == DType::kComplex128) {
    store_parts<double>(view, values);
  } else if (is_float(dtype)) {
    store_row(view, 0, static_cast<int64_t>(values.size()), values.data());
  } else {
    QUERN_TRY(store_numbers(view, values));
  }
  return tensor;
}

// Floats and complex numbers in the precision of `dtype`; integers stay.
Result<Tensor> in_precision(const Tensor& tensor, DType dtype) {
  DType wanted = tensor.dtype();
  if (is_float(wanted)) wanted = dtype;
  // There is no complex type of half precision.
  if (is_complex(wanted)) wanted = dtype == DType::kF64 ? DType::kComplex128 : DType::kComplex64;
  if (tensor.is_empty() || wanted == tensor.dtype()) return tensor;
  QUERN_ASSIGN_OR_RETURN(const std::vector<double> values, numbers_of(tensor));
  return tensor_of_numbers(wanted, tensor.shape(), values);
}

}  // namespace quern
