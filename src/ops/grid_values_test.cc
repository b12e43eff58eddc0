// Fourier transforms against their definition and the laws of transforms; grids against calculus.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <numbers>

#include "support/bit_equal.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Fourier transforms -----------------------------------------------------------------------------

using Complex = std::complex<double>;

// complex128 is two doubles, as std::complex<double> is laid out.
Tensor complex_tensor(const std::vector<Complex>& x) {
  return *Tensor::from_bytes(DType::kComplex128, Shape{static_cast<int64_t>(x.size())},
                             std::as_bytes(std::span(x)));
}
std::vector<Complex> complex_values(const Tensor& x) {
  const auto bytes = *x.read();
  std::vector<Complex> values(bytes.size() / sizeof(Complex));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
std::vector<Complex> fft(const std::vector<Complex>& x) {
  return complex_values(run_one("physics.fft1d", {complex_tensor(x)}));
}
std::vector<Complex> random_complex(size_t n, uint32_t seed) {
  const auto numbers = normals(static_cast<int64_t>(2 * n), seed);
  std::vector<Complex> x;
  for (size_t i = 0; i < n; ++i) x.emplace_back(numbers[2 * i], numbers[2 * i + 1]);
  return x;
}

// Powers of two take the radix-2 path, the others the direct sum; 1 and 3 are the smallest of each.
constexpr size_t kLengths[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 60, 64, 128};

// The direct sum, for lengths of both kinds.
TEST(FourierValues, FollowTheDefinition) {
  for (const size_t n : kLengths) {
    const auto x = random_complex(n, static_cast<uint32_t>(n));
    const auto y = fft(x);
    for (size_t k = 0; k < n; ++k) {
      Complex sum = 0;
      for (size_t j = 0; j < n; ++j) {
        // The exponent modulo n is exact in integers; the angle of a large j * k would lose digits.
        const double turn = static_cast<double>(j * k % n) / static_cast<double>(n);
        sum += x[j] * std::polar(1.0, -2 * std::numbers::pi * turn);
      }
      // The error grows with the number of terms.
      EXPECT_NEAR(std::abs(y[k] - sum), 0, 1e-12 * static_cast<double>(n)) << n << " " << k;
    }
  }
}

// Parseval's theorem with the factor of the inverse.
TEST(FourierProperties, TheInverseTurnsBackAndEnergyIsKept) {
  for (const size_t n : kLengths) {
    const auto x = random_complex(n, static_cast<uint32_t>(100 + n));
    const auto y = fft(x);
    const auto back = complex_values(run_one("physics.ifft1d", {complex_tensor(y)}));
    double before = 0, after = 0;
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(std::abs(back[i] - x[i]), 0, 1e-13) << n;
      before += std::norm(x[i]);
      // Only the inverse divides by n, so the energy of the spectrum is n times that of the signal.
      after += std::norm(y[i]) / static_cast<double>(n);
    }
    EXPECT_NEAR(after, before, 1e-11 * before);
  }
}

// Spectra that are known in closed form.
TEST(FourierProperties, ImpulsesConstantsAndShifts) {
  for (const size_t n : kLengths) {
    std::vector<Complex> impulse(n, 0.0), constant(n, 1.0);
    impulse[0] = 1;
    for (const Complex y : fft(impulse)) EXPECT_NEAR(std::abs(y - 1.0), 0, 1e-14);
    const auto spectrum = fft(constant);
    EXPECT_NEAR(std::abs(spectrum[0] - static_cast<double>(n)), 0, 1e-12);
    // All roots of unity cancel but for k = 0.
    for (size_t k = 1; k < n; ++k) EXPECT_NEAR(std::abs(spectrum[k]), 0, 1e-11);
    // A shift by one turns the spectrum.
    auto x = random_complex(n, static_cast<uint32_t>(200 + n));
    const auto y = fft(x);
    // x[i] moves to i + 1, and the last element to the front.
    std::rotate(x.begin(), x.end() - 1, x.end());
    const auto z = fft(x);
    for (size_t k = 0; k < n; ++k) {
      const double turn = static_cast<double>(k) / static_cast<double>(n);
      EXPECT_NEAR(std::abs(z[k] - y[k] * std::polar(1.0, -2 * std::numbers::pi * turn)), 0, 1e-11);
    }
  }
}

