// Integers with one scale and zero point for a whole tensor: x = (q - zero_point) * scale.
#include <cmath>
#include <vector>

#include "base/fail.h"
#include "ops/dim_math.h"
#include "ops/elementwise.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using namespace type_rules;
using Types = std::vector<TensorType>;

// Scale and zero point of the attributes; the zero point lies in the range of the integers.
// A scale of 0, a negative or NaN one has no inverse, and an infinite one makes NaN of 0: written
// so that NaN fails the first comparison.
Result<void> check_affine(const Attributes& attributes, int64_t low, int64_t high) {
  const double scale = attributes.number("scale");
  if (!(scale > 0) || std::isinf(scale)) {
    return fail::invalid("Attribute 'scale' is {}; it must be above 0 and finite.", scale);
  }
  const int64_t zero_point = attributes.integer("zero_point");
  if (zero_point >= low && zero_point <= high) return {};
  return fail::invalid("Attribute 'zero_point' is {}; it must be from {} to {}.", zero_point, low,
                       high);
}

// quant -------------------------------------------------------------------------------------

// Integers are always i8: the published operation has no other.
Result<Types> infer_quant(const InferContext& context) {
  QUERN_TRY(expect_float("x", *context.inputs[0]));
  QUERN_TRY(check_affine(context.attributes, -128, 127));
  return Types{{DType::kI8, context.inputs[0]->dims}};
}

// The nearest integer, halves away from zero, clamped to +-1024; NaN gives 0.
template <class T>
int64_t round_half_away(T x) {
  if (x != x) return 0;
  // fmax and fmin choose one of their operands, so they round nothing; NaN has left before them.
  // Quotients past 255 on either side clamp to an end of i8 whatever the zero point, so that a
  // limit of 1024 changes no result; it keeps the conversion to int64_t defined for infinities.
  const T limited = std::fmin(std::fmax(x, T(-1024)), T(1024));
  const auto whole = static_cast<int64_t>(limited);
  // The fraction that truncation cut off, with the sign of x.
  const T rest = limited - static_cast<T>(whole);  // exact
  return whole + (rest >= T(0.5)) - (rest <= T(-0.5));
}

// The quotient is rounded before the zero point is added, in integers that cannot overflow.
// The quotient is a division by the scale and not a product with its inverse, which would round
// twice. q = round(x / scale), then + zero_point, then the clamp.
struct QuantKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const T scale = static_cast<T>(context.attributes.number("scale"));
    const int64_t zero_point = context.attributes.integer("zero_point");
    const FloatInput<T> x(context.inputs[0]);
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t q = round_half_away(x[i] / scale) + zero_point;
      context.outputs[0].as<int8_t>()[i] = static_cast<int8_t>(std::clamp<int64_t>(q, -128, 127));
    }
    return {};
  }
};

// dequant -----------------------------------------------------------------------------------

// The dtype that the attribute names; only floats can hold the result.
// No integers: (q - zero_point) * scale is no whole number in general.
Result<DType> float_dtype(const InferContext& context) {
  const std::string& name = context.attributes.text("dtype");
  const auto dtype = find_dtype(name);
  if (dtype && is_float(*dtype)) return *dtype;
  return fail::invalid("Attribute 'dtype' is '{}'; it must name a float dtype.", name);
}

// q is i8 and keeps its extents.
Result<Types> infer_dequant(const InferContext& context) {
  QUERN_TRY(expect_dtype("q", *context.inputs[0], {DType::kI8}));
  QUERN_TRY(check_affine(context.attributes, -128, 127));
  QUERN_ASSIGN_OR_RETURN(const DType dtype, float_dtype(context));
  return Types{{dtype, context.inputs[0]->dims}};
}

