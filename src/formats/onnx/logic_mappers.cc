// ONNX comparisons, logic and bit operators. Bools are u8 of 0 and 1.
// The graph has no type of truth values: masks are numbers.
#include <array>
#include <cmath>
#include <limits>

#include "base/fail.h"
#include "formats/onnx/node_context.h"

namespace quern::onnx {
namespace {

// Comparisons give bool, held as u8 with 0 and 1.
Result<void> equal(NodeContext& c) {
  const ValueId a = c.in(0), b = c.in(1);
  c.out(0, c.g().binary("compare.equal", a, b));
  return c.done();
}
Result<void> less(NodeContext& c) {
  const ValueId a = c.in(0), b = c.in(1);
  c.out(0, c.g().binary("compare.less", a, b));
  return c.done();
}
Result<void> less_or_equal(NodeContext& c) {
  const ValueId a = c.in(0), b = c.in(1);
  c.out(0, c.g().binary("compare.less_or_equal", a, b));
  return c.done();
}
Result<void> greater(NodeContext& c) {
  const ValueId a = c.in(0), b = c.in(1);
  // The operands change places, so that NaN compares false on either side.
  c.out(0, c.g().binary("compare.less", b, a));
  return c.done();
}
Result<void> greater_or_equal(NodeContext& c) {
  const ValueId a = c.in(0), b = c.in(1);
  c.out(0, c.g().binary("compare.less_or_equal", b, a));
  return c.done();
}

// Bit operations of equal integer types.
Result<void> bit_and(NodeContext& c) {
  const ValueId a = c.in(0), b = c.in(1);
  c.out(0, c.g().binary("bits.and", a, b));
  return c.done();
}
Result<void> bit_or(NodeContext& c) {
  const ValueId a = c.in(0), b = c.in(1);
  c.out(0, c.g().binary("bits.or", a, b));
  return c.done();
}
Result<void> bit_xor(NodeContext& c) {
  const ValueId a = c.in(0), b = c.in(1);
  c.out(0, c.g().binary("bits.xor", a, b));
  return c.done();
}
// -1 - x for signed numbers, the largest number - x for unsigned ones.
Result<void> bit_not(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  const ValueId zero = g.scalar(x, 0);
  // 0 - 1 wraps to all bits set in every integer type.
  const ValueId ones = g.op("elementwise.sub", {zero, g.scalar(x, 1)});
  c.out(0, g.binary("bits.xor", x, ones));
  return c.done();
}
// By the attribute: LEFT or RIGHT.
Result<void> bit_shift(NodeContext& c) {
  const bool is_left = c.text("direction", "") == "LEFT";
  c.out(0, c.g().binary(is_left ? "bits.shift_left" : "bits.shift_right", c.in(0), c.in(1)));
  return c.done();
}

// Of bool only.
Result<void> logical_not(NodeContext& c) {
  c.out(0, c.g().logical_not(c.in(0)));
  return c.done();
}

// For floats.
Result<void> is_nan(NodeContext& c) {
  // NaN alone is not equal to itself.
  c.out(0, c.g().logical_not(c.g().op("compare.equal", {c.in(0), c.in(0)})));
  return c.done();
}

// Either sign can be left out.
Result<void> is_inf(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  const double infinity = std::numeric_limits<double>::infinity();
  const bool finds_positive = c.integer("detect_positive", 1) != 0;
  const bool finds_negative = c.integer("detect_negative", 1) != 0;
  ValueId y = g.broadcast(g.constant(DType::kU8, {}, {0}), g.dims(x));
  if (finds_positive) y = g.op("bits.or", {y, g.with_scalar("compare.equal", x, infinity)});
  if (finds_negative) y = g.op("bits.or", {y, g.with_scalar("compare.equal", x, -infinity)});
  c.out(0, y);
  return c.done();
}

// All three broadcast.
Result<void> where(NodeContext& c) {
  c.out(0, c.g().where(c.in(0), c.in(1), c.in(2)));
  return c.done();
}

constexpr std::array kMappers = {
    OpMapper{"And", bit_and},
    OpMapper{"BitShift", bit_shift},
    OpMapper{"BitwiseAnd", bit_and},
    OpMapper{"BitwiseNot", bit_not},
    OpMapper{"BitwiseOr", bit_or},
    OpMapper{"BitwiseXor", bit_xor},
    OpMapper{"Equal", equal},
    OpMapper{"Greater", greater},
    OpMapper{"GreaterOrEqual", greater_or_equal},
    OpMapper{"IsInf", is_inf},
    OpMapper{"IsNaN", is_nan},
    OpMapper{"Less", less},
    OpMapper{"LessOrEqual", less_or_equal},
    OpMapper{"Not", logical_not},
    OpMapper{"Or", bit_or},
    OpMapper{"Where", where},
    OpMapper{"Xor", bit_xor},
};

}  // namespace

std::span<const OpMapper> logic_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