// The conjugate at n - k.
TEST(FourierProperties, SpectraOfRealNumbersAreSymmetric) {
  for (const size_t n : kLengths) {
    auto x = random_complex(n, static_cast<uint32_t>(300 + n));
    for (Complex& v : x) v = v.real();
    const auto y = fft(x);
    // Element 0 is its own partner and real.
    for (size_t k = 1; k < n; ++k) EXPECT_NEAR(std::abs(y[k] - std::conj(y[n - k])), 0, 1e-11);
    EXPECT_NEAR(y[0].imag(), 0, 1e-13);
  }
}

// A transform of no elements.
TEST(FourierValues, NothingGivesNothing) {
  EXPECT_EQ(run_one("physics.fft1d", {complex_tensor({})}).shape(), (Shape{0}));
}

// Grids ------------------------------------------------------------------------------------------

// Samples of sin over one period of n points.
std::vector<double> wave(int64_t n) {
  std::vector<double> u;
  for (int64_t i = 0; i < n; ++i) {
    u.push_back(std::sin(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n)));
  }
  return u;
}

// The largest error of an operation on sin, whose second derivative is -sin.
double laplacian_error(const char* id, int64_t n) {
  // One period, so that the grid may be periodic.
  const double dx = 2 * std::numbers::pi / static_cast<double>(n);
  const auto u = wave(n);
  const auto y = run_f64(id, {f64(Shape{n}, u)}, {{"dx", dx}});
  double worst = 0;
  for (size_t i = 0; i < u.size(); ++i) worst = std::max(worst, std::abs(y[i] + u[i]));
  return worst;
}

// Halving the spacing divides the error by 4 or 16.
// The ratio is 2^order up to terms of higher order, hence the tolerances 0.1 and 0.5.
TEST(GridProperties, LaplaciansConvergeWithTheirOrder) {
  // Halving the step divides the error by 2^order.
  EXPECT_NEAR(laplacian_error("physics.laplacian", 32) / laplacian_error("physics.laplacian", 64),
              4, 0.1);
  EXPECT_NEAR(laplacian_error("physics.laplacian4", 32) / laplacian_error("physics.laplacian4", 64),
              16, 0.5);
}

// Central differences know squares exactly.
TEST(GridProperties, GradientsConvergeAndPolynomialsAreExact) {
  const int64_t n = 64;
  const double dx = 2 * std::numbers::pi / static_cast<double>(n);
  const auto slope = run_f64("physics.grad1d", {f64(Shape{n}, wave(n))}, {{"dx", dx}});
  // Central differences of sin are cos times sin(dx) / dx.
  // (sin(x + dx) - sin(x - dx)) / (2 dx) = cos(x) sin(dx) / dx.
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_NEAR(slope[static_cast<size_t>(i)],
                std::cos(dx * static_cast<double>(i)) * std::sin(dx) / dx, 1e-13);
  }
  // In one dimension the divergence is the gradient.
  EXPECT_TRUE(all_same_bits(
      slope, run_f64("physics.divergence1d", {f64(Shape{n}, wave(n))}, {{"dx", dx}})));
  // Away from the seam second differences of i^2 are 2.
  std::vector<double> square;
  // i^2 is exact, and its second difference (i + 1)^2 - 2 i^2 + (i - 1)^2 is 2.
  for (int i = 0; i < 10; ++i) square.push_back(i * i);
  const auto curvature = run_f64("physics.laplacian", {f64(Shape{10}, square)});
  for (size_t i = 1; i < 9; ++i) EXPECT_EQ(curvature[i], 2);
}

