// Dense linear algebra in double: the definition of strict results, in the order of plain loops.
#pragma once

#include <cstdint>
#include <vector>

#include "quern/op.h"

namespace quern {

// Row-major matrix.
struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(int64_t r, int64_t c) : rows(r), cols(c), values(static_cast<size_t>(r * c)) {}
  double& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * cols + j)]; }
  double at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * cols + j)]; }
};

// A float tensor of rank 2, or of rank 1 as one column.
Matrix load_matrix(const TensorView& view);

// The lower Cholesky factor of a symmetric matrix, of which the lower triangle is read; zeros
// above. L[i][j] = (a[i][j] - sum of L[i][k] L[j][k], k ascending) / L[j][j], column by column.
// Returns the index of the first pivot that is not above 0 (or is NaN), or -1: then L is whole.
int64_t cholesky(const Matrix& a, Matrix& l);

// x with L L^T x = b.
std::vector<double> solve_cholesky(const Matrix& l, std::vector<double> b);

// Least squares y = design * coefficients by the normal equations with `ridge` on their diagonal;
// NaNs where they are singular: a pivot not above 0, or without a ridge 1e-13 of its diagonal. Sums
// over the samples are blocked(256).
std::vector<double> least_squares(const Matrix& design, const std::vector<double>& y, double ridge);

// A design matrix with a column of ones before the columns of the parts [samples, columns].
Matrix design_with_intercept(int64_t samples, const std::vector<const Matrix*>& parts);

// The fitted values design * coefficients.
std::vector<double> predict(const Matrix& design, const std::vector<double>& coefficients);

}  // namespace quern
