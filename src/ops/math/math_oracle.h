// Test support: the true values of the strict functions, from the host's wider types: double for
// f32, long double for f64 (where long double is wider).
#pragma once

#include <string_view>

namespace quern {

// Of f: none, f(-x) = -f(x), or f(-x) = f(x). A sweep checks the mirrored half against the other.
enum class Symmetry { kNone, kOdd, kEven };

// One function with its values in both wider types. `name` is that of the list.
struct MathOracle {
  std::string_view name;
  Symmetry symmetry;
  double (*f64)(double);
  long double (*f80)(long double);
};
// gelu and gelu_tanh are compositions of rounded steps and have no row.
// Null for every name without a row; such a test is skipped.
const MathOracle* find_math_oracle(std::string_view name);

}  // namespace quern
