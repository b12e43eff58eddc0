// Factorisations and least squares: NumPy's numbers, and the identities that define them.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/linear_algebra.h"
#include "support/bit_equal.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

// A covariance matrix, and numpy.linalg.cholesky of it.
// Row-major 4 x 4 and symmetric.
const std::vector<double> kCovariance = {3.09, 0.35, 0.2,  4.55, 0.35, 1.91, 0.76, 1.53,
                                         0.2,  0.76, 1.96, 0.81, 4.55, 1.53, 0.81, 12.04};

// numpy.linalg.cholesky of one matrix.
TEST(CholeskyValues, AreThoseOfNumPy) {
  EXPECT_TRUE(
      all_near(run_f64("causal.cholesky", {f64(Shape{4, 4}, kCovariance)}),
               {1.7578395831246945, 0.0, 0.0, 0.0, 0.19910804339600102, 1.3676095886820245, 0.0,
                0.0, 0.11377602479771487, 0.5391496845439189, 1.287001411746476, 0.0,
                2.5884045641480133, 0.7418987407751468, 0.08974904379769226, 2.1867082978466477},
               1e-13));
}

// What stands above the diagonal does not matter.
TEST(CholeskyValues, ReadTheLowerTriangleAlone) {
  std::vector<double> half = kCovariance;
  // NaN above the diagonal: any read of it would spread.
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = i + 1; j < 4; ++j) half[i * 4 + j] = std::nan("");
  }
  EXPECT_TRUE(all_same_bits(run_f64("causal.cholesky", {f64(Shape{4, 4}, half)}),
                            run_f64("causal.cholesky", {f64(Shape{4, 4}, kCovariance)})));
}

// L L^T is the matrix, at several sizes.
TEST(CholeskyProperties, FactorsMultiplyBack) {
  for (const int64_t n : {1, 2, 5, 12}) {
    const Tensor a = normal_f64(Shape{n, n}, static_cast<uint32_t>(n));
    const Tensor transposed =
        run_one("shape.transpose", {a}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
    auto square = values_of<double>(run_one("math.matmul", {a, transposed}));
    // A A^T + I is positive definite for every A.
    for (int64_t i = 0; i < n; ++i) square[static_cast<size_t>(i * n + i)] += 1;
    const Tensor l = run_one("causal.cholesky", {f64(Shape{n, n}, square)});
    const Tensor upper =
        run_one("shape.transpose", {l}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
    EXPECT_TRUE(all_near(run_f64("math.matmul", {l, upper}), square, 1e-12, 1e-12)) << n;
  }
}

// The first that is not above 0, NaN included.
TEST(CholeskyErrors, NameThePivot) {
  const auto error = [](const std::vector<double>& a, int64_t n) {
    return run_error("causal.cholesky", {f64(Shape{n, n}, a)});
  };
  const auto message = [](int pivot) {
    return "The matrix is not positive definite: its pivot " + std::to_string(pivot) +
           " is not above 0.";
  };
  // Zero, negative, singular in the second pivot (1 - 2 * 2 / 4 = 0), and NaN.
  EXPECT_EQ(error({0}, 1), message(0));
  EXPECT_EQ(error({-1}, 1), message(0));
  EXPECT_EQ(error({4, 0, 2, 1}, 2), message(1));  // exactly singular
  EXPECT_EQ(error({1, 0, 0, std::nan("")}, 2), message(1));
}

// Forward, then backward substitution.
TEST(LinearAlgebra, SolvesWithItsFactor) {
  Matrix a(4, 4), l;
  a.values = kCovariance;
  ASSERT_EQ(cholesky(a, l), -1);
  const std::vector<double> b = {1, -2, 0.5, 3};
  const auto x = solve_cholesky(l, b);
  for (int64_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 4; ++j) sum += a.at(i, j) * x[static_cast<size_t>(j)];
    EXPECT_NEAR(sum, b[static_cast<size_t>(i)], 1e-13);
  }
}

// The residual of least squares is orthogonal to every column of the design.
// X^T (y - X c) = 0 defines the solution, whatever the data.
TEST(LinearAlgebra, ResidualsAreOrthogonal) {
  Matrix x(30, 3);
  x.values = normals(90, 1);
  const Matrix design = design_with_intercept(30, {&x});
  ASSERT_EQ(design.cols, 4);
  const auto y = normals(30, 2);
  const auto fitted = predict(design, least_squares(design, y, 0));
  for (int64_t j = 0; j < 4; ++j) {
    double dot = 0;
    for (int64_t s = 0; s < 30; ++s) {
      dot += design.at(s, j) * (y[static_cast<size_t>(s)] - fitted[static_cast<size_t>(s)]);
    }
    EXPECT_NEAR(dot, 0, 1e-12);
  }
}

// Without one, equal columns have no answer.
TEST(LinearAlgebra, ARidgeShrinksAndMakesSingularSystemsSolvable) {
  Matrix design(3, 2);
  // All four elements of X^T X are 1 + 4 + 9 = 14.
  design.values = {1, 1, 2, 2, 3, 3};  // equal columns
  for (const double c : least_squares(design, {1, 2, 3}, 0)) EXPECT_TRUE(std::isnan(c));
  const auto ridged = least_squares(design, {1, 2, 3}, 14);
  // (X^T X + 14 I) c = X^T y: 28 c + 14 c = 14.
  EXPECT_NEAR(ridged[0], 1.0 / 3, 1e-14);
  EXPECT_NEAR(ridged[1], 1.0 / 3, 1e-14);
}

}  // namespace
}  // namespace quern::test
