// How far results are from exact ones, element by element.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quern/dtype.h"
#include "quern/tensor.h"

namespace quern {

// The distance between neighbouring numbers of a float dtype at x: that of f32 for narrower ones
// unless asked for. Denormals count; infinity for values past the largest.
double ulp_at(DType dtype, double x);

// The largest error of a tensor and where it is.
struct WorstError {
  double units = 0;  // infinity: a NaN or infinity that should not be there, or is missing
  int64_t element = -1;
  double actual = 0;
  double exact = 0;

  // Keeps the worse of the two.
  void merge(const WorstError& other) {
    if (other.units > units || (element < 0 && other.element >= 0)) *this = other;
  }
};

// |actual - exact| in units of ulp(exact) + change, for results of f32 arithmetic in `dtype` (f32,
// f16, bf16 or f8: from a narrow one half an ulp of its own is taken off, which its store costs).
// `changes[i]` is what half an ulp of f32 in the inputs changes of exact[i]. Elements whose exact
// value is no normal f32 by a wide margin (below 2^-100 but not 0, above 2^100) are left out:
// rounding is no longer relative there.
WorstError measure_error(DType dtype, std::span<const double> actual, std::span<const double> exact,
                         std::span<const double> changes);

// Bits of two results: dtype, shape and every element; NaNs are equal to each other. Empty if they
// are the same, else a sentence on the first difference.
std::string bit_difference(const Tensor& actual, const Tensor& expected);

}  // namespace quern
