// Arithmetic, comparison, concatenation.
// Integers have 64 bits; a result beyond them is an error and never wraps.
#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/checked_math.h"
#include "base/fail.h"
#include "text/jinja/format.h"
#include "text/jinja/value_compare.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

// For errors: "+", "//", ...
std::string_view symbol(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return "+";
    case BinaryOp::kSubtract:
      return "-";
    case BinaryOp::kMultiply:
      return "*";
    case BinaryOp::kDivide:
      return "/";
    case BinaryOp::kFloorDivide:
      return "//";
    case BinaryOp::kModulo:
      return "%";
    case BinaryOp::kPower:
      return "**";
  }
  return "";
}

// Errors: kInvalidArgument where the result left 64 bits; Python's integers have no limit, these
// do.
Result<Value> checked(std::optional<int64_t> number, BinaryOp op) {
  if (number) return Value::integer(*number);
  return fail::invalid("The result of '{}' does not fit in 64 bits", symbol(op));
}

// A checked product in a loop; a negative exponent gives a float, as in Python.
Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return fail::invalid("0 cannot be raised to a negative power");
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::optional<int64_t> power = 1;
  // 0, 1 and -1 repeat; others overflow within 64 rounds.
  if (base >= -1 && base <= 1) exponent = exponent == 0 ? 0 : base == -1 ? 2 - exponent % 2 : 1;
  for (; exponent > 0 && power; --exponent) power = checked_multiply(*power, base);
  return checked(power, BinaryOp::kPower);
}

// Rounds towards minus infinity; the remainder has the sign of the divisor.
Result<Value> integer_division(BinaryOp op, int64_t a, int64_t b) {
  if (b == 0) return fail::invalid("Division by zero");
  // -2^63 divided by -1 does not fit, and the instruction traps.
  if (b == -1) {
    return op == BinaryOp::kModulo ? Value::integer(0) : checked(checked_multiply(a, -1), op);
  }
  int64_t quotient = a / b;
  int64_t remainder = a % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) {
    --quotient;
    remainder += b;
  }
  return Value::integer(op == BinaryOp::kModulo ? remainder : quotient);
}

// // and % round down, as Python's do; a division by 0 is an error before.
Result<Value> integer_arithmetic(BinaryOp op, int64_t a, int64_t b) {
  int64_t difference = 0;
  switch (op) {
    case BinaryOp::kAdd:
      return checked(checked_add(a, b), op);
    case BinaryOp::kSubtract:
      if (__builtin_sub_overflow(a, b, &difference)) return checked(std::nullopt, op);
      return Value::integer(difference);
    case BinaryOp::kMultiply:
      return checked(checked_multiply(a, b), op);
    case BinaryOp::kDivide:
      if (b == 0) return fail::invalid("Division by zero");
      return Value::real(static_cast<double>(a) / static_cast<double>(b));
    case BinaryOp::kPower:
      return integer_power(a, b);
    default:
      return integer_division(op, a, b);
  }
}

// The C library's power, with Python's errors for 0 to a negative power.
Result<Value> float_power(double a, double b) {
  if (a == 0 && b < 0) return fail::invalid("0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(b) && std::floor(b) != b) {
    return fail::invalid("A negative number to the power {} is not real", float_text(b));
  }
  const double power = std::pow(a, b);
  if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) {
    return fail::invalid("The result of '**' is too large");
  }
  return Value::real(power);
}

// // and % of floats, rounding down.
Result<Value> float_arithmetic(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return Value::real(a + b);
    case BinaryOp::kSubtract:
      return Value::real(a - b);
    case BinaryOp::kMultiply:
      return Value::real(a * b);
    case BinaryOp::kPower:
      return float_power(a, b);
    default:
      break;
  }
  if (b == 0) return fail::invalid("Division by zero");
  if (op == BinaryOp::kDivide) return Value::real(a / b);
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (remainder == 0) remainder = std::copysign(0.0, b);
  if (op == BinaryOp::kModulo) return Value::real(remainder);
  const double quotient = (a - remainder) / b;
  // The quotient is whole but for rounding.
  const double whole = std::floor(quotient);
  return Value::real(quotient - whole > 0.5 ? whole + 1 : whole);
}

// A text that is safe stays safe only with another safe one, else the other side is escaped.
Result<Value> add_texts(Heap& heap, const Value& a, const Value& b) {
  const bool is_safe = a.is_safe() || b.is_safe();
  // What joins a safe text is escaped first.
  const auto part = [&](const Value& text) {
    return is_safe && !text.is_safe() ? escape_html(text.text()) : text.text();
  };
  // The longest escape of a character is five bytes: "&amp;", "&#34;".
  const size_t growth = is_safe ? 5 : 1;
  QUERN_TRY(heap.reserve((a.text().size() + b.text().size()) * growth));
  QUERN_TRY(heap.spend_scan(a.text().size() + b.text().size()));
  if (!is_safe) {
    std::string sum;
    sum.reserve(a.text().size() + b.text().size());
    sum += a.text();
    sum += b.text();
    return heap.text(std::move(sum));
  }
  return heap.text(part(a) + part(b), true);
}

// Tuples with tuples and lists with lists, as in Python.
bool can_add_lists(const Value& a, const Value& b) {
  if (!a.is_list() || !b.is_list()) return false;
  if (a.list().is_tuple() && b.list().is_tuple()) return true;
  return a.list().kind == ListKind::kList && b.list().kind == ListKind::kList;
}

