// The inputs on which the conformance suite runs each operation.
#pragma once

#include <span>
#include <string_view>

namespace quern {

// One pattern of inputs for some operations. Texts are parsed by case_pattern.h.
struct CaseRow {
  std::string_view ids;         // with spaces between; aliases run the rows of their operation
  std::string_view inputs;      // "f[N,D] i32<V[N] -": a token for each port, "-" for an absent one
  std::string_view attributes;  // "eps=1e-5 axes=[1]"
  std::string_view sizes;       // "N=2 D=3; N=0 D=5"; empty: a standard list for the symbols
  std::string_view batch;       // the symbol along which rows do not see each other, or empty
};

// Input tokens are KIND[extents]; an extent is a number, a symbol, or FACTOR*SYMBOL.
//   f      the float dtype under test, of normal distribution, with outliers or special values
//   f+     positive; fp: positive, each row sums to 1; f01: from 0 to 1; fup: ascending from 0
//   fspd   a symmetric positive definite matrix; fdag: strictly upper triangular
//   fm     an additive mask of 0 and -infinity; fb: 0 and 1
//   s, s+  the type that f computes in: f64 for f64, else f32
//   n      the number dtype under test: floats as f, integers of all widths
//   c      complex numbers
//   f32, f64, i8, u64, q4_K, ...   that dtype: floats normal, integers over their whole range
//   f32+   positive
//   i32<V  indices below the symbol or number V; i64up<V: ascending from 0, at most V
//   i32=9  that value; i64dag: a strictly upper triangular 0/1 matrix
//   act8, act16   what quant.dynamic makes: i8 from -127, i16 from -32639
std::span<const CaseRow> case_rows();

}  // namespace quern
