// Filters of numbers.
// What is no number becomes the fallback; templates rely on it.
#include <array>
#include <charconv>
#include <cmath>

#include "base/fail.h"
#include "text/jinja/environment.h"
#include "text/jinja/number_parse.h"
#include "text/jinja/operators.h"

namespace quern::jinja {
namespace {

// Texts in the given base, floats cut towards zero; nothing for what is no number.
std::optional<int64_t> to_integer(const Value& value, int base) {
  if (value.is_integral()) return value.integer();
  if (value.kind() == Kind::kFloat) return truncate_to_integer(value.real());
  if (!value.is_string()) return std::nullopt;
  if (const auto number = parse_integer(value.text(), base)) return number;
  // "42.23" gives 42.
  const auto number = parse_float(value.text());
  return number ? truncate_to_integer(*number) : std::nullopt;
}

// int: a fallback in place of what is no number, never an error.
Result<Value> int_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("int", {"default", "base"}));
  if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
  QUERN_ASSIGN_OR_RETURN(const int64_t base, bound.integer(1, 10));
  if (value.is_string()) QUERN_TRY(interpreter.heap().spend_characters(value.text().size()));
  const bool is_base = base == 0 || (base >= 2 && base <= 36);
  // Base 1 parses nothing: with a wrong base the text is read as a float, as where Python's int()
  // raises ValueError.
  const auto number = to_integer(value, is_base ? static_cast<int>(base) : 1);
  return number ? Value::integer(*number) : bound.value(0, Value::integer(0));
}

// float: the same for floats.
Result<Value> float_filter(Interpreter& interpreter, const Value& value,
                           const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("float", {"default"}));
  if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
  if (value.is_number()) return Value::real(value.real());
  if (value.is_string()) {
    QUERN_TRY(interpreter.heap().spend_characters(value.text().size()));
    if (const auto number = parse_float(value.text())) return Value::real(*number);
  }
  return bound.value(0, Value::real(0));
}

// To the nearest integer, ties to even, as Python's round.
double round_half_even(double number) {
  const double below = std::floor(number);
  const double fraction = number - below;
  if (fraction != 0.5) return fraction < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

// To the nearest decimal of the exact binary value, half to even.
double round_decimal(double number, int64_t precision) {
  if (!std::isfinite(number) || precision > 330) return number;
  if (precision < -308) return std::copysign(0.0, number);
  if (precision < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return round_half_even(number / unit) * unit;
  }
  // The longest text: 309 digits before the point, 330 behind it, sign and point.
  std::array<char, 800> buffer = {};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                 std::chars_format::fixed, static_cast<int>(precision));
  double rounded = number;
  std::from_chars(buffer.data(), end.ptr, rounded);
  return rounded;
}

__extension__ using Wide = __int128;

// Integers stay integers; only places before the point change them.
Result<Value> round_integer(int64_t number, int64_t precision) {
  if (precision >= 0) return Value::integer(number);
  // Half of 10^20 is past 64 bits. 10^19 is too, but its half is not, hence the wider type.
  if (precision < -19) return Value::integer(0);
  Wide unit = 1;
  for (int64_t i = precision; i < 0; ++i) unit *= 10;
  // Towards zero, so that the rest has the sign of the number.
  Wide units = number / unit;
  const Wide twice = 2 * (number % unit);
  const bool is_tie = twice == unit || twice == -unit;
  if (twice > unit || twice < -unit || (is_tie && units % 2 != 0)) units += number < 0 ? -1 : 1;
  const Wide rounded = units * unit;
  if (rounded == static_cast<int64_t>(rounded)) {
    return Value::integer(static_cast<int64_t>(rounded));
  }
  return fail::invalid("The number {} rounded to {} places does not fit in 64 bits", number,
                       precision);
}

// round with a precision and a method: common, ceil or floor.
Result<Value> round_filter(Interpreter& /*interpreter*/, const Value& value,
                           const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("round", {"precision", "method"}));
  QUERN_ASSIGN_OR_RETURN(const int64_t precision, bound.integer(0, 0));
  QUERN_ASSIGN_OR_RETURN(const std::string_view method, bound.text(1, "common"));
  if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
  if (!value.is_number()) {
    return fail::invalid("A value of type '{}' cannot be rounded", type_name(value));
  }
  if (method == "common") {
    if (value.is_integral()) return round_integer(value.integer(), precision);
    return Value::real(round_decimal(value.real(), precision));
  }
  if (method != "ceil" && method != "floor") {
    return fail::invalid("The method of round is '{}'; it must be common, ceil or floor", method);
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = value.real() * unit;
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

// abs. Errors: what is no number; the lowest integer, which has no opposite in 64 bits.
Result<Value> abs_filter(Interpreter&, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("abs", {}));
  if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
  if (!value.is_number()) {
    return fail::invalid("A value of type '{}' has no absolute value", type_name(value));
  }
  if (value.kind() == Kind::kFloat) return Value::real(std::fabs(value.real()));
  const UnaryOp op = value.integer() < 0 ? UnaryOp::kNegative : UnaryOp::kPositive;
  return apply_unary(op, value);
}

// By name; environment.cc searches them.
constexpr NamedFilter kFilters[] = {
    {"abs", abs_filter},
    {"float", float_filter},
    {"int", int_filter},
    {"round", round_filter},
};

}  // namespace

std::span<const NamedFilter> number_filters() {
  return kFilters;
}

}  // namespace quern::jinja