// A new list; neither side changes.
Result<Value> add_lists(Heap& heap, const List& a, const List& b) {
  const size_t size = a.items.size() + b.items.size();
  QUERN_TRY(heap.reserve_items(size));
  QUERN_TRY(heap.spend_scan(size * sizeof(Value)));
  std::vector<Value> items;
  items.reserve(size);
  items.insert(items.end(), a.items.begin(), a.items.end());
  items.insert(items.end(), b.items.begin(), b.items.end());
  return heap.list(std::move(items), a.is_tuple() ? ListKind::kTuple : ListKind::kList);
}

// text * n and list * n; a negative count is none. Errors: kResourceExhausted before it is made.
Result<Value> repeat(Heap& heap, const Value& value, int64_t count) {
  const auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
  const size_t unit =
      value.is_string() ? value.text().size() : value.list().items.size() * sizeof(Value);
  const size_t limit = heap.limits().max_bytes;
  const size_t size = unit == 0 ? 0 : times > limit / unit ? limit + 1 : times * unit;
  QUERN_TRY(heap.reserve(size));
  QUERN_TRY(heap.spend_scan(size));
  // An empty text may be asked for 2^62 times: the loop must not run for it.
  const size_t rounds = unit == 0 ? 0 : times;
  if (value.is_string()) {
    std::string text;
    text.reserve(size);
    for (size_t i = 0; i < rounds; ++i) text += value.text();
    return heap.text(std::move(text), value.is_safe());
  }
  const std::vector<Value>& unit_items = value.list().items;
  std::vector<Value> items;
  items.reserve(unit_items.size() * rounds);
  for (size_t i = 0; i < rounds; ++i) {
    items.insert(items.end(), unit_items.begin(), unit_items.end());
  }
  return heap.list(std::move(items), value.list().kind);
}

// What * may repeat.
bool is_repeatable(const Value& value) {
  return value.is_string() ||
         (value.is_list() && (value.list().is_tuple() || value.list().kind == ListKind::kList));
}

}  // namespace

// Numbers, texts and lists. Errors: types that do not go together, as Python words them.
Result<Value> apply_binary(Heap& heap, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return integer_arithmetic(op, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return float_arithmetic(op, a.real(), b.real());
  if (op == BinaryOp::kAdd && a.is_string() && b.is_string()) return add_texts(heap, a, b);
  if (op == BinaryOp::kAdd && can_add_lists(a, b)) return add_lists(heap, a.list(), b.list());
  if (op == BinaryOp::kModulo && a.is_string()) return format_percent(heap, a, b);
  if (op == BinaryOp::kMultiply && is_repeatable(a) && b.is_integral()) {
    return repeat(heap, a, b.integer());
  }
  if (op == BinaryOp::kMultiply && is_repeatable(b) && a.is_integral()) {
    return repeat(heap, b, a.integer());
  }
  if (a.is_undefined()) return fail::invalid("{}", a.undefined_reason());
  if (b.is_undefined()) return fail::invalid("{}", b.undefined_reason());
  return fail::invalid("'{}' does not work between the types '{}' and '{}'", symbol(op),
                       type_name(a), type_name(b));
}

// Errors: a sign before what is no number.
Result<Value> apply_unary(UnaryOp op, const Value& operand) {
  if (op == UnaryOp::kNot) return Value::boolean(!is_truthy(operand));
  if (operand.is_undefined()) return fail::invalid("{}", operand.undefined_reason());
  if (!operand.is_number()) {
    return fail::invalid("A value of type '{}' has no sign", type_name(operand));
  }
  const bool is_negative = op == UnaryOp::kNegative;
  if (operand.kind() == Kind::kFloat) {
    return Value::real(is_negative ? -operand.real() : operand.real());
  }
  if (!is_negative) return Value::integer(operand.integer());
  return checked(checked_multiply(operand.integer(), -1), BinaryOp::kSubtract);
}

// `in` counts the walk as steps.
Result<bool> apply_compare(Heap& heap, CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::kEqual:
      return is_equal(heap, a, b);
    case CompareOp::kNotEqual: {
      QUERN_ASSIGN_OR_RETURN(const bool equal, is_equal(heap, a, b));
      return !equal;
    }
    case CompareOp::kLess:
      return is_less(heap, a, b);
    case CompareOp::kGreater:
      return is_less(heap, b, a);
    case CompareOp::kLessEqual:
    case CompareOp::kGreaterEqual: {
      const bool is_less_op = op == CompareOp::kLessEqual;
      QUERN_ASSIGN_OR_RETURN(const bool less,
                             is_less_op ? is_less(heap, a, b) : is_less(heap, b, a));
      if (less) return true;
      return is_equal(heap, a, b);
    }
    case CompareOp::kIn:
      return contains(heap, b, a);
    case CompareOp::kNotIn: {
      QUERN_ASSIGN_OR_RETURN(const bool is_in, contains(heap, b, a));
      return !is_in;
    }
  }
  return false;
}

// ~: the texts of all operands, in one allocation.
Result<Value> concatenate(Heap& heap, const std::vector<Value>& operands) {
  std::string text;
  for (const Value& operand : operands) QUERN_TRY(append_text(heap, operand, text));
  return heap.text(std::move(text));
}

}  // namespace quern::jinja