// What flows out comes in elsewhere.
TEST(GridProperties, PeriodicSumsAreZeroAndAxesAdd) {
  // The sum of u[i + 1] - 2 u[i] + u[i - 1] over a ring vanishes, in each of up to three
  // dimensions.
  for (const Shape& shape : {Shape{7}, Shape{4, 5}, Shape{3, 4, 5}}) {
    const Tensor u = normal_f64(shape, 5);
    for (const char* id : {"physics.laplacian", "physics.laplacian4"}) {
      double sum = 0;
      for (const double v : run_f64(id, {u})) sum += v;
      EXPECT_NEAR(sum, 0, 1e-10) << id;
    }
  }
  // In two dimensions the sum of the laplacians of rows and of columns.
  const auto u = normals(20, 6);
  const auto at = [&](int64_t i, int64_t j) {
    return u[static_cast<size_t>((i + 4) % 4 * 5 + (j + 5) % 5)];
  };
  // dx = 0.5: divided by dx^2 = 0.25.
  const auto y = run_f64("physics.laplacian", {f64(Shape{4, 5}, u)}, {{"dx", 0.5}});
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      const double expected =
          (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1) - 4 * at(i, j)) / 0.25;
      EXPECT_NEAR(y[static_cast<size_t>(i * 5 + j)], expected, 1e-12);
    }
  }
}

// No difference reaches outside.
TEST(GridValues, EndsOfOpenLinesAreZero) {
  // Phase S = x^2 / 2 with step 1: velocity (S[i+1] - S[i-1]) / 2 / m = i / m inside.
  const Tensor s = f64(Shape{5}, {0, 0.5, 2, 4.5, 8});
  EXPECT_EQ(run_f64("physics.bohmian_velocity", {s}, {{"mass", 2.0}}),
            (std::vector<double>{0, 0.5, 1, 1.5, 0}));
  // rho v = (0, 1, 4, 9, 16): central differences 2, 4, 6.
  const Tensor rho = f64(Shape{5}, {0, 1, 2, 3, 4});
  EXPECT_EQ(run_f64("physics.madelung_continuity", {rho, rho}),
            (std::vector<double>{0, 2, 4, 6, 0}));
  // sqrt(rho) = (1, 2, 4, 2, 1): -1/2 (1 - 4 + 4) / 2, -1/2 (2 - 8 + 2) / 4.
  EXPECT_EQ(run_f64("physics.quantum_potential", {f64(Shape{5}, {1, 4, 16, 4, 1})}),
            (std::vector<double>{0, -0.25, 0.5, -0.25, 0}));
  // Two points have no inner one; none have none.
  for (const char* id : {"physics.bohmian_velocity", "physics.quantum_potential"}) {
    EXPECT_EQ(run_f64(id, {f64(Shape{2}, {1, 9})}), (std::vector<double>{0, 0})) << id;
    EXPECT_TRUE(run_f64(id, {f64(Shape{0}, {})}).empty());
  }
}

// Stencils longer than the grid visit points twice.
TEST(GridValues, ShortGridsWrapAround) {
  // One point is its own neighbour; of two, both neighbours are the other one.
  EXPECT_EQ(run_f64("physics.laplacian", {f64(Shape{1}, {5})}), std::vector<double>{0});
  // 4 - 2 * 1 + 4 = 6, and 1 - 2 * 4 + 1 = -6.
  EXPECT_EQ(run_f64("physics.laplacian", {f64(Shape{2}, {1, 4})}), (std::vector<double>{6, -6}));
  EXPECT_EQ(run_f64("physics.grad1d", {f64(Shape{2}, {1, 4})}), (std::vector<double>{0, 0}));
  EXPECT_EQ(run_f64("physics.laplacian4", {f64(Shape{1}, {5})}), std::vector<double>{0});
}

// Locality of a stencil.
TEST(GridValues, InfinitiesReachTheirNeighboursOnly) {
  // Neighbours see +infinity once, the point itself -2 times infinity.
  const auto y = run_f64("physics.laplacian", {f64(Shape{6}, {0, 0, kInf, 0, 0, 0})});
  EXPECT_EQ(y[1], kInf);
  EXPECT_EQ(y[2], -kInf);
  EXPECT_EQ(y[3], kInf);
  EXPECT_EQ(y[4], 0);
}

}  // namespace
}  // namespace quern::test
