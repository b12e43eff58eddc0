// Functions of numbers that no surface method has: inverse and hyperbolic functions, powers,
// rounding to integers.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/math/strict_math.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

// A formula made of an overloaded function of one number.
// The overloads for float and double are chosen by T; std::ceil and std::floor are exact, the
// others our own.
#define QUERN_FUNCTION(name, function) \
  struct name {                        \
    template <class T>                 \
    T operator()(T x) const {          \
      return function(x);              \
    }                                  \
  }
QUERN_FUNCTION(Acos, strict_acos);
QUERN_FUNCTION(Acosh, strict_acosh);
QUERN_FUNCTION(Asin, strict_asin);
QUERN_FUNCTION(Asinh, strict_asinh);
QUERN_FUNCTION(Atan, strict_atan);
QUERN_FUNCTION(Atanh, strict_atanh);
QUERN_FUNCTION(Cosh, strict_cosh);
QUERN_FUNCTION(Sinh, strict_sinh);
QUERN_FUNCTION(Tan, strict_tan);
// Exact by IEEE 754.
QUERN_FUNCTION(Ceil, std::ceil);
QUERN_FUNCTION(Floor, std::floor);
#undef QUERN_FUNCTION

// Ties to even, whatever the rounding mode of the thread: x - remainder(x, 1) is exact.
// nearbyint would follow the rounding mode, and C's round goes away from zero at halves. copysign
// keeps the sign of results that are 0.
struct RoundToEven {
  template <class T>
  T operator()(T x) const {
    if (!std::isfinite(x)) return x;
    return std::copysign(x - std::remainder(x, T(1)), x);
  }
};

// strict_pow has C's special values; its result does not depend on the C library.
// The order of the operands matters: x is the base.
struct Pow {
  template <class T>
  T operator()(T x, T y) const {
    return strict_pow(x, y);
  }
};

}  // namespace

void register_function_ops(OpRegistry& registry) {
  registry.add(unary_float_op("math.acos", "The arc cosine; NaN outside [-1, 1].", Acos{}));
  registry.add(
      unary_float_op("math.acosh", "The inverse hyperbolic cosine; NaN below 1.", Acosh{}));
  registry.add(unary_float_op("math.asin", "The arc sine; NaN outside [-1, 1].", Asin{}));
  registry.add(unary_float_op("math.asinh", "The inverse hyperbolic sine.", Asinh{}));
  registry.add(unary_float_op("math.atan", "The arc tangent.", Atan{}));
  registry.add(unary_float_op("math.atanh", "The inverse hyperbolic tangent; NaN outside [-1, 1].",
                              Atanh{}));
  registry.add(unary_float_op("math.ceil", "The smallest integer that is not below x.", Ceil{}));
  registry.add(unary_float_op("math.cosh", "The hyperbolic cosine.", Cosh{}));
  registry.add(unary_float_op("math.floor", "The largest integer that is not above x.", Floor{}));
  registry.add(unary_float_op("math.round", "The nearest integer, ties to even.", RoundToEven{}));
  registry.add(unary_float_op("math.sinh", "The hyperbolic sine.", Sinh{}));
  registry.add(unary_float_op("math.tan",
                              "The tangent with an exact reduction; NaN for infinities.", Tan{}));
  registry.add({.id = "math.pow",
                .doc = "x to the power y for equal shapes of floats; special values as in C's pow.",
                .shape_rule = "Floats of one dtype and shape; the result has both.",
                .edge_rule =
                    "pow(x, 0) and pow(1, y) are 1, also for NaN; a negative x with a y that "
                    "is no integer gives NaN. No elements give none.",
                .f32_bound = 4,
                .inputs = {op_parts::port("x"), op_parts::port("y")},
                .outputs = {op_parts::port("z")},
                .infer = infer_same_floats,
                .reference = float_kernel<BinaryKernel<Pow>>,
                .in_place_input = 0});
}

}  // namespace quern
