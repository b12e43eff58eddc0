// Errors in ulp.
#include "conformance/error_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "conformance/host_values.h"
#include "quern/dtype.h"

namespace quern {
namespace {

// Format of a float: IEEE, but for the highest exponent of f8e4m3.
// Mantissa bits without the leading one; exponents are powers of two.
struct FloatShape {
  int mantissa_bits;
  int lowest_exponent;   // of a normal number
  int highest_exponent;  // of a finite number
};

// f32 for whatever is no float.
FloatShape float_shape(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {52, -1022, 1023};
    case DType::kF16:
      return {10, -14, 15};
    case DType::kBF16:
      return {7, -126, 127};
    case DType::kF8E4M3:
      // Its highest exponent holds numbers up to 448; only all ones is NaN, and there is no
      // infinity.
      return {3, -6, 8};
    case DType::kF8E5M2:
      return {2, -14, 15};
    default:
      return {23, -126, 127};
  }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Past the largest float, but for a rounding or two.
bool overflows(DType dtype, double exact) {
  const FloatShape shape = float_shape(dtype);
  return std::abs(exact) >=
         // Three ulp below the largest number and up.
         std::ldexp(2.0 - std::ldexp(4.0, -shape.mantissa_bits), shape.highest_exponent);
}

// The error in units of one f32 ulp plus `change`; infinite where one is a NaN or an infinity
// and the other is not.
double error_of(DType dtype, double actual, double exact, double change) {
  // NaN is right where NaN is expected, and nowhere else.
  if (std::isnan(exact) || std::isnan(actual)) {
    return std::isnan(exact) == std::isnan(actual) ? 0 : kInfinity;
  }
  if (actual == exact) return 0;
  if (std::isinf(exact)) return kInfinity;
  if (std::isinf(actual)) {
    // A result that rounds to infinity is right near the border, with the right sign.
    return overflows(dtype, exact) && std::signbit(actual) == std::signbit(exact) ? 0 : kInfinity;
  }
  double error = std::abs(actual - exact);
  // One rounding from f32 to the narrow type takes half an ulp of that type: no more, so that a
  // store that cuts bits off shows. What is left is the error of the f32 arithmetic.
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    error = std::max(0.0, error - ulp_at(dtype, exact) / 2);
  }
  return error / (ulp_at(DType::kF32, exact) + change);
}

template <class T>
bool are_same_float(const std::byte* a, const std::byte* b) {
  T x, y;
  std::memcpy(&x, a, sizeof(T));
  std::memcpy(&y, b, sizeof(T));
  return x != x && y != y;
}

// Elements that may differ in bits and still be equal: NaNs.
bool are_both_nan(DType dtype, const std::byte* a, const std::byte* b) {
  if (dtype == DType::kF32 || dtype == DType::kComplex64) return are_same_float<float>(a, b);
  if (dtype == DType::kF64 || dtype == DType::kComplex128) return are_same_float<double>(a, b);
  if (!is_float(dtype)) return false;
  uint16_t x = 0, y = 0;  // the other floats have 16 bits or 8
  const auto size = static_cast<size_t>(dtype_info(dtype).block_bytes);
  std::memcpy(&x, a, size);
  std::memcpy(&y, b, size);
  const auto is_nan = [&](uint16_t code) {
    const FloatShape shape = float_shape(dtype);
    const int sign_bit = static_cast<int>(8 * size) - 1;
    const uint32_t magnitude = code & ((1u << sign_bit) - 1);
    const uint32_t top = ((1u << (sign_bit - shape.mantissa_bits)) - 1) << shape.mantissa_bits;
    // See float_shape().
    if (dtype == DType::kF8E4M3) return magnitude == 0x7F;
    // All ones in the exponent is infinity, and anything above it NaN.
    return magnitude > top;
  };
  return is_nan(x) && is_nan(y);
}

// The element as a number, if the dtype has numbers.
std::string element_text(const Tensor& tensor, size_t element) {
  const auto values = numbers_of(tensor);
  return values && element < values->size() ? fmt::format("{}", (*values)[element]) : "?";
}

}  // namespace

// The distance between neighbours at x; at the lowest binade for zeros and denormals.
double ulp_at(DType dtype, double x) {
  const FloatShape shape = float_shape(dtype);
  if (!std::isfinite(x)) return kInfinity;
  // Zero has the spacing of denormals.
  const int exponent = x == 0 ? shape.lowest_exponent : std::ilogb(x);
  return std::ldexp(1.0, std::clamp(exponent, shape.lowest_exponent, shape.highest_exponent) -
                             shape.mantissa_bits);
}

// The worst element. Those beyond 2^100 or below 2^-100 are left out: f32 holds them badly.
WorstError measure_error(DType dtype, std::span<const double> actual, std::span<const double> exact,
                         std::span<const double> changes) {
  WorstError worst;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double size = std::abs(exact[i]);
    // Infinities and zeros are compared as well.
    if (size != 0 && std::isfinite(size) && (size < 0x1p-100 || size > 0x1p100)) continue;
    const double units = error_of(dtype, actual[i], exact[i], changes.empty() ? 0 : changes[i]);
    worst.merge({units, static_cast<int64_t>(i), actual[i], exact[i]});
  }
  return worst;
}

// The first element that differs in bits and is not a NaN in both; empty if none does.
std::string bit_difference(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || !(actual.shape() == expected.shape())) {
    return fmt::format("The result is {}{}; {}{} is expected.", dtype_name(actual.dtype()),
                       actual.shape().to_string(), dtype_name(expected.dtype()),
                       expected.shape().to_string());
  }
  const auto a = actual.read(), b = expected.read();
  if (!a || !b) return "A result cannot be read.";
  const DType dtype = actual.dtype();
  const size_t parts = is_complex(dtype) ? 2 : 1;
  const auto size = static_cast<size_t>(dtype_info(dtype).block_bytes) / parts;
  // Complex numbers part by part.
  for (size_t i = 0; i + size <= a->size(); i += size) {
    if (std::memcmp(a->data() + i, b->data() + i, size) == 0) continue;
    if (are_both_nan(dtype, a->data() + i, b->data() + i)) continue;
    return fmt::format("Element {} of {} is {}; {} is expected.", i / size, a->size() / size,
                       element_text(actual, i / size), element_text(expected, i / size));
  }
  return "";
}

}  // namespace quern
