// Results of an operation in f64 on the same inputs, and how sensitive they are.
#pragma once

#include <vector>

#include "conformance/case_pattern.h"
#include "conformance/subject.h"

namespace quern {

// Values of one output. `changes[i]` sums over the float inputs the most that element i moved when
// all elements of that input moved by half an ulp of f32, up or down at random, in a few trials;
// an ulp of the largest number joins where the operation says so (OpDef::f32_cancels).
struct ExactResult {
  std::vector<double> values;
  std::vector<double> changes;
};

// Whether f64 gives what f32 approximates within one bound: not where the dtype picks the random
// numbers, where a near tie picks another element, or where a program of operations rounds between.
bool has_exact_results(const OpDef& op);

struct ExactReference {
  const Backend& reference;
  Device& device;

  // One for each output; empty where the operation does not take f64, or fails.
  Result<std::vector<ExactResult>> run(const CasePattern& pattern,
                                       const std::vector<Tensor>& inputs, uint64_t seed);
};

}  // namespace quern
