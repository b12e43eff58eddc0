// Elements of a tensor view as the type an operation computes in: f64 for f64, else f32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/op.h"

namespace quern {

// Calls f with a value of the type in which operations on `dtype` compute: double{} or float{}.
// What numerics asks: narrow floats compute in f32. Both calls of f must return one type.
template <class F>
auto with_compute_type(DType dtype, F&& f) {
  return dtype == DType::kF64 ? f(double{}) : f(float{});
}

// n elements from index `first` of a view whose dtype can_widen(). T is float (f64 and integers
// round once) or double (exact but for integers past 2^24).
template <class T>
void load_row(const TensorView& view, int64_t first, int64_t n, T* out);
// All elements of a view; empty if it is absent.
template <class T>
std::vector<T> load_all(const TensorView& view);
// Rounds once to the view's float dtype.
template <class T>
void store_row(const TensorView& view, int64_t first, int64_t n, const T* values);

// Writes all elements of a view of a plain dtype. Floats round to nearest even; integers round
// ties to even and clamp, NaN gives 0. Errors: a dtype of less than 8 bits.
Result<void> store_numbers(const TensorView& view, std::span<const double> values);

extern template void load_row(const TensorView&, int64_t, int64_t, float*);
extern template void load_row(const TensorView&, int64_t, int64_t, double*);
extern template std::vector<float> load_all(const TensorView&);
extern template std::vector<double> load_all(const TensorView&);
extern template void store_row(const TensorView&, int64_t, int64_t, const float*);
extern template void store_row(const TensorView&, int64_t, int64_t, const double*);

}  // namespace quern
