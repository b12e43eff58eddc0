// Loads and stores of float rows over the conversions of the tensor layer.
#include "ops/float_rows.h"

#include <algorithm>
#include <type_traits>

#include "base/fail.h"
#include "tensor/convert.h"

namespace quern {
namespace {

// The address of an element. Only for dtypes of one element a block: the bytes of a block format
// are no multiple of an index.
std::byte* element(const TensorView& view, int64_t index) {
  return view.data + index * dtype_info(view.dtype).block_bytes;
}

// Integers as quantising rounds them: ties to even, clamped to the range, NaN 0.
template <class Int>
void store_integers(const TensorView& view, std::span<const double> values) {
  std::ranges::transform(values, view.as<Int>(), [](double x) { return round_to_int<Int>(x); });
}

}  // namespace

// Widens `n` elements from index `first` on. To double, everything but f64 goes through float,
// which holds each of the narrow types exactly.
// Integers of more than 24 bits round in the step over float, as the header says.
template <class T>
void load_row(const TensorView& view, int64_t first, int64_t n, T* out) {
  const std::byte* source = element(view, first);
  if constexpr (std::is_same_v<T, float>) {
    widen_row(view.dtype, source, out, n);
  } else if (view.dtype == DType::kF64) {
    std::copy_n(view.as<double>() + first, n, out);
  } else {
    std::vector<float> row(static_cast<size_t>(n));
    widen_row(view.dtype, source, row.data(), n);
    std::copy_n(row.data(), n, out);
  }
}

// The whole tensor widened; an absent port gives no elements.
template <class T>
std::vector<T> load_all(const TensorView& view) {
  std::vector<T> values;
  if (!view.is_present()) return values;
  values.resize(static_cast<size_t>(view.shape.num_elements()));
  load_row(view, 0, view.shape.num_elements(), values.data());
  return values;
}

// Narrows `n` values into the view from index `first` on, rounding to nearest even.
// T to the view's dtype in one step: a double that goes to f16 does not pass through f32.
template <class T>
void store_row(const TensorView& view, int64_t first, int64_t n, const T* values) {
  narrow_row(view.dtype, values, element(view, first), n);
}

// Doubles into a tensor of any plain dtype; each value rounds once.
// 4-bit and 1-bit types are packed and have no element of their own to write.
Result<void> store_numbers(const TensorView& view, std::span<const double> values) {
  if (is_float(view.dtype)) {
    store_row(view, 0, static_cast<int64_t>(values.size()), values.data());
    return {};
  }
  switch (view.dtype) {
    case DType::kI64:
      store_integers<int64_t>(view, values);
      return {};
    case DType::kI32:
      store_integers<int32_t>(view, values);
      return {};
    case DType::kI16:
      store_integers<int16_t>(view, values);
      return {};
    case DType::kI8:
      store_integers<int8_t>(view, values);
      return {};
    case DType::kU64:
      store_integers<uint64_t>(view, values);
      return {};
    case DType::kU32:
      store_integers<uint32_t>(view, values);
      return {};
    case DType::kU16:
      store_integers<uint16_t>(view, values);
      return {};
    case DType::kU8:
      store_integers<uint8_t>(view, values);
      return {};
    default:
      return fail::unimplemented("Numbers cannot be written to a {} tensor.",
                                 dtype_name(view.dtype));
  }
}

template void load_row(const TensorView&, int64_t, int64_t, float*);
template void load_row(const TensorView&, int64_t, int64_t, double*);
template std::vector<float> load_all(const TensorView&);
template std::vector<double> load_all(const TensorView&);
template void store_row(const TensorView&, int64_t, int64_t, const float*);
template void store_row(const TensorView&, int64_t, int64_t, const double*);

}  // namespace quern
