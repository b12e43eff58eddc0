// ONNX operators that work element by element: arithmetic, functions, activations, casts.
// Operators that have no operation of their own are a few nodes, with the rounding of each step as
// ONNX has it.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/fail.h"
#include "formats/onnx/node_context.h"

namespace quern::onnx {
namespace {

// x -> y of one operation.
template <const char* kId>
Result<void> unary(NodeContext& c) {
  c.out(0, c.g().op(kId, {c.in(0)}));
  return c.done();
}
// a, b -> z, broadcast.
template <const char* kId>
Result<void> binary(NodeContext& c) {
  // Evaluated before the call: the order of a call's arguments is not fixed in C++, and in() may
  // add nodes.
  const ValueId a = c.in(0), b = c.in(1);  // in this order become inputs
  c.out(0, c.g().binary(kId, a, b));
  return c.done();
}
// Any number of inputs, folded from the left.
template <const char* kId>
Result<void> fold(NodeContext& c) {
  if (c.num_inputs() == 0) return fail::invalid("{} has no inputs.", c.node().op_type);
  ValueId y = c.in(0);
  for (size_t i = 1; i < c.num_inputs(); ++i) y = c.g().binary(kId, y, c.in(i));
  c.out(0, y);
  return c.done();
}

#define QUERN_ID(name, id) constexpr char name[] = id
// One function for each operator that is one operation here; both sides broadcast as NumPy does.
QUERN_ID(kAbs, "elementwise.abs");
QUERN_ID(kAcos, "math.acos");
QUERN_ID(kAcosh, "math.acosh");
QUERN_ID(kAdd, "math.add");
QUERN_ID(kAsin, "math.asin");
QUERN_ID(kAsinh, "math.asinh");
QUERN_ID(kAtan, "math.atan");
QUERN_ID(kAtanh, "math.atanh");
QUERN_ID(kCeil, "math.ceil");
QUERN_ID(kCos, "math.cos");
QUERN_ID(kCosh, "math.cosh");
QUERN_ID(kErf, "math.erf");
QUERN_ID(kExp, "math.exp");
QUERN_ID(kFloor, "math.floor");
QUERN_ID(kHardSwish, "activation.hard_swish");
QUERN_ID(kLog, "math.log");
QUERN_ID(kMax, "elementwise.max");
QUERN_ID(kMin, "elementwise.min");
QUERN_ID(kMish, "activation.mish");
QUERN_ID(kMul, "math.mul");
QUERN_ID(kNeg, "elementwise.neg");
QUERN_ID(kRelu, "activation.relu");
QUERN_ID(kRound, "math.round");
QUERN_ID(kSigmoid, "activation.sigmoid");
QUERN_ID(kSign, "math.sign");
QUERN_ID(kSin, "math.sin");
QUERN_ID(kSinh, "math.sinh");
QUERN_ID(kSoftplus, "activation.softplus");
QUERN_ID(kSoftsign, "activation.softsign");
QUERN_ID(kSqrt, "elementwise.sqrt");
QUERN_ID(kSub, "elementwise.sub");
QUERN_ID(kTan, "math.tan");
QUERN_ID(kTanh, "activation.tanh");
#undef QUERN_ID

// The value under another name.
Result<void> identity(NodeContext& c) {
  // A value of its own, so that the output is not the input under another name.
  c.out(0, c.g().op("shape.reshape", {c.in(0)}, {{"shape", c.g().dims(c.in(0))}}));
  return c.done();
}

// Division of integers rounds towards zero in ONNX.
Result<void> divide(NodeContext& c) {
  const ValueId a = c.in(0);
  c.out(0, c.g().binary(is_float(c.g().dtype(a)) ? "elementwise.div" : "elementwise.quotient", a,
                        c.in(1)));
  return c.done();
}

// Mod: the sign of the divisor, or of the dividend with fmod.
Result<void> modulo(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const auto common = common_shape(g.dims(c.in(0)), g.dims(c.in(1)));
  if (!common) return fail::invalid("The shapes of Mod do not broadcast.");
  const bool takes_dividend = c.integer("fmod", 0) != 0;
  c.out(0, g.op("elementwise.remainder",
                {g.broadcast(c.in(0), *common), g.broadcast(c.in(1), *common)},
                {{"sign", takes_dividend ? "dividend" : "divisor"}}));
  return c.done();
}

// The result has the type of the base; integers go through f64.
Result<void> power(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const DType base = g.dtype(c.in(0));
  // Exact for integer results below 2^53.
  const DType compute = is_float(base) ? base : DType::kF64;
  c.out(0, g.cast(g.binary("math.pow", g.cast(c.in(0), compute), g.cast(c.in(1), compute)), base));
  return c.done();
}

// 1 ÷ x.
Result<void> reciprocal(NodeContext& c) {
  c.out(0, c.g().binary("elementwise.div", c.g().scalar(c.in(0), 1), c.in(0)));
  return c.done();
}

// Of any number of inputs, which broadcast together.
Result<void> mean(NodeContext& c) {
  if (c.num_inputs() == 0) return fail::invalid("Mean has no inputs.");
  ValueId sum = c.in(0);
  for (size_t i = 1; i < c.num_inputs(); ++i) sum = c.g().binary("math.add", sum, c.in(i));
  const double share = 1.0 / static_cast<double>(c.num_inputs());
  c.out(0, c.g().with_scalar("math.mul", sum, share));
  return c.done();
}

// Activations with parameters -------------------------------------------------------------------

// Activations with parameters; the defaults are those of the operators' descriptions.
Result<void> leaky_relu(NodeContext& c) {
  c.out(0, c.g().op("activation.leaky_relu", {c.in(0)}, {{"alpha", c.number("alpha", 0.01)}}));
  return c.done();
}
Result<void> elu(NodeContext& c) {
  c.out(0, c.g().op("activation.elu_alpha", {c.in(0)}, {{"alpha", c.number("alpha", 1)}}));
  return c.done();
}
Result<void> celu(NodeContext& c) {
  c.out(0, c.g().op("activation.celu_alpha", {c.in(0)}, {{"alpha", c.number("alpha", 1)}}));
  return c.done();
}
Result<void> thresholded_relu(NodeContext& c) {
  c.out(0, c.g().op("activation.threshold", {c.in(0)}, {{"theta", c.number("alpha", 1)}}));
  return c.done();
}
// The exact form, or the tanh approximation where the attribute asks for it.
Result<void> gelu(NodeContext& c) {
  c.out(0,
        c.g().op("activation.gelu", {c.in(0)}, {{"approximate", c.text("approximate", "none")}}));
  return c.done();
}

// gamma * elu(x, alpha).
Result<void> selu(NodeContext& c) {
  // The f32 numbers of the operator's description, written out exactly.
  const double alpha = c.number("alpha", 1.67326319217681884765625);
  const double gamma = c.number("gamma", 1.05070102214813232421875);
  c.out(0, c.g().scale(c.g().op("activation.elu_alpha", {c.in(0)}, {{"alpha", alpha}}), gamma));
  return c.done();
}

// min(max(x, low), high).
ValueId clamp(TensorAlgebra& g, ValueId x, double low, double high) {
  return g.with_scalar("elementwise.min", g.with_scalar("elementwise.max", x, low), high);
}

// max(0, min(1, alpha x + beta)).
Result<void> hard_sigmoid(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x =
      g.with_scalar("math.add", g.scale(c.in(0), c.number("alpha", 0.2)), c.number("beta", 0.5));
  c.out(0, clamp(g, x, 0, 1));
  return c.done();
}

// x * sigmoid(alpha x).
Result<void> swish(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  c.out(0, g.op("math.mul", {x, g.op("activation.sigmoid", {g.scale(x, c.number("alpha", 1))})}));
  return c.done();
}

// The slope broadcasts to x alone.
Result<void> prelu(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  c.out(0, g.where(g.with_scalar("compare.less", x, 0), g.binary("math.mul", x, c.in(1)), x));
  return c.done();
}

// x + bias below -lambd, x - bias above it, 0 between.
Result<void> shrink(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  const double lambda = c.number("lambd", 0.5), bias = c.number("bias", 0);
  // "x > lambda" as "lambda < x": the graph has no "greater".
  const ValueId above = g.binary("compare.less", g.scalar(x, lambda), x);
  const ValueId below = g.with_scalar("compare.less", x, -lambda);
  const ValueId high = g.where(above, g.with_scalar("elementwise.sub", x, bias), g.scalar(x, 0));
  c.out(0, g.where(below, g.with_scalar("math.add", x, bias), high));
  return c.done();
}

// Bounds are attributes before version 11, inputs from there on.
Result<void> clip(NodeContext& c) {
  TensorAlgebra& g = c.g();
  ValueId y = c.in(0);
  if (c.has(1)) y = g.binary("elementwise.max", y, c.in(1));
  if (c.has(2)) y = g.binary("elementwise.min", y, c.in(2));
  if (c.has_attribute("min")) y = g.with_scalar("elementwise.max", y, c.number("min", 0));
  if (c.has_attribute("max")) y = g.with_scalar("elementwise.min", y, c.number("max", 0));
  // No bound at all: the output still needs a value of its own.
  if (y == c.in(0)) return identity(c);
  c.out(0, y);
  return c.done();
}

// Only what no random number decides.
Result<void> dropout(NodeContext& c) {
  bool is_training = false;
  double ratio = 0.5;
  if (c.has(1)) {
    QUERN_ASSIGN_OR_RETURN(ratio, c.known_number(1));
  }
  if (c.has(2)) {
    QUERN_ASSIGN_OR_RETURN(const int64_t flag, c.known_int(2));
    is_training = flag != 0;
  }
  if (is_training && ratio != 0) {
    return fail::unimplemented("Dropout in training draws random numbers that ONNX does not fix.");
  }
  QUERN_TRY(identity(c));
  const Dims dims = c.g().dims(c.in(0));
  if (c.wants(1)) c.out(1, c.g().broadcast(c.g().constant(DType::kU8, {}, {1}), dims));
  return c.done();
}

// Casts -----------------------------------------------------------------------------------------

// Errors: types of ONNX that tensors here do not have.
Result<ValueId> cast_to(NodeContext& c, int32_t to) {
  TensorAlgebra& g = c.g();
  const auto dtype = dtype_of(to);
  if (!dtype) return fail::unimplemented("There is no cast to {}.", data_type_name(to));
  const ValueId x = c.in(0);
  // Anything but 0 is true, NaN too; a numeric cast to u8 would cut 0.5 to 0.
  if (to == 9) return g.logical_not(g.with_scalar("compare.equal", x, 0));  // BOOL
  if (g.dtype(x) == *dtype) return g.op("shape.reshape", {x}, {{"shape", g.dims(x)}});
  Attributes attributes{{"to", std::string(dtype_name(*dtype))}};
  const bool is_f8 = *dtype == DType::kF8E4M3 || *dtype == DType::kF8E5M2;
  if (is_f8) attributes.set("saturate", c.integer("saturate", 1) != 0 ? "true" : "false");
  return g.op("math.cast", {x}, std::move(attributes));
}

// 8-bit floats saturate unless the attribute says otherwise; see cast_to().
Result<void> cast(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const ValueId y, cast_to(c, static_cast<int32_t>(c.integer("to", 0))));
  c.out(0, y);
  return c.done();
}

// To the type that the second input is declared with.
Result<void> cast_like(NodeContext& c) {
  if (c.data_type(1) == 0) return fail::unimplemented("The type to cast to is not declared.");
  QUERN_ASSIGN_OR_RETURN(const ValueId y, cast_to(c, c.data_type(1)));
  c.out(0, y);
  return c.done();
}

constexpr std::array kMappers = {
    OpMapper{"Abs", unary<kAbs>},
    OpMapper{"Acos", unary<kAcos>},
    OpMapper{"Acosh", unary<kAcosh>},
    OpMapper{"Add", binary<kAdd>},
    OpMapper{"Asin", unary<kAsin>},
    OpMapper{"Asinh", unary<kAsinh>},
    OpMapper{"Atan", unary<kAtan>},
    OpMapper{"Atanh", unary<kAtanh>},
    OpMapper{"Cast", cast},
    OpMapper{"CastLike", cast_like},
    OpMapper{"Ceil", unary<kCeil>},
    OpMapper{"Celu", celu},
    OpMapper{"Clip", clip},
    OpMapper{"Cos", unary<kCos>},
    OpMapper{"Cosh", unary<kCosh>},
    OpMapper{"Div", divide},
    OpMapper{"Dropout", dropout},
    OpMapper{"Elu", elu},
    OpMapper{"Erf", unary<kErf>},
    OpMapper{"Exp", unary<kExp>},
    OpMapper{"Floor", unary<kFloor>},
    OpMapper{"Gelu", gelu},
    OpMapper{"HardSigmoid", hard_sigmoid},
    OpMapper{"HardSwish", unary<kHardSwish>},
    OpMapper{"Identity", identity},
    OpMapper{"LeakyRelu", leaky_relu},
    OpMapper{"Log", unary<kLog>},
    OpMapper{"Max", fold<kMax>},
    OpMapper{"Mean", mean},
    OpMapper{"Min", fold<kMin>},
    OpMapper{"Mish", unary<kMish>},
    OpMapper{"Mod", modulo},
    OpMapper{"Mul", binary<kMul>},
    OpMapper{"Neg", unary<kNeg>},
    OpMapper{"PRelu", prelu},
    OpMapper{"Pow", power},
    OpMapper{"Reciprocal", reciprocal},
    OpMapper{"Relu", unary<kRelu>},
    OpMapper{"Round", unary<kRound>},
    OpMapper{"Selu", selu},
    OpMapper{"Shrink", shrink},
    OpMapper{"Sigmoid", unary<kSigmoid>},
    OpMapper{"Sign", unary<kSign>},
    OpMapper{"Sin", unary<kSin>},
    OpMapper{"Sinh", unary<kSinh>},
    OpMapper{"Softplus", unary<kSoftplus>},
    OpMapper{"Softsign", unary<kSoftsign>},
    OpMapper{"Sqrt", unary<kSqrt>},
    OpMapper{"Sub", binary<kSub>},
    OpMapper{"Sum", fold<kAdd>},
    OpMapper{"Swish", swish},
    OpMapper{"Tan", unary<kTan>},
    OpMapper{"Tanh", unary<kTanh>},
    OpMapper{"ThresholdedRelu", thresholded_relu},
};

}  // namespace

std::span<const OpMapper> elementwise_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
