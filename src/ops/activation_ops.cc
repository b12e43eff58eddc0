// Activations of one input, from the formulas of activation-inl.h; exp, log, sin, cos.
#include "base/fail.h"
#include "ops/activation-inl.h"
#include "ops/dim_math.h"
#include "ops/elementwise.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using op_parts::kRequired;
using op_parts::number;
using Types = std::vector<TensorType>;

// Formulas with a parameter: the attribute rounds to the compute type.
template <class T>
T parameter(double value) {
  return static_cast<T>(value);
}

// Each formula below is a functor of its attributes: UnaryKernel makes one for a call, and applies
// it to float or double. Attributes are kept in f64 and rounded at every use, since one functor
// serves both types.
struct LeakyRelu {
  double slope;
  explicit LeakyRelu(double value) : slope(value) {}
  template <class T>
  T operator()(T x) const {
    return simd::leaky_relu(x, parameter<T>(slope));
  }
};
// Two operations differ only in the name and the default of their attribute.
struct LeakyReluAlpha : LeakyRelu {
  explicit LeakyReluAlpha(const Attributes& a) : LeakyRelu(a.number("alpha")) {}
};
struct LeakyReluSlope : LeakyRelu {
  explicit LeakyReluSlope(const Attributes& a) : LeakyRelu(a.number("slope")) {}
};

struct Elu {
  double alpha;
  explicit Elu(const Attributes& a) : alpha(a.number("alpha")) {}
  template <class T>
  T operator()(T x) const {
    return simd::elu(x, parameter<T>(alpha));
  }
};
struct Celu {
  double alpha;
  explicit Celu(const Attributes& a) : alpha(a.number("alpha")) {}
  template <class T>
  T operator()(T x) const {
    return simd::celu(x, parameter<T>(alpha));
  }
};
struct Threshold {
  double theta;
  explicit Threshold(const Attributes& a) : theta(a.number("theta")) {}
  template <class T>
  T operator()(T x) const {
    return simd::threshold(x, parameter<T>(theta));
  }
};
struct HardTanhRange {
  double low, high;
  explicit HardTanhRange(const Attributes& a) : low(a.number("min")), high(a.number("max")) {}
  template <class T>
  T operator()(T x) const {
    return simd::clamp(x, parameter<T>(low), parameter<T>(high));
  }
};
struct HardShrink {
  double lambda;
  explicit HardShrink(const Attributes& a) : lambda(a.number("lambda")) {}
  template <class T>
  T operator()(T x) const {
    return simd::hard_shrink(x, parameter<T>(lambda));
  }
};
struct SoftShrink {
  double lambda;
  explicit SoftShrink(const Attributes& a) : lambda(a.number("lambda")) {}
  template <class T>
  T operator()(T x) const {
    return simd::soft_shrink(x, parameter<T>(lambda));
  }
};
struct Snake {
  double alpha, beta;
  Snake(double a, double b) : alpha(a), beta(b) {}
  // activation.snake has one parameter; it is the frequency and the divisor.
  explicit Snake(const Attributes& a) : Snake(a.number("alpha"), a.number("alpha")) {}
  template <class T>
  T operator()(T x) const {
    return simd::snake(x, parameter<T>(alpha), parameter<T>(beta));
  }
};
struct SnakeParametric : Snake {
  explicit SnakeParametric(const Attributes& a) : Snake(a.number("alpha"), a.number("beta")) {}
};
// Both forms are one operation with a choice, as PyTorch's `approximate` has it; the choice is per
// call and not per element, so the branch costs the reference nothing that matters.
struct Gelu {
  bool is_tanh;
  explicit Gelu(const Attributes& a) : is_tanh(a.text("approximate") == "tanh") {}
  template <class T>
  T operator()(T x) const {
    return is_tanh ? simd::strict_gelu_tanh(x) : simd::strict_gelu(x);
  }
};

