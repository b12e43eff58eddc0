// Numbers of a schema: bounds.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/fail.h"
#include "text/grammar/integer_range.h"
#include "text/grammar/schema_converter.h"

namespace quern {
namespace {

// The largest bound that is enforced; a range takes 38 digits.
constexpr double kLargest = 1e37;

// A bound of a schema, as the nearest integer inside.
struct Bound {
  std::optional<WideInteger> value;
  bool is_beyond = false;  // there is one that nothing up to kLargest keeps; `value` leaves it out

  bool is_given() const { return value.has_value() || is_beyond; }
};

// The lower bound of integers; `sign` -1 mirrors, so that the upper bound is a lower one.
void tighten(Bound& bound, const SchemaJson& limit, bool is_exclusive, int64_t sign) {
  WideInteger value = 0;
  if (limit.is_number_integer()) {
    value = limit.is_number_unsigned() ? WideInteger{limit.get<uint64_t>()}
                                       : WideInteger{limit.get<int64_t>()};
    value = sign * value + (is_exclusive ? 1 : 0);
  } else {
    const double number = static_cast<double>(sign) * limit.get<double>();
    if (number > kLargest) {
      bound.is_beyond = true;
      return;
    }
    // The least integer at or above the bound, or above it: 2.5 is 3 either way, 2.0 is 2 or 3.
    // 1 is added to the wide integer, since doubles past 2^53 have no such neighbour.
    const double whole = is_exclusive ? std::floor(number) : std::ceil(number);
    // A lower bound below all that is enforced is kept by everything that the grammar allows.
    value = static_cast<WideInteger>(std::max(whole, -kLargest)) + (is_exclusive ? 1 : 0);
  }
  if (!bound.value || value > *bound.value) bound.value = value;
}

// Draft 4 writes exclusiveMinimum: true beside minimum.
Result<Bound> read_bound(const SchemaJson& schema, const std::string& side, int64_t sign,
                         const std::string& place) {
  Bound bound;
  const std::string plain = side == "Minimum" ? "minimum" : "maximum";
  const std::string exclusive = "exclusive" + side;
  bool is_exclusive = false;
  if (schema.contains(exclusive)) {
    const SchemaJson& value = schema[exclusive];
    if (value.is_boolean()) {
      is_exclusive = value.get<bool>();
    } else if (value.is_number()) {
      tighten(bound, value, true, sign);
    } else {
      return fail::invalid("'{}' at {} of the schema is not a number.", exclusive, place);
    }
  }
  if (schema.contains(plain)) {
    if (!schema[plain].is_number()) {
      return fail::invalid("'{}' at {} of the schema is not a number.", plain, place);
    }
    tighten(bound, schema[plain], is_exclusive, sign);
  }
  if (bound.value) *bound.value *= sign;
  return bound;
}

// Whether the bound, as it is written, leaves no negative number: -0.5, rounded up, would too.
bool excludes_negatives(const SchemaJson& schema, const char* keyword) {
  const auto bound = schema.find(keyword);
  return bound != schema.end() && bound->is_number() && bound->get<double>() >= 0;
}

}  // namespace

// multipleOf is not enforced; bounds are, digit by digit.
Result<ExprId> SchemaConverter::convert_integer(const SchemaJson& schema,
                                                const std::string& place) {
  if (schema.contains("multipleOf") && schema["multipleOf"] != SchemaJson(1)) {
    not_enforced("multipleOf", place);
  }
  QUERN_ASSIGN_OR_RETURN(const Bound low, read_bound(schema, "Minimum", 1, place));
  QUERN_ASSIGN_OR_RETURN(const Bound high, read_bound(schema, "Maximum", -1, place));
  if (low.is_beyond) not_enforced("minimum past 1e37", place);
  if (high.is_beyond) not_enforced("maximum past 1e37", place);
  if (!low.value && !high.value) return rules_.integer();
  if (low.value && high.value && *low.value > *high.value) {
    return fail::invalid("No integer lies between the bounds at {} of the schema.", place);
  }
  return integer_range(ast_, low.value, high.value);
}

// Bounds of numbers that are not integers are beyond a grammar, but for the sign.
Result<ExprId> SchemaConverter::convert_number(const SchemaJson& schema, const std::string& place) {
  if (schema.contains("multipleOf")) not_enforced("multipleOf", place);
  QUERN_ASSIGN_OR_RETURN(const Bound low, read_bound(schema, "Minimum", 1, place));
  QUERN_ASSIGN_OR_RETURN(const Bound high, read_bound(schema, "Maximum", -1, place));
  const bool is_zero_or_more = schema.value("minimum", SchemaJson()) == SchemaJson(0) &&
                               !schema.contains("exclusiveMinimum");
  if (low.is_given() && !is_zero_or_more) not_enforced("minimum of a number", place);
  if (high.is_given()) not_enforced("maximum of a number", place);
  const bool is_not_negative =
      excludes_negatives(schema, "minimum") || excludes_negatives(schema, "exclusiveMinimum");
  return is_not_negative ? rules_.non_negative_number() : rules_.number();
}

}  // namespace quern
