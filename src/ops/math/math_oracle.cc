// See math_oracle.h.
#include "ops/math/math_oracle.h"

#include <cmath>

namespace quern {
namespace {

// What the host's library lacks. Only exponentials of numbers up to 0 are taken: none overflows.
template <class T>
T sigmoid(T x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <class T>
T silu(T x) {
  // At -infinity the product would be -inf * 0 = NaN; the strict function gives the limit, -0.
  if (std::isinf(x)) return x < 0 ? -T(0) : x;
  return x * sigmoid(x);
}
// Above 0 softplus(x) = x + softplus(-x), which takes the large part out of the logarithm.
template <class T>
T softplus(T x) {
  return std::log1p(std::exp(-std::fabs(x))) + (x < 0 ? T(0) : x);
}

// A row from <cmath>. The two function pointers pick its double and its long double overload.
#define QUERN_ORACLE(name, symmetry)                                                      \
  {                                                                                       \
#name, Symmetry::symmetry,                                                            \
        [](double x) { return std::name(x); }, [](long double x) { return std::name(x); } \
  }
#define QUERN_OWN_ORACLE(name)                                                                   \
  {                                                                                              \
#name, Symmetry::kNone, [](double x) { return name(x); },                                    \
                                                           [](long double x) { return name(x); } \
  }
constexpr MathOracle kOracles[] = {
    // In the order of unary_functions.inc; gelu and gelu_tanh are left out, being defined by their
    // steps.
    QUERN_ORACLE(acos, kNone),  QUERN_ORACLE(acosh, kNone), QUERN_ORACLE(asin, kOdd),
    QUERN_ORACLE(asinh, kOdd),  QUERN_ORACLE(atan, kOdd),   QUERN_ORACLE(atanh, kOdd),
    QUERN_ORACLE(cbrt, kOdd),   QUERN_ORACLE(cos, kEven),   QUERN_ORACLE(cosh, kEven),
    QUERN_ORACLE(erf, kOdd),    QUERN_ORACLE(erfc, kNone),  QUERN_ORACLE(exp, kNone),
    QUERN_ORACLE(exp2, kNone),  QUERN_ORACLE(expm1, kNone), QUERN_ORACLE(log, kNone),
    QUERN_ORACLE(log10, kNone), QUERN_ORACLE(log1p, kNone), QUERN_ORACLE(log2, kNone),
    QUERN_OWN_ORACLE(sigmoid),  QUERN_OWN_ORACLE(silu),     QUERN_ORACLE(sin, kOdd),
    QUERN_ORACLE(sinh, kOdd),   QUERN_OWN_ORACLE(softplus), QUERN_ORACLE(tan, kOdd),
    QUERN_ORACLE(tanh, kOdd),
};
#undef QUERN_ORACLE
#undef QUERN_OWN_ORACLE

}  // namespace

const MathOracle* find_math_oracle(std::string_view name) {
  for (const MathOracle& oracle : kOracles) {
    if (oracle.name == name) return &oracle;
  }
  return nullptr;
}

}  // namespace quern
