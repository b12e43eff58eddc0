// Casts that do nothing, or that one cast can do.
#include "passes/simplify_rules.h"

namespace quern {
namespace {

// Bits of the significand and of the exponent, for floats that differ in nothing else.
// Precision counts the hidden bit: p bits hold every integer up to 2^p.
struct FloatFormat {
  int precision = 0;
  int exponent = 0;
};

// The formats that one cast rounds to as IEEE says; the 8-bit ones may saturate and are left
// out.
std::optional<FloatFormat> float_format(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return FloatFormat{53, 11};
    case DType::kF32:
      return FloatFormat{24, 8};
    case DType::kF16:
      return FloatFormat{11, 5};
    case DType::kBF16:
      return FloatFormat{8, 8};
    default:
      return std::nullopt;
  }
}

// Two's complement or unsigned, of whole bytes.
struct IntegerFormat {
  int bits = 0;
  bool is_signed = false;
};

// Width and sign of the integer types that casts know.
std::optional<IntegerFormat> integer_format(DType dtype) {
  switch (dtype) {
    case DType::kI64:
      return IntegerFormat{64, true};
    case DType::kI32:
      return IntegerFormat{32, true};
    case DType::kI16:
      return IntegerFormat{16, true};
    case DType::kI8:
      return IntegerFormat{8, true};
    case DType::kU64:
      return IntegerFormat{64, false};
    case DType::kU32:
      return IntegerFormat{32, false};
    case DType::kU16:
      return IntegerFormat{16, false};
    case DType::kU8:
      return IntegerFormat{8, false};
    default:
      return std::nullopt;
  }
}

// Whether every value of `from` is a value of `to`, so that the cast rounds nothing.
// bf16 -> f16 is none: more precision, but fewer exponent bits.
bool is_exact_widening(DType from, DType to) {
  const auto from_float = float_format(from), to_float = float_format(to);
  if (from_float && to_float) {
    return from_float->precision <= to_float->precision &&
           from_float->exponent <= to_float->exponent;
  }
  const auto from_integer = integer_format(from), to_integer = integer_format(to);
  if (from_integer && to_integer) {
    const bool gains_sign = !from_integer->is_signed && to_integer->is_signed;
    // -1 has no unsigned form.
    if (from_integer->is_signed && !to_integer->is_signed) return false;
    // u8 -> i16 needs 9 bits.
    return from_integer->bits + (gains_sign ? 1 : 0) <= to_integer->bits;
  }
  if (!from_integer || !to_float) return false;
  // i32 has 31 bits of magnitude, f64 53: exact. -2^31 is a power of two, exact in either.
  return from_integer->bits - (from_integer->is_signed ? 1 : 0) <= to_float->precision;
}

}  // namespace

// A cast to the same type goes; a cast after an exact widening can start from the narrow value.
// Block formats decode and encode anew and are never dropped.
std::optional<Simpler> simplify_casts(const SimplifyContext& context, const Draft& draft) {
  if (!draft.is("math.cast")) return std::nullopt;
  const ValueId x = draft.inputs[0];
  const DType through = context.type(x).dtype;
  // Encoding a decoded block can pick another scale: quantise(dequantise(b)) is not b in every
  // format.
  if (through == draft.type.dtype && !is_quantized(through)) return Simpler{.value = x};
  const Node& inner = context.producer(x);
  if (inner.op->id != "math.cast") return std::nullopt;
  const ValueId source = inner.inputs[0];
  const DType from = context.type(source).dtype;
  // f32 -> f16 -> f32 rounds: both casts must stay.
  if (!is_exact_widening(from, through)) return std::nullopt;
  // f16 -> f32 -> f16 is the source: the way back rounds nothing, as the value is one of f16.
  if (from == draft.type.dtype) return Simpler{.value = source};
  // From integers the rules of rounding to floats and of wrapping differ by the type in between;
  // from a float every cast sees the number alone.
  if (!float_format(from) || !float_format(through)) return std::nullopt;
  // f16 -> f32 -> bf16 becomes f16 -> bf16: one rounding of the same number.
  return Simpler{.node = Draft{draft.op, {source}, draft.attributes, draft.type}};
}

}  // namespace quern