// Rules of parameters that would make a formula meaningless.
// Zero would divide, and NaN would make every result NaN; infinities pass, for which the formulas
// have values. Both comparisons are false for NaN.
Result<void> expect_not_zero(const Attributes& attributes, std::string_view name) {
  const double value = attributes.number(name);
  if (value < 0 || value > 0) return {};
  return fail::invalid("Attribute '{}' is {}; it must be a number other than 0.", name, value);
}
Result<Types> infer_divides_by_alpha(const InferContext& context) {
  QUERN_TRY(expect_not_zero(context.attributes, "alpha"));
  return infer_same_floats(context);
}
Result<Types> infer_divides_by_beta(const InferContext& context) {
  QUERN_TRY(expect_not_zero(context.attributes, "beta"));
  return infer_same_floats(context);
}
// A negative width would let soft_shrink grow its input, and hard_shrink would cut nothing. NaN
// fails the comparison and is refused.
Result<Types> infer_shrink(const InferContext& context) {
  const double lambda = context.attributes.number("lambda");
  if (lambda >= 0) return infer_same_floats(context);
  return fail::invalid("Attribute 'lambda' is {}; it must be 0 or more.", lambda);
}
// With min above max the clamp would depend on the order of its two steps. NaN in either is
// refused, since the comparison is false.
Result<Types> infer_range(const InferContext& context) {
  const double low = context.attributes.number("min"), high = context.attributes.number("max");
  if (low <= high) return infer_same_floats(context);
  return fail::invalid("Attribute 'min' is {}; it must not be above 'max', {}.", low, high);
}

// An operation whose formula takes its parameters from the attributes.
// `infer` is the place of checks on the attributes. The default bound of 8 ulp is for formulas of
// several rounded steps with one transcendental function. All of them may write over their input,
// since element i of y needs element i of x alone.
template <class Formula>
OpDef parametric_op(std::string id, std::string doc, std::vector<AttributeDef> attributes,
                    OpDef::Infer infer = infer_same_floats, double f32_bound = 8) {
  return {.id = std::move(id),
          .doc = std::move(doc),
          .shape_rule = kUnaryShapes,
          .edge_rule = kIeeeEdges,
          .f32_bound = f32_bound,
          .inputs = {op_parts::port("x")},
          .outputs = {op_parts::port("y")},
          .attributes = std::move(attributes),
          .infer = infer,
          .reference = float_kernel<UnaryKernel<Formula>>,
          .in_place_input = 0,
          .is_elementwise = true};
}

// The functions proper: their bound of 2 ulp in f32 is that of numerics, not the 4 of
// unary_float_op, since they are single functions and not compositions.
void register_functions(OpRegistry& registry) {
  const auto add = [&](const char* id, const char* doc, auto formula) {
    registry.add(unary_float_op(id, doc, formula, {}, 2));
  };
  add("math.exp",
      "exp(x), within 2 ulp in f32 and 4 in f64; +0 for -inf, +inf past the "
      "largest float.",
      [](auto x) { return simd::strict_exp(x); });
  add("math.erf",
      "The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x, within 2 ulp "
      "in f32 and 4 in f64; -1 and 1 for infinities.",
      [](auto x) { return simd::strict_erf(x); });
  add("math.log",
      "The natural logarithm, within 2 ulp in f32 and 4 in f64; -inf for zeros, NaN below, +inf "
      "for "
      "+inf.",
      [](auto x) { return simd::strict_log(x); });
  add("math.sin",
      "sin(x), within 2 ulp in f32 and 4 in f64, with an exact reduction of every finite x; NaN "
      "for "
      "infinities.",
      [](auto x) { return simd::strict_sin(x); });
  add("math.cos",
      "cos(x), within 2 ulp in f32 and 4 in f64, with an exact reduction of every finite x; NaN "
      "for "
      "infinities.",
      [](auto x) { return simd::strict_cos(x); });
  add("activation.log1p", "log(1 + x) without the rounding of 1 + x; -inf for -1, NaN below.",
      [](auto x) { return simd::strict_log1p(x); });
  add("activation.expm1", "exp(x) - 1 without cancellation near 0; -1 for -inf.",
      [](auto x) { return simd::strict_expm1(x); });
}

