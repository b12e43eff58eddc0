// Rows of the case table, parsed and bound to sizes.
#pragma once

#include <string>
#include <vector>

#include "conformance/case_table.h"
#include "quern/graph.h"
#include "quern/op.h"

namespace quern {

// How the values of an input are drawn.
enum class ValueKind {
  kNumbers,           // any values of the dtype
  kPositive,          // floats above 0
  kUnitInterval,      // floats from 0 to 1
  kProbabilities,     // rows that sum to 1
  kAscending,         // from 0 upwards along the last axis
  kPositiveDefinite,  // a symmetric matrix
  kStrictlyUpper,     // a matrix with zeros on and below the diagonal
  kMask,              // 0 and -infinity
  kBinary,            // 0 and 1
  kIndices,           // integers below `limit`
  kConstant,          // integers equal to `limit`
  kActivations,       // quantised activations: all but the lowest codes
};

// Where the dtype of an input comes from.
enum class TypeKind {
  kFixed,
  kFloat,    // the float dtype under test
  kCompute,  // the dtype that it computes in: f64 for f64, else f32
  kNumber,   // the number dtype under test
  kComplex,  // complex128 for f64, complex64 for f32
};

// One port's token of a row.
struct InputPattern {
  bool is_absent = false;
  TypeKind type = TypeKind::kFixed;
  DType dtype = DType::kF32;  // for kFixed
  ValueKind values = ValueKind::kNumbers;
  Dim limit = {};  // for kIndices, kConstant and kAscending integers
  std::vector<Dim> extents = {};
};

struct CasePattern {
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<InputPattern> inputs;
  std::vector<SymbolValues> sizes;
  char batch = 0;  // 0: none

  // The dtypes on which it runs: those of its kind under test, or one that is not looked at.
  // In the order of reports: wide floats first.
  std::vector<DType> dtypes() const;
};

// The patterns of a row, one for each of its ids.
// Errors: a defect of the table, with the text in question.
Result<std::vector<CasePattern>> parse_case_row(const CaseRow& row, const OpRegistry& ops);

// The dtype of an input when `tested` is under test.
DType dtype_of(const InputPattern& input, DType tested);

// "x [3, 5], weight [5]"; "no inputs" where there are none.
std::string describe_sizes(const CasePattern& pattern, const SymbolValues& sizes);

}  // namespace quern