// Each byte holds two integers, so that the last extent doubles.
// [..., K] bytes to [..., 2K] integers. Element 2k is the low nibble of byte k, 2k + 1 the high
// one.
Result<Types> infer_dequant4(const InferContext& context) {
  TensorType y = *context.inputs[0];
  QUERN_TRY(expect_dtype("q", y, {DType::kU8}));
  QUERN_TRY(expect_rank_at_least("q", y, 1));
  QUERN_TRY(check_affine(context.attributes, -128, 127));
  QUERN_ASSIGN_OR_RETURN(y.dtype, float_dtype(context));
  // A symbolic extent doubles its factor; only an overflow of int64_t leaves nothing.
  const auto doubled = multiply_dims(y.dims.back(), Dim::constant(2));
  if (!doubled) {
    return fail::invalid(
        "Port 'q' has type {}; twice its last extent is over the limit of 2^63 - 1.",
        context.inputs[0]->to_string());
  }
  y.dims.back() = *doubled;
  return Types{y};
}

// y[i] = (integer(i) - zero_point) * scale, in the type of the output.
// The difference needs 9 bits and is exact in every T, so there is one rounding in the product, and
// a second one in the store of narrow types.
template <class F>
Result<void> dequantize(const KernelContext& context, F&& integer) {
  return with_compute_type(context.outputs[0].dtype, [&]<class T>(T) -> Result<void> {
    const T scale = static_cast<T>(context.attributes.number("scale"));
    const int64_t zero_point = context.attributes.integer("zero_point");
    FloatOutput<T> y(context.outputs[0]);
    for (int64_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(integer(i) - zero_point) * scale;
    return {};
  });
}

// One signed byte for each element.
Result<void> run_dequant(const KernelContext& context) {
  const auto* q = context.inputs[0].as<const int8_t>();
  return dequantize(context, [&](int64_t i) { return int64_t{q[i]}; });
}

// The low half of a byte comes first, as in ggml's formats.
// q[i / 2] has promoted to int: the mask and the shift leave 0 .. 15, unsigned as the port's u8
// says.
Result<void> run_dequant4(const KernelContext& context) {
  const auto* q = context.inputs[0].as<const uint8_t>();
  return dequantize(context,
                    [&](int64_t i) { return int64_t{i % 2 == 0 ? q[i / 2] & 15 : q[i / 2] >> 4}; });
}

}  // namespace

void register_affine_quant_ops(OpRegistry& registry) {
  const AttributeDef scale = number("scale", kRequired, "Step between integers, above 0.");
  const AttributeDef zero_point = integer("zero_point", 0, "The integer that stands for 0.");
  const AttributeDef dtype = text("dtype", "f64", "Float dtype of y.");
  registry.add({.id = "quant.quant",
                .doc = "round(x / scale) + zero_point, halves away from zero, clamped to i8. NaN "
                       "gives the zero point.",
                .shape_rule = "x of any float dtype and shape; q i8 of the same extents.",
                .edge_rule = "NaN gives the zero point, infinities clamp. No elements give "
                             "none. A scale that is not positive and finite, or a zero "
                             "point outside i8, is refused.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("q")},
                .attributes = {scale, zero_point},
                .infer = infer_quant,
                .reference = float_kernel<QuantKernel>});
  registry.add({.id = "dequant.dequant",
                .doc = "(q - zero_point) * scale; the difference is exact.",
                .shape_rule = "q i8 of any shape; y of the attribute's float dtype and the "
                              "same extents.",
                .edge_rule = "Every byte has a value; large scales may overflow to infinity "
                             "in narrow dtypes. No elements give none. Bad scales and zero "
                             "points are refused.",
                .f32_bound = 1,
                .inputs = {port("q")},
                .outputs = {port("y")},
                .attributes = {scale, zero_point, dtype},
                .infer = infer_dequant,
                .reference = run_dequant});
  registry.add({.id = "dequant.dequant4",
                .doc = "Two unsigned 4-bit integers from each byte of q, the low one first: "
                       "(q - zero_point) * scale. The last extent doubles.",
                .shape_rule = "q u8 [..., K]; y [..., 2K] of the attribute's float dtype.",
                .edge_rule = "Every byte has a value; large scales may overflow to infinity "
                             "in narrow dtypes. No elements give none. Bad scales and zero "
                             "points are refused.",
                .f32_bound = 1,
                .inputs = {port("q")},
                .outputs = {port("y")},
                .attributes = {scale, zero_point, dtype},
                .infer = infer_dequant4,
                .reference = run_dequant4});
}

}  // namespace quern