// Activations without parameters. `f32_cancels` is for those whose result is a small difference of
// larger terms, whose error is measured against these terms (OpDef::f32_cancels). An alias shares
// the kernel; exporters and front ends write these names.
void register_plain(OpRegistry& registry) {
  const auto add = [&](const char* id, const char* doc, auto formula,
                       std::initializer_list<const char*> aliases = {}, bool f32_cancels = false) {
    OpDef op = unary_float_op(id, doc, formula);
    op.f32_cancels = f32_cancels;
    for (const char* alias : aliases) registry.add(alias_of(op, alias));
    registry.add(op);
  };
  add("activation.relu", "max(x, 0); +0 for -0.", [](auto x) { return simd::relu(x); },
      {"ReLU", "elementwise.relu"});
  add("activation.sigmoid",
      "1 / (1 + exp(-x)), without overflow on either side; 0 for -inf, 1 for +inf.",
      [](auto x) { return simd::strict_sigmoid(x); }, {"Sigmoid"});
  add("activation.tanh",
      "tanh(x), within 2 ulp in f32 and 4 in f64; zeros keep their sign, -1 and 1 for infinities.",
      [](auto x) { return simd::strict_tanh(x); }, {"Tanh"});
  add("activation.swish", "x * sigmoid(x); NaN for -inf.", [](auto x) { return simd::swish(x); },
      {"Swish", "activation.silu"});
  add("activation.selu", "(x > 0: x; else expm1(x) * 1.6732632423543772) * 1.0507009873554805.",
      [](auto x) { return simd::selu(x); }, {"SELU"});
  // decltype(x)(1) is 1 in the type that the lambda is called with.
  add("activation.elu", "x > 0: x; else expm1(x): activation.elu_alpha with alpha 1; -1 for -inf.",
      [](auto x) { return simd::elu(x, decltype(x)(1)); });
  add("activation.celu",
      "max(x, 0) + min(expm1(x), 0): activation.celu_alpha with alpha 1; -1 for -inf.",
      [](auto x) { return simd::celu(x, decltype(x)(1)); });
  add("activation.softplus",
      "log1p(exp(-|x|)) + max(x, 0), a smooth max(x, 0) that does not overflow; 0 for -inf.",
      [](auto x) { return simd::softplus(x); });
  add("activation.log_sigmoid",
      "-softplus(-x), the logarithm of activation.sigmoid; -inf for -inf.",
      [](auto x) { return simd::log_sigmoid(x); });
  add("activation.mish", "x * tanh(softplus(x)); NaN for -inf.",
      [](auto x) { return simd::mish(x); });
  add("activation.softsign", "x / (1 + |x|); NaN for infinities.",
      [](auto x) { return simd::softsign(x); });
  add(
      "activation.gelu_tanh",
      "(x * 0.5) * (1 + tanh((x + 0.044715 * x^3) * 0.7978845608028654)); NaN for -inf.",
      [](auto x) { return simd::strict_gelu_tanh(x); }, {}, true);
  add("activation.quick_gelu", "x * sigmoid(x * 1.702); NaN for -inf.",
      [](auto x) { return simd::quick_gelu(x); });
  add("activation.hard_sigmoid", "clamp(x / 6 + 0.5, 0, 1), a piecewise linear activation.sigmoid.",
      [](auto x) { return simd::hard_sigmoid(x); });
  add("activation.hard_swish", "(x * clamp(x + 3, 0, 6)) / 6; NaN for -inf.",
      [](auto x) { return simd::hard_swish(x); }, {"activation.hard_gelu"});
  add("activation.hard_tanh", "clamp(x, -1, 1), a piecewise linear activation.tanh.",
      [](auto x) { return simd::clamp(x, decltype(x)(-1), decltype(x)(1)); });
  add(
      "activation.tanh_shrink",
      "x - tanh(x); the difference cancels near 0, where its error is half an ulp of x.",
      [](auto x) { return simd::tanh_shrink(x); }, {}, true);
}

// y = x > 0 ? x : x * slope, with one slope or one for each element.
// The slopes are a vector in any case: for a matrix x they are its elements in row-major order.
// Symbols must agree: T elements need T slopes.
Result<Types> infer_prelu_v(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  const TensorType& slopes = *context.inputs[1];
  QUERN_TRY(type_rules::expect_float("x", x));
  QUERN_TRY(type_rules::expect_dtype("slopes", slopes, {x.dtype}));
  QUERN_TRY(type_rules::expect_rank("slopes", slopes, 1));
  if (slopes.dims[0] == Dim::constant(1) || slopes.dims[0] == multiply_dims(x.dims)) {
    return Types{x};
  }
  return fail::invalid("Port 'slopes' has type {}; it needs 1 slope or one for each element of {}.",
                       slopes.to_string(), x.to_string());
}

