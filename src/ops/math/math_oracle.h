// Test support: the true values of the strict functions, from the host's wider types: double for
// f32, long double for f64 (where long double is wider).
#pragma once

#include <string_view>

namespace quern {

enum class Symmetry { kNone, kOdd, kEven };

struct MathOracle {
  std::string_view name;
  Symmetry symmetry;
  double (*f64)(double);
  long double (*f80)(long double);
};
// gelu and gelu_tanh are compositions of rounded steps and have no row.
const MathOracle* find_math_oracle(std::string_view name);

}  // namespace quern
