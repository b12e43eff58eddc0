// Arithmetic of equal shapes: add, sub, mul, div, max, min, abs, neg, sqrt, axpy, scale, outer.
#include "ops/elementwise.h"

#include <cmath>

#include "base/fail.h"
#include "ops/max_min.h"
#include "ops/number_kernel.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using Types = std::vector<TensorType>;

// Floats as IEEE 754, integers wrap: unsigned arithmetic, so that overflow is defined.
// wrapping_add and its kin (number_kernel.h) are plain + on floats, so that one formula serves
// both.
struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_add(a, b);
  }
};
// a - b; integers wrap.
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_subtract(a, b);
  }
};
// a * b; integers wrap.
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_multiply(a, b);
  }
};
// Floats only; integer quotients are elementwise.quotient.
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
// NaN in either gives NaN; +0 is above -0.
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return strict_max(a, b);
  }
};
// NaN in either gives NaN; -0 is below +0.
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return strict_min(a, b);
  }
};
// The lowest integer has no positive counterpart and wraps to itself.
struct Abs {
  // std::abs of a float clears the sign bit and never rounds; NaN stays NaN.
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(x);
    else
      return x < 0 ? wrapping_subtract(T(0), x) : x;
  }
};
// Flips the sign bit of floats, of NaN too.
struct Neg {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return wrapping_subtract(T(0), x);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T x) const {
    return std::sqrt(x);  // correctly rounded by IEEE 754
  }
};
// NaN stays NaN; both zeros give +0.
// (x > 0) - (x < 0) is 0 for both zeros, as an int, so that the sign of a zero goes away.
struct Sign {
  template <class T>
  T operator()(T x) const {
    if (x != x) return x;
    return static_cast<T>((x > 0) - (x < 0));
  }
};

// One formula over all elements, in the compute type for floats, in the element type for
// integers.
template <class Formula>
struct UnaryNumberKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const typename NumberAccess<T>::Input x(context.inputs[0]);
    typename NumberAccess<T>::Output y(context.outputs[0]);
    for (int64_t i = 0; i < y.size(); ++i) y[i] = Formula()(T(x[i]));
    return {};
  }
};

// b may be shorter than a: then it repeats (the bias of add).
// Row `row` of a begins at a multiple of b's length; with equal shapes there is one row. Where b is
// empty z is too, so the loop does not run with a period of 0.
template <class Formula>
struct BinaryNumberKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const typename NumberAccess<T>::Input a(context.inputs[0]), b(context.inputs[1]);
    typename NumberAccess<T>::Output z(context.outputs[0]);
    const int64_t period = b.size();
    for (int64_t row = 0; row < z.size(); row += period) {
      for (int64_t i = 0; i < period; ++i) z[row + i] = Formula()(T(a[row + i]), T(b[i]));
    }
    return {};
  }
};

// Equal types, or b a vector for the last axis of a.
// Only the second operand may be the short one, and a must have more than one axis: otherwise the
// types must be equal, and infer_same_numbers says which is wrong.
Result<Types> infer_add(const InferContext& context) {
  const TensorType& a = *context.inputs[0];
  const TensorType& b = *context.inputs[1];
  const bool is_bias = a.rank() > 1 && b.rank() == 1 && b.dims[0] == a.dims.back();
  if (!is_bias || a.dtype != b.dtype) return infer_same_numbers(context);
  QUERN_TRY(type_rules::expect_number(type_rules::port_name(context, 0), a));
  return Types{a};
}

// The definition that arithmetic of two tensors shares.
// No f32_cancels: a sum of two numbers is correctly rounded, so 1 ulp is generous.
template <class Formula>
OpDef binary_op(std::string id, std::string doc, Formula) {
  return {.id = std::move(id),
          .doc = std::move(doc),
          .shape_rule = kBinaryNumbers,
          .edge_rule =
              "IEEE: NaN gives NaN, 0 times infinity and inf - inf are NaN. "
              "Integers wrap. No elements give none.",
          .f32_bound = 1,
          .inputs = {op_parts::port("a"), op_parts::port("b")},
          .outputs = {op_parts::port("z")},
          .infer = infer_same_numbers,
          .reference = number_kernel<BinaryNumberKernel<Formula>>,
          .in_place_input = 0,
          .is_elementwise = true};
}