// leaky_relu with a slope for each place; a shared one is read at index 0.
struct PreluVKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> x(context.inputs[0]), slopes(context.inputs[1]);
    FloatOutput<T> y(context.outputs[0]);
    const bool is_shared = slopes.size() == 1;
    for (int64_t i = 0; i < y.size(); ++i) {
      y[i] = simd::leaky_relu(x[i], slopes[is_shared ? 0 : i]);
    }
    return {};
  }
};

// Operations with attributes, each with the rule that its attributes need.
void register_parametric(OpRegistry& registry) {
  const auto add = [&](OpDef op, const char* alias = nullptr) {
    if (alias != nullptr) registry.add(alias_of(op, alias));
    registry.add(std::move(op));
  };
  const AttributeDef alpha = number("alpha", kRequired, "Scale of the negative side.");
  const AttributeDef slope = number("slope", kRequired, "Factor of x <= 0.");
  const AttributeDef lambda = number("lambda", kRequired, "Half the width of the flat part; >= 0.");
  OpDef gelu =
      parametric_op<Gelu>("activation.gelu",
                          "(x * 0.5) * (1 + erf(x * 1/sqrt(2))), or activation.gelu_tanh; NaN for "
                          "-inf.",
                          {op_parts::text("approximate", "none", "Which form.", {"none", "tanh"})});
  gelu.f32_cancels = true;
  add(std::move(gelu), "GELU");
  add(parametric_op<LeakyReluAlpha>("activation.leaky_relu", "x > 0: x; else x * alpha.",
                                    {number("alpha", 0.01, "Factor of x <= 0.")}),
      "LeakyReLU");
  add(parametric_op<LeakyReluSlope>("activation.prelu", "x > 0: x; else x * slope.", {slope}),
      "activation.leaky_relu_slope");
  add(parametric_op<Elu>("activation.elu_alpha", "x > 0: x; else expm1(x) * alpha.", {alpha}));
  add(parametric_op<Celu>("activation.celu_alpha",
                          "max(x, 0) + min(expm1(x / alpha) * alpha, 0); alpha is not 0.", {alpha},
                          infer_divides_by_alpha));
  add(parametric_op<Threshold>("activation.threshold", "x > theta: x; else +0.",
                               {number("theta", kRequired, "The threshold.")}));
  add(parametric_op<HardTanhRange>("activation.hard_tanh_range",
                                   "min(max(x, min), max); min is not above max.",
                                   {number("min", kRequired, "The lowest result."),
                                    number("max", kRequired, "The highest result.")},
                                   infer_range));
  add(parametric_op<HardShrink>("activation.hard_shrink", "|x| > lambda: x; else +0.", {lambda},
                                infer_shrink));
  add(parametric_op<SoftShrink>("activation.soft_shrink",
                                "max(|x| - lambda, 0) with the sign of x.", {lambda},
                                infer_shrink));
  add(parametric_op<Snake>("activation.snake",
                           "s = sin(x * alpha); x + (s * s) / alpha; alpha is not 0.",
                           {number("alpha", kRequired, "Frequency.")}, infer_divides_by_alpha));
  add(parametric_op<SnakeParametric>("activation.snake_parametric",
                                     "s = sin(x * alpha); x + (s * s) / beta; beta is not 0.",
                                     {number("alpha", kRequired, "Frequency."),
                                      number("beta", kRequired, "Inverse size of the wave.")},
                                     infer_divides_by_beta));
  add({.id = "activation.prelu_v",
       .doc = "x > 0: x; else x * slope, with one slope or one for each element.",
       .shape_rule = "x of any float type; slopes a vector of its dtype with 1 "
                     "element or as many as x; y has x's type.",
       .edge_rule = "NaN in x gives NaN, in a slope where x is not above 0; 0 times infinity is "
                    "NaN. No elements give none.",
       .f32_bound = 1,
       .inputs = {op_parts::port("x"), op_parts::port("slopes")},
       .outputs = {op_parts::port("y")},
       .infer = infer_prelu_v,
       .reference = float_kernel<PreluVKernel>,
       .in_place_input = 0});
}

}  // namespace

void register_activation_ops(OpRegistry& registry) {
  register_functions(registry);
  register_plain(registry);
  register_parametric(registry);
}

}  // namespace quern
