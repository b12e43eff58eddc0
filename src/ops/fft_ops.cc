// Fourier transforms of one axis.
#include <bit>
#include <vector>

#include "base/fail.h"
#include "ops/math/strict_math.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using Types = std::vector<TensorType>;

// Laid out as the elements of complex tensors are.
// Two T side by side, real part first.
template <class T>
struct Complex {
  T re = 0, im = 0;
};
template <class T>
Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
// Four products and two sums, each rounded.
template <class T>
Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// exp(sign * 2 pi i k / n) for k below n, in f64, then rounded.
// Step, angle, cosine and sine each round in f64 before the one rounding to T.
template <class T>
std::vector<Complex<T>> twiddles(int64_t n, int sign) {
  std::vector<Complex<T>> table(static_cast<size_t>(n));
  const double step = sign * 6.283185307179586476925 / static_cast<double>(n);
  for (int64_t k = 0; k < n; ++k) {
    const double angle = step * static_cast<double>(k);
    table[static_cast<size_t>(k)] = {static_cast<T>(strict_cos(angle)),
                                     static_cast<T>(strict_sin(angle))};
  }
  return table;
}

// Radix 2, in place: bit-reversed order, then butterflies of 2, 4, 8, ... elements.
// Cooley and Tukey 1965. `w` has n entries; a stage with `half` butterflies of width 2 * half uses
// every n / (2 half)-th of them.
template <class T>
void transform_radix2(std::vector<Complex<T>>& x, const std::vector<Complex<T>>& w) {
  const size_t n = x.size();
  // j is i with its bits reversed, counted up by adding 1 from the top bit down.
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t half = 1; half < n; half *= 2) {
    for (size_t start = 0; start < n; start += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        // One product, one sum and one difference; the odd part is the one that turns.
        const Complex<T> even = x[start + k];
        const Complex<T> odd = w[k * (n / (2 * half))] * x[start + half + k];
        x[start + k] = even + odd;
        x[start + half + k] = even - odd;
      }
    }
  }
}

// The sum over j of x[j] w[j k mod n], j ascending from +0.
// O(n^2), for lengths without a power of two. The definition is the order of this loop, so a faster
// method would be another version.
template <class T>
void transform_directly(std::vector<Complex<T>>& x, const std::vector<Complex<T>>& w) {
  std::vector<Complex<T>> y(x.size());
  for (size_t k = 0; k < x.size(); ++k) {
    // j k mod n stays below n by one subtraction: no product that could overflow, and no rounding
    // of a large angle.
    size_t index = 0;  // j k mod n
    for (size_t j = 0; j < x.size(); ++j) {
      y[k] = y[k] + x[j] * w[index];
      index += k;
      if (index >= x.size()) index -= x.size();
    }
  }
  x = std::move(y);
}

// Transforms one vector; only the inverse divides by n, as numpy.fft does.
// n = 0 is no power of two and gives no element. n = 1 is one, without a butterfly.
template <class T, bool is_inverse>
void transform(const TensorView& source, const TensorView& target) {
  const int64_t n = source.shape[0];
  const auto* values = source.as<const Complex<T>>();
  std::vector<Complex<T>> x(values, values + n);
  const auto w = twiddles<T>(n, is_inverse ? 1 : -1);
  if (std::has_single_bit(x.size()))
    transform_radix2(x, w);
  else
    transform_directly(x, w);
  for (int64_t i = 0; i < n; ++i) {
    Complex<T>& y = x[static_cast<size_t>(i)];
    // Two divisions by n, not products with 1 / n.
    if (is_inverse) y = {y.re / static_cast<T>(n), y.im / static_cast<T>(n)};
    target.as<Complex<T>>()[i] = y;
  }
}

// Complex64 computes in f32, complex128 in f64.
// The sign of the exponent is -1 for the transform, +1 for its inverse.
template <bool is_inverse>
Result<void> run_fft(const KernelContext& context) {
  if (context.inputs[0].dtype == DType::kComplex64) {
    transform<float, is_inverse>(context.inputs[0], context.outputs[0]);
  } else {
    transform<double, is_inverse>(context.inputs[0], context.outputs[0]);
  }
  return {};
}

// One vector of complex numbers.
Result<Types> infer_fft(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(type_rules::expect_dtype("x", x, {DType::kComplex64, DType::kComplex128}));
  QUERN_TRY(type_rules::expect_rank("x", x, 1));
  return Types{x};
}

}  // namespace

void register_fft_ops(OpRegistry& registry) {
  using namespace op_parts;
  const std::string order =
      " Radix 2 where n is a power of two, else the direct sum; the roots of unity are computed in "
      "f64 and rounded.";
  registry.add({.id = "physics.fft1d",
                .doc = "y[k] = sum of x[j] exp(-2 pi i j k / n)." + order,
                .shape_rule = "x, y [n] of complex64 or complex128.",
                .edge_rule = "NaN and infinities spread to all elements. n = 0 gives none.",
                .f32_bound = 32,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .infer = infer_fft,
                .reference = run_fft<false>});
  registry.add({.id = "physics.ifft1d",
                .doc = "y[k] = sum of x[j] exp(2 pi i j k / n), divided by n." + order,
                .shape_rule = "x, y [n] of complex64 or complex128.",
                .edge_rule = "NaN and infinities spread to all elements. n = 0 gives none.",
                .f32_bound = 32,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .infer = infer_fft,
                .reference = run_fft<true>});
}

}  // namespace quern