// The definition that arithmetic of one tensor shares; results are exact.
// Exact in every type, hence a bound of 0.
template <class Formula>
OpDef unary_op(std::string id, std::string doc, Formula, std::string output = "y") {
  return {.id = std::move(id),
          .doc = std::move(doc),
          .shape_rule = "x: floats or integers of any shape; the result has its type.",
          .edge_rule =
              "The sign of NaN is not kept track of; infinities keep their "
              "size. No elements give none.",
          .f32_bound = 0,
          .inputs = {op_parts::port("x")},
          .outputs = {op_parts::port(std::move(output))},
          .infer = infer_same_numbers,
          .reference = number_kernel<UnaryNumberKernel<Formula>>,
          .in_place_input = 0,
          .is_elementwise = true};
}

// axpy, scale, inv_sqrt_dim_scale -----------------------------------------------------------

// y + alpha x with a rounded product: no fused multiply-add, which would differ between
// machines.
// x and y keep their ports: in place the result may take y's memory (input 1), since x is read at
// the same index only.
struct AxpyKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const T alpha = static_cast<T>(context.attributes.number("alpha"));
    const FloatInput<T> x(context.inputs[0]), y(context.inputs[1]);
    FloatOutput<T> z(context.outputs[0]);
    for (int64_t i = 0; i < z.size(); ++i) z[i] = y[i] + alpha * x[i];
    return {};
  }
};

// The factor rounds once to the compute type.
// Registered with a factor of 1 as a sample for the template; a kernel makes its own from the
// node's attributes.
struct Scale {
  double factor;
  explicit Scale(const Attributes& attributes) : factor(attributes.number("factor")) {}
  template <class T>
  T operator()(T x) const {
    return x * static_cast<T>(factor);
  }
};

// A tensor of rank 0 has no last extent.
Result<std::vector<TensorType>> infer_inv_sqrt_dim(const InferContext& context) {
  QUERN_TRY(
      type_rules::expect_rank_at_least(type_rules::port_name(context, 0), *context.inputs[0], 1));
  return infer_same_floats(context);
}

// The scale of attention scores, 1 / sqrt(width).
// In f64, then one rounding: 1 / sqrt(64) is exactly 0.125 in every type. A width of 0 gives an
// infinite factor that no element meets; a scalar counts as width 1.
struct InvSqrtDimKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> x(context.inputs[0]);
    FloatOutput<T> y(context.outputs[0]);
    const double width = static_cast<double>(context.inputs[0].shape.last());
    const T scale = static_cast<T>(1.0 / std::sqrt(width));
    for (int64_t i = 0; i < y.size(); ++i) y[i] = x[i] * scale;
    return {};
  }
};

// outer -------------------------------------------------------------------------------------

// Two vectors of one float dtype, of any lengths.
// The only binary operation here whose operands need not have one shape.
Result<Types> infer_outer(const InferContext& context) {
  const TensorType& a = *context.inputs[0];
  const TensorType& b = *context.inputs[1];
  QUERN_TRY(type_rules::expect_float("a", a));
  QUERN_TRY(type_rules::expect_rank("a", a, 1));
  QUERN_TRY(type_rules::expect_rank("b", b, 1));
  QUERN_TRY(type_rules::expect_dtype("b", b, {a.dtype}));
  return Types{{a.dtype, {a.dims[0], b.dims[0]}}};
}

// Every product of an element of a with one of b, row by row.
// Each product is independent, so that no order is to be fixed.
struct OuterKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> a(context.inputs[0]), b(context.inputs[1]);
    FloatOutput<T> w(context.outputs[0]);
    for (int64_t i = 0; i < a.size(); ++i) {
      for (int64_t j = 0; j < b.size(); ++j) w[i * b.size() + j] = a[i] * b[j];
    }
    return {};
  }
};

