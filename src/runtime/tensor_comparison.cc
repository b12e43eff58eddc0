// Element by element, in a type that holds every element exactly.
// Halves and integers up to 32 bits are exact in a double; 64-bit integers are compared as such.
#include "runtime/tensor_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/fail.h"
#include "tensor/convert.h"

namespace quern {
namespace {

// The place of a number among all numbers of its type, so that neighbours differ by 1.
template <class Bits, class T>
// Two's complement counts negative floats backwards: reflecting them makes the order of integers
// that of numbers, with both zeros at 0.
int64_t ordinal(T value) {
  using Signed = std::make_signed_t<Bits>;
  const auto bits = std::bit_cast<Signed>(value);
  return bits < 0 ? std::numeric_limits<Signed>::min() - bits : bits;
}

// Distance of two finite numbers in steps of a float type with `dropped` fewer bits than T. Places
// of both signs are less than 2^64 apart.
template <class Bits, class T>
double ulp_distance(T a, T b, int dropped) {
  const int64_t x = ordinal<Bits>(a), y = ordinal<Bits>(b);
  // The subtraction is done unsigned, since -max to +max is more than int64 holds.
  const uint64_t steps = x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
                               : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
  return static_cast<double>(steps) / std::ldexp(1.0, dropped);
}

// NaNs are equal to each other here.
bool is_same(double a, double b) {
  // -0 and +0 are different here, as under strict.
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// Sums over the elements that differ.
class Comparison {
 public:
  // `ulp` gives the distance of two numbers of the type.
  template <class Ulp>
  void add(int64_t index, double actual, double expected, Ulp&& ulp) {
    // Over all elements, equal ones too: it is the scale of the tensor, not of its faults.
    if (std::isfinite(expected)) largest_ = std::max(largest_, std::abs(expected));
    if (is_same(actual, expected)) return;
    if (result_.num_different++ == 0) result_.first_index = index;
    const bool is_finite = std::isfinite(actual) && std::isfinite(expected);
    const double distance =
        is_finite ? std::abs(actual - expected) : std::numeric_limits<double>::infinity();
    if (is_finite) result_.max_ulp = std::max(result_.max_ulp, ulp());
    // The first difference is taken whatever its size: 0 for zeros of two signs.
    if (distance <= result_.max_absolute && result_.num_different > 1) return;
    result_.max_absolute = distance;
    result_.worst_index = index;
    result_.worst_actual = actual;
    result_.worst_expected = expected;
  }
  // Nothing where no element differs.
  std::optional<TensorDifference> finish(int64_t num_elements) {
    if (result_.num_different == 0) return std::nullopt;
    result_.num_elements = num_elements;
    // A tensor of zeros has no scale; the absolute difference is all there is to say.
    result_.max_relative = largest_ > 0 ? result_.max_absolute / largest_ : result_.max_absolute;
    return result_;
  }

 private:
  TensorDifference result_;
  double largest_ = 0;
};

using Bytes = std::vector<std::byte>;

// Elements as they lie in memory.
template <class T>
std::optional<TensorDifference> compare_plain(const Bytes& a, const Bytes& b) {
  Comparison comparison;
  const size_t count = b.size() / sizeof(T);
  for (size_t i = 0; i < count; ++i) {
    T x, y;
    std::memcpy(&x, a.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&y, b.data() + i * sizeof(T), sizeof(T));
    if constexpr (std::is_integral_v<T>) {
      // Two int64 above 2^53 may become one double: the next double then stands for the other, so
      // that the element counts as different.
      if (x == y) continue;  // 64-bit integers may be equal as doubles only
      comparison.add(
          static_cast<int64_t>(i), static_cast<double>(x),
          static_cast<double>(x) == static_cast<double>(y)
              ? std::nextafter(static_cast<double>(y), std::numeric_limits<double>::infinity())
              : static_cast<double>(y),
          [] { return 0.0; });
    } else {
      using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
      comparison.add(static_cast<int64_t>(i), static_cast<double>(x), static_cast<double>(y),
                     [&] { return ulp_distance<Bits>(x, y, 0); });
    }
  }
  return comparison.finish(static_cast<int64_t>(count));
}

// Floats of 8 and 16 bits: their steps are counted among f32 numbers, `dropped` bits apart.
std::optional<TensorDifference> compare_narrow(DType dtype, int dropped, const Bytes& a,
                                               const Bytes& b) {
  const auto count = static_cast<int64_t>(b.size()) / dtype_info(dtype).block_bytes;
  std::vector<float> x(static_cast<size_t>(count)), y(static_cast<size_t>(count));
  if (count > 0) {
    widen_row(dtype, a.data(), x.data(), count);
    widen_row(dtype, b.data(), y.data(), count);
  }
  Comparison comparison;
  for (size_t i = 0; i < y.size(); ++i) {
    comparison.add(static_cast<int64_t>(i), x[i], y[i],
                   [&] { return ulp_distance<uint32_t>(x[i], y[i], dropped); });
  }
  return comparison.finish(count);
}

// By the type.
Result<std::optional<TensorDifference>> compare_elements(DType dtype, const Bytes& a,
                                                         const Bytes& b) {
  switch (dtype) {
    case DType::kF64:
    case DType::kComplex128:
      return compare_plain<double>(a, b);
    case DType::kF32:
    case DType::kComplex64:
      return compare_plain<float>(a, b);
    case DType::kF16:
      // f32 has 23 bits of fraction; f16 10, bf16 7, e4m3 3, e5m2 2.
      return compare_narrow(dtype, 13, a, b);
    case DType::kBF16:
      return compare_narrow(dtype, 16, a, b);
    case DType::kF8E4M3:
      return compare_narrow(dtype, 20, a, b);
    case DType::kF8E5M2:
      return compare_narrow(dtype, 21, a, b);
    case DType::kI64:
      return compare_plain<int64_t>(a, b);
    case DType::kI32:
      return compare_plain<int32_t>(a, b);
    case DType::kI16:
      return compare_plain<int16_t>(a, b);
    case DType::kI8:
      return compare_plain<int8_t>(a, b);
    case DType::kU64:
      return compare_plain<uint64_t>(a, b);
    case DType::kU32:
      return compare_plain<uint32_t>(a, b);
    case DType::kU16:
      return compare_plain<uint16_t>(a, b);
    case DType::kU8:
      return compare_plain<uint8_t>(a, b);
    default:
      return fail::invalid("Tensors of {} cannot be compared element by element.",
                           dtype_name(dtype));
  }
}

}  // namespace

// Types and shapes are compared first.
Result<std::optional<TensorDifference>> compare_tensors(const Tensor& actual,
                                                        const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || !(actual.shape() == expected.shape())) {
    return fail::invalid("A {}{} and a {}{} cannot be compared.", dtype_name(actual.dtype()),
                         actual.shape().to_string(), dtype_name(expected.dtype()),
                         expected.shape().to_string());
  }
  QUERN_ASSIGN_OR_RETURN(const Bytes a, actual.read());
  QUERN_ASSIGN_OR_RETURN(const Bytes b, expected.read());
  // The usual case, at the speed of memory. NaNs with equal bits are equal here already.
  if (a == b) return std::optional<TensorDifference>();
  return compare_elements(actual.dtype(), a, b);
}

std::string element_position(const Shape& shape, int64_t index) {
  std::vector<int64_t> position(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    // An axis without elements has no index; 0 is as good as any and divides nothing.
    const int64_t extent = std::max<int64_t>(shape[axis], 1);
    position[static_cast<size_t>(axis)] = index % extent;
    index /= extent;
  }
  return fmt::format("[{}]", fmt::join(position, ", "));
}

}  // namespace quern
