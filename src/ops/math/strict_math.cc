// Instances of the strict math templates for one value.
#include "ops/math/strict_math.h"

#include "ops/math/strict_math-inl.h"

namespace quern {

// A float and a double version of every name in the lists; both are lane types of one lane.
#define QUERN_UNARY(name)                  \
  float strict_##name(float x) {           \
    return simd::strict_##name<float>(x);  \
  }                                        \
  double strict_##name(double x) {         \
    return simd::strict_##name<double>(x); \
  }
#define QUERN_BINARY(name)                    \
  float strict_##name(float x, float y) {     \
    return simd::strict_##name<float>(x, y);  \
  }                                           \
  double strict_##name(double x, double y) {  \
    return simd::strict_##name<double>(x, y); \
  }
#include "ops/math/binary_functions.inc"
#include "ops/math/unary_functions.inc"
#undef QUERN_UNARY
#undef QUERN_BINARY

}  // namespace quern