// Operations of two tensors. Order of registration does not matter; aliases copy the definition.
void register_binary(OpRegistry& registry) {
  OpDef add = binary_op("math.add",
                        "x + y for equal shapes, or y a vector for the last axis of x. Integers "
                        "wrap.",
                        Add{});
  add.inputs = {op_parts::port("x"), op_parts::port("y")};
  add.infer = infer_add;
  // The port names of add and mul are x and y; "Add" and "Mul" call them a and b, as their front
  // ends do.
  add.shape_rule =
      "Floats or integers of one dtype; equal shapes, or the second "
      "a vector for the last axis; the result has the type of the "
      "first.";
  // IEEE addition and multiplication commute bit for bit, but for the payload of NaN.
  add.is_commutative = true;
  registry.add(alias_of(add, "Add", {"a", "b"}));
  registry.add(std::move(add));
  OpDef mul = binary_op("math.mul", "x * y for equal shapes. Integers wrap.", Mul{});
  mul.inputs = {op_parts::port("x"), op_parts::port("y")};
  mul.is_commutative = true;
  registry.add(alias_of(mul, "Mul", {"a", "b"}));
  registry.add(std::move(mul));
  registry.add(binary_op("elementwise.sub", "a - b for equal shapes. Integers wrap.", Sub{}));
  // Exact: one of the operands comes out.
  OpDef max = op_parts::with_notes(
      binary_op("elementwise.max",
                "The larger of a and b. NaN in either gives NaN; +0 is above -0.", Max{}),
      kBinaryNumbers, "NaN gives NaN; zeros compare by sign. No elements give none.", 0);
  max.is_commutative = true;
  registry.add(std::move(max));
  OpDef min = op_parts::with_notes(
      binary_op("elementwise.min",
                "The smaller of a and b. NaN in either gives NaN; -0 is below +0.", Min{}),
      kBinaryNumbers, "NaN gives NaN; zeros compare by sign. No elements give none.", 0);
  min.is_commutative = true;
  registry.add(std::move(min));
  registry.add({.id = "elementwise.div",
                .doc = "a / b for equal shapes of floats, correctly rounded.",
                .shape_rule = "Floats of one dtype and shape; the result has both.",
                .edge_rule = "IEEE: x / 0 is infinite, 0 / 0 and inf / inf are NaN. No "
                             "elements give none.",
                .f32_bound = 1,
                .inputs = {op_parts::port("a"), op_parts::port("b")},
                .outputs = {op_parts::port("z")},
                .infer = infer_same_floats,
                .reference = float_kernel<BinaryKernel<Div>>,
                .in_place_input = 0,
                .is_elementwise = true});
  registry.add({.id = "elementwise.axpy",
                .doc = "z = y + alpha * x; the product is rounded, also for alpha = 0.",
                .shape_rule = "x, y, z: floats of one dtype and shape.",
                .edge_rule = "IEEE: NaN gives NaN, alpha = 0 times infinity is NaN. No "
                             "elements give none.",
                .f32_bound = 4,
                .inputs = {op_parts::port("x"), op_parts::port("y")},
                .outputs = {op_parts::port("z")},
                .attributes = {op_parts::number("alpha", op_parts::kRequired, "Factor of x.")},
                .infer = infer_same_floats,
                .reference = float_kernel<AxpyKernel>,
                .in_place_input = 1,
                .is_elementwise = true});
  registry.add({.id = "math.outer",
                .doc = "W[i, j] = a[i] * b[j].",
                .shape_rule = "a [M], b [N], W [M, N] of one float dtype.",
                .edge_rule = "IEEE: NaN spreads to its row or column, 0 times infinity is "
                             "NaN. No elements give none.",
                .f32_bound = 1,
                .inputs = {op_parts::port("a"), op_parts::port("b")},
                .outputs = {op_parts::port("W")},
                .infer = infer_outer,
                .reference = float_kernel<OuterKernel>});
}

// Operations of one tensor.
void register_unary(OpRegistry& registry) {
  registry.add(unary_op("elementwise.abs", "|x|; the lowest integer wraps to itself.", Abs{}));
  registry.add(unary_op("elementwise.neg", "-x; integers wrap.", Neg{}));
  registry.add(op_parts::with_notes(
      unary_op("math.sign", "-1, 0 or +1; 0 for both zeros, NaN for NaN.", Sign{}, "s"),
      "x: floats or integers of any shape; s has its type.",
      "NaN gives NaN, infinities give 1 with their sign. No elements "
      "give none.",
      0));
  registry.add(unary_float_op("elementwise.sqrt",
                              "The square root, correctly rounded; -0 for -0, NaN below.", Sqrt{},
                              {}, 1));
  registry.add(
      unary_float_op("math.scale", "x * factor, the factor rounded to the compute type.",
                     Scale(Attributes{{"factor", 1.0}}),
                     {op_parts::number("factor", op_parts::kRequired, "What to multiply by.")}, 2));
  registry.add({.id = "math.inv_sqrt_dim_scale",
                .doc = "x * s with s = 1 / sqrt(last extent), computed in f64, then rounded.",
                .shape_rule = "x of floats, rank 1 or more; y has its type.",
                .edge_rule = "NaN gives NaN; infinities stay. No elements give none.",
                .f32_bound = 2,
                .inputs = {op_parts::port("x")},
                .outputs = {op_parts::port("y")},
                .infer = infer_inv_sqrt_dim,
                .reference = float_kernel<InvSqrtDimKernel>,
                .in_place_input = 0});
}

}  // namespace

void register_elementwise_ops(OpRegistry& registry) {
  register_binary(registry);
  register_unary(registry);
}

}  // namespace quern
