// Arithmetic identities. Each says why it is exact.
#include <cmath>
#include <limits>

#include "passes/simplify_rules.h"

namespace quern {
namespace {

using Found = std::optional<Simpler>;

// The node is one of its inputs.
Found same_as(ValueId value) {
  return Simpler{.value = value};
}

// Zero with the sign asked for.
bool is_zero(double value, bool is_negative) {
  return value == 0 && std::signbit(value) == is_negative;
}

// The node as another operation of the same type.
// A registry without the operation gives a null op; the rules name built-in operations only.
Found with_op(const SimplifyContext& context, const Draft& draft, std::string_view id,
              std::vector<ValueId> inputs, Attributes attributes = {}) {
  return Simpler{.node =
                     Draft{context.op(id), std::move(inputs), std::move(attributes), draft.type}};
}

// Integers clamp an infinite constant, and some formats of 8 bits do.
bool has_infinity(DType dtype) {
  // Listed and not derived: f8e4m3 has no infinity, so that -inf becomes its lowest finite value.
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

// Constants that leave the other operand as it is. -0 is the zero of addition (-0 + -0 = -0,
// x + -0 = x), +0 that of subtraction; integers have one zero, and constants of theirs round.
bool is_neutral(const SimplifyContext& context, const Draft& draft, ValueId constant,
                bool is_second) {
  const auto c = context.splat(constant);
  if (!c) return false;
  // In fast, x + 0 is x although -0 + 0 = +0.
  const bool is_float_zero_any = !is_float(draft.type.dtype) || context.numerics == Numerics::kFast;
  if (draft.is("math.add")) return is_zero(*c, true) || (*c == 0 && is_float_zero_any);
  if (draft.is("elementwise.sub")) {
    return is_second && (is_zero(*c, false) || (*c == 0 && is_float_zero_any));
  }
  // 1 * x = x for every x, NaN included; 0 * x is not 0 (infinity, NaN, -0), so no rule takes it.
  if (draft.is("math.mul")) return *c == 1;
  if (draft.is("elementwise.div")) return is_second && *c == 1;
  // No float lies beyond an infinity, and an equal one is the same.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (draft.is("elementwise.max")) return *c == -kInfinity && has_infinity(draft.type.dtype);
  if (draft.is("elementwise.min")) return *c == kInfinity && has_infinity(draft.type.dtype);
  return false;
}

// The constant may be either operand; as the first it must not be a bias that repeats.
Found drop_neutral(const SimplifyContext& context, const Draft& draft) {
  if (draft.inputs.size() != 2) return std::nullopt;
  if (is_neutral(context, draft, draft.inputs[1], true)) return same_as(draft.inputs[0]);
  // bias[N] + x[T, N] with a neutral bias is x; but x as a shorter second operand would lose its
  // rows.
  const bool fits = context.type(draft.inputs[1]) == draft.type;
  if (fits && is_neutral(context, draft, draft.inputs[0], false)) return same_as(draft.inputs[1]);
  return std::nullopt;
}

// x + (-y) and x - y round the same number; so do the other forms. A bias keeps its node.
Found join_negation(const SimplifyContext& context, const Draft& draft) {
  const bool is_add = draft.is("math.add");
  if (!is_add && !draft.is("elementwise.sub")) return std::nullopt;
  const ValueId a = draft.inputs[0], b = draft.inputs[1];
  if (!(context.type(a) == context.type(b))) return std::nullopt;
  if (context.is_made_by(b, "elementwise.neg")) {
    const ValueId y = context.producer(b).inputs[0];
    // x + (-y) -> x - y, x - (-y) -> x + y: IEEE defines subtraction as addition of the negation.
    return with_op(context, draft, is_add ? "elementwise.sub" : "math.add", {a, y});
  }
  if (is_add && context.is_made_by(a, "elementwise.neg")) {
    // (-y) + x -> x - y, addition being commutative.
    return with_op(context, draft, "elementwise.sub", {b, context.producer(a).inputs[0]});
  }
  return std::nullopt;
}

// f(f(x)) = f(x) for these: their values are fixed points, zeros and NaN included.
bool is_idempotent(std::string_view id) {
  // relu(-0): whichever zero relu gives, it gives the same for it again. hard_tanh clamps to its
  // own bounds, which the second clamp leaves.
  return id == "elementwise.abs" || id == "activation.relu" || id == "math.sign" ||
         id == "activation.hard_tanh";
}

// Pairs of operations of one input: f(f(x)), -(-x), |-x|.
Found simplify_unary(const SimplifyContext& context, const Draft& draft) {
  if (draft.inputs.size() != 1) return std::nullopt;
  const Node& inner = context.producer(draft.inputs[0]);
  // None of these has an attribute, so that equal operations are equal functions.
  if (draft.is(inner.op->id) && is_idempotent(inner.op->id)) return same_as(draft.inputs[0]);
  const bool follows_neg = inner.op->id == "elementwise.neg";
  // -(-x): the sign bit flips twice.
  if (follows_neg && draft.is("elementwise.neg")) return same_as(inner.inputs[0]);
  // The sign bit goes either way; integers wrap to the same.
  if (follows_neg && draft.is("elementwise.abs")) {
    return with_op(context, draft, "elementwise.abs", {inner.inputs[0]});
  }
  return std::nullopt;
}

// Whether two factors can be one: powers of two from 1 up only shift the exponent, and what
// overflows under the first overflows under the product. Fast joins all that stay finite.
bool can_join(double a, double b, Numerics numerics) {
  const double product = a * b;
  if (numerics == Numerics::kFast) return std::isfinite(product) && product != 0;
  const auto is_power = [](double x) {
    int exponent = 0;
    // frexp gives a mantissa in [0.5, 1): exactly 0.5 for powers of two. Below 1, the first product
    // could become denormal and round before the second brings it back.
    return std::fabs(std::frexp(x, &exponent)) == 0.5 && std::fabs(x) >= 1;
  };
  // Keeps the joined factor finite in every type that computes in f32.
  return is_power(a) && is_power(b) && std::fabs(product) <= 0x1p64;
}

// Factors of 1 and -1, and a factor of a factor.
Found simplify_scale(const SimplifyContext& context, const Draft& draft) {
  if (!draft.is("math.scale")) return std::nullopt;
  const double factor = draft.attributes.number("factor");
  // Integers and narrow floats widen, multiply by one and come back unchanged.
  if (factor == 1) return same_as(draft.inputs[0]);
  if (factor == -1) return with_op(context, draft, "elementwise.neg", {draft.inputs[0]});
  const Node& inner = context.producer(draft.inputs[0]);
  if (inner.op->id != "math.scale") return std::nullopt;
  const double first = inner.attributes.number("factor");
  // (x * a) * b -> x * (a * b).
  if (!can_join(first, factor, context.numerics)) return std::nullopt;
  return with_op(context, draft, "math.scale", {inner.inputs[0]}, {{"factor", first * factor}});
}

// The larger or smaller of a value and itself.
Found simplify_equal_operands(const SimplifyContext&, const Draft& draft) {
  if (!draft.is("elementwise.max") && !draft.is("elementwise.min")) return std::nullopt;
  // max(x, x) = x: NaN stays NaN, zeros keep their sign.
  return draft.inputs[0] == draft.inputs[1] ? same_as(draft.inputs[0]) : std::nullopt;
}

// x * sigmoid(x) is the definition of swish; in narrow types the sigmoid alone would round first.
Found find_swish(const SimplifyContext& context, const Draft& draft) {
  const bool is_wide = draft.type.dtype == DType::kF32 || draft.type.dtype == DType::kF64;
  if (!draft.is("math.mul") || !is_wide) return std::nullopt;
  // The product commutes.
  for (const size_t port : {size_t{0}, size_t{1}}) {
    const ValueId x = draft.inputs[port], gate = draft.inputs[1 - port];
    if (context.is_made_by(gate, "activation.sigmoid") && context.producer(gate).inputs[0] == x) {
      // The sigmoid stays for other readers, else it dies as dead code.
      return with_op(context, draft, "activation.swish", {x});
    }
  }
  return std::nullopt;
}

// Outside of training, or with nothing to drop (x * (1 / (1 - 0)) is x).
Found simplify_dropout(const SimplifyContext&, const Draft& draft) {
  if (!draft.is("math.dropout")) return std::nullopt;
  // Dropout is random in training only: u < p drops, and p = 0 drops nothing, as u >= 0.
  const bool is_identity = !draft.attributes.flag("training") || draft.attributes.number("p") == 0;
  return is_identity ? same_as(draft.inputs[0]) : std::nullopt;
}

constexpr SimplifyRule kArithmeticRules[] = {
    drop_neutral, join_negation,           simplify_unary,  simplify_scale,
    find_swish,   simplify_equal_operands, simplify_dropout};

}  // namespace

// The first rule that fits.
std::optional<Simpler> simplify_arithmetic(const SimplifyContext& context, const Draft& draft) {
  for (const SimplifyRule rule : kArithmeticRules) {
    if (auto found = rule(context, draft)) return found;
  }
  return std::nullopt;
}

}  // namespace quern
