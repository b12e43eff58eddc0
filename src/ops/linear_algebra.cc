// Dense linear algebra in double.
#include "ops/linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/blocked.h"
#include "ops/float_rows.h"

namespace quern {

// A tensor of rank 1 becomes one column.
// View of rank 1 or 2, any float; f64 is exact for all of them.
Matrix load_matrix(const TensorView& view) {
  const int64_t rows = view.shape[0];
  Matrix matrix(rows, view.shape.rank() == 1 ? 1 : view.shape[1]);
  matrix.values = load_all<double>(view);
  return matrix;
}

// The lower factor of a symmetric positive definite matrix (Golub and Van Loan, algorithm 4.2.1,
// row by row). Returns -1, or the first column whose pivot is not above 0.
// Each element subtracts its products in ascending k, then divides or takes the root: sqrt and
// division are correctly rounded, so the bits are the same everywhere.
int64_t cholesky(const Matrix& a, Matrix& l) {
  const int64_t n = a.rows;
  l = Matrix(n, n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      double rest = a.at(i, j);
      for (int64_t k = 0; k < j; ++k) rest = rest - l.at(i, k) * l.at(j, k);
      if (i > j) {
        l.at(i, j) = rest / l.at(j, j);
      } else if (rest > 0) {
        l.at(j, j) = std::sqrt(rest);
      } else {
        return j;
      }
    }
  }
  return -1;
}

// Solves L L^T x = b by forward, then backward substitution.
// `b` has n elements and becomes x in place. L^T is read from L by swapped indices.
std::vector<double> solve_cholesky(const Matrix& l, std::vector<double> b) {
  const int64_t n = l.rows;
  double* x = b.data();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < i; ++k) x[i] = x[i] - l.at(i, k) * x[k];
    x[i] = x[i] / l.at(i, i);
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t k = i + 1; k < n; ++k) x[i] = x[i] - l.at(k, i) * x[k];
    x[i] = x[i] / l.at(i, i);
  }
  return b;
}

namespace {

// A column that the others explain but for rounding: its pivot is 1e-13 of its square or less.
// factor(j, j)^2 is what column j has left after the columns before it.
bool is_nearly_singular(const Matrix& normal, const Matrix& factor) {
  for (int64_t j = 0; j < factor.rows; ++j) {
    if (factor.at(j, j) * factor.at(j, j) <= 1e-13 * normal.at(j, j)) return true;
  }
  return false;
}

}  // namespace

// Coefficients of the linear regression by normal equations with a ridge on the diagonal. NaN
// for all where the design does not determine them: callers test that, nothing crashes.
// X^T X c = X^T y: fast and simple, at the price of squaring the condition number, which f64 and
// the check for near singularity make bearable for these small designs.
std::vector<double> least_squares(const Matrix& design, const std::vector<double>& y,
                                  double ridge) {
  const int64_t n = design.cols;
  Matrix normal(n, n), factor;
  std::vector<double> right(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    // Only the lower triangle is needed by the factorisation.
    for (int64_t j = 0; j <= i; ++j) {
      normal.at(i, j) = blocked_sum<double>(
          design.rows, [&](int64_t s) { return design.at(s, i) * design.at(s, j); });
    }
    normal.at(i, i) = normal.at(i, i) + ridge;
    right[static_cast<size_t>(i)] = blocked_sum<double>(
        design.rows, [&](int64_t s) { return design.at(s, i) * y[static_cast<size_t>(s)]; });
  }
  if (cholesky(normal, factor) >= 0 || (ridge == 0 && is_nearly_singular(normal, factor))) {
    return std::vector<double>(right.size(), std::numeric_limits<double>::quiet_NaN());
  }
  return solve_cholesky(factor, std::move(right));
}

// The parts side by side after a column of ones.
// Each part has `samples` rows.
Matrix design_with_intercept(int64_t samples, const std::vector<const Matrix*>& parts) {
  int64_t columns = 1;
  for (const Matrix* part : parts) columns += part->cols;
  Matrix design(samples, columns);
  for (int64_t s = 0; s < samples; ++s) {
    int64_t column = 0;
    design.at(s, column++) = 1;
    for (const Matrix* part : parts) {
      for (int64_t j = 0; j < part->cols; ++j) design.at(s, column++) = part->at(s, j);
    }
  }
  return design;
}

// The fitted value of each sample.
// blocked(256) over the columns, as every dot product.
std::vector<double> predict(const Matrix& design, const std::vector<double>& coefficients) {
  std::vector<double> fitted;
  for (int64_t s = 0; s < design.rows; ++s) {
    fitted.push_back(blocked_sum<double>(design.cols, [&](int64_t j) {
      return design.at(s, j) * coefficients[static_cast<size_t>(j)];
    }));
  }
  return fitted;
}

}  // namespace quern
