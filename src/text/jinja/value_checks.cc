// The tests of templates ("is defined", "is string"): jinja2's own, startingwith and endingwith.
#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/environment.h"
#include "text/jinja/operators.h"
#include "text/jinja/value_compare.h"
#include "text/jinja/value_text.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

using Check = bool (*)(const Value&);

// A test without arguments that cannot fail.
template <Check check>
Result<bool> plain(Interpreter&, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("a test", {}));
  return check(value);
}

// The tests of types. A boolean is a number, as in Python, but Jinja's `integer` leaves it out.
bool is_defined(const Value& value) {
  return !value.is_undefined();
}
bool is_undefined(const Value& value) {
  return value.is_undefined();
}
bool is_none(const Value& value) {
  return value.is_none();
}
bool is_boolean(const Value& value) {
  return value.kind() == Kind::kBool;
}
bool is_true(const Value& value) {
  return is_boolean(value) && value.truth();
}
bool is_false(const Value& value) {
  return is_boolean(value) && !value.truth();
}
bool is_integer(const Value& value) {
  return value.kind() == Kind::kInt;
}
bool is_float(const Value& value) {
  return value.kind() == Kind::kFloat;
}
bool is_number(const Value& value) {
  return value.is_number();
}
bool is_string(const Value& value) {
  return value.is_string();
}
bool is_mapping(const Value& value) {
  return value.is_dict();
}
// Safe texts.
bool is_escaped(const Value& value) {
  return value.is_safe();
}

// Texts and dicts too.
bool is_iterable(const Value& value) {
  return value.is_string() || value.is_list() || value.is_dict() || value.is_undefined();
}

// Has a length and items, so dicts count.
bool is_sequence(const Value& value) {
  if (value.is_list()) return value.list().is_indexable();
  return value.is_string() || value.is_dict() || value.is_undefined();
}

bool is_callable(const Value& value) {
  // jinja2's Undefined can be called, only to fail.
  return value.is_undefined() || (value.kind() == Kind::kObject && value.object().is_callable());
}

// Python's islower and isupper: some letter has a case, and none the other.
template <bool (*has_case)(uint32_t)>
Result<bool> cased(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("a test", {}));
  QUERN_ASSIGN_OR_RETURN(const std::string text, to_text(interpreter.heap(), value));
  QUERN_TRY(interpreter.heap().spend_characters(text.size()));
  bool has_any = false;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Step step = decode_utf8(rest);
    if (is_cased(step.code_point)) {
      if (!has_case(step.code_point)) return false;
      has_any = true;
    }
    rest.remove_prefix(step.size);
  }
  return has_any;
}

// Tests with the names of comparisons: eq, lt, ...
template <CompareOp op>
Result<bool> compare(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("a test", {"other"}, 1));
  return apply_compare(interpreter.heap(), op, value, bound.value(0));
}

// Errors: a division by 0, operands that are no integers.
Result<bool> divisible_by(Interpreter& interpreter, const Value& value,
                          const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("divisibleby", {"num"}, 1));
  QUERN_ASSIGN_OR_RETURN(
      const Value rest, apply_binary(interpreter.heap(), BinaryOp::kModulo, value, bound.value(0)));
  return is_equal(interpreter.heap(), rest, Value::integer(0));
}

// odd and even.
template <int remainder>
Result<bool> parity(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("a test", {}));
  QUERN_ASSIGN_OR_RETURN(const Value rest, apply_binary(interpreter.heap(), BinaryOp::kModulo,
                                                        value, Value::integer(2)));
  return is_equal(interpreter.heap(), rest, Value::integer(remainder));
}

// The same object, or equal constants, as Python's `is` on what templates can make.
Result<bool> same_as(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("sameas", {"other"}, 1));
  const Value other = bound.value(0);
  if (value.kind() != other.kind()) return false;
  // What can change is the same only if it is one object; the kinds from kNamespace on are such.
  if (value.is_list() || value.is_dict() || value.kind() >= Kind::kNamespace) {
    return value.address() == other.address();
  }
  return is_equal(interpreter.heap(), value, other);
}

// Tests that chat templates use: startswith and endswith.
template <bool at_begin>
Result<bool> has_affix(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("a test", {"part"}, 1));
  QUERN_ASSIGN_OR_RETURN(const std::string text, to_text(interpreter.heap(), value));
  QUERN_ASSIGN_OR_RETURN(const std::string_view part, bound.text(0, ""));
  if (part.size() > text.size()) return false;
  return text.compare(at_begin ? 0 : text.size() - part.size(), part.size(), part) == 0;
}

// Whether there is a filter, or a test, of this name.
Result<bool> names_filter(Interpreter&, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("filter", {}));
  return value.is_string() && find_filter(value.text()) != nullptr;
}

Result<bool> names_test(Interpreter&, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("test", {}));
  return value.is_string() && find_test(value.text()) != nullptr;
}

// By name, with the operators that Jinja allows as names.
constexpr NamedTest kTests[] = {
    {"boolean", plain<is_boolean>},
    {"callable", plain<is_callable>},
    {"defined", plain<is_defined>},
    {"divisibleby", divisible_by},
    {"endingwith", has_affix<false>},
    {"eq", compare<CompareOp::kEqual>},
    {"equalto", compare<CompareOp::kEqual>},
    {"==", compare<CompareOp::kEqual>},
    {"escaped", plain<is_escaped>},
    {"even", parity<0>},
    {"false", plain<is_false>},
    {"filter", names_filter},
    {"float", plain<is_float>},
    {"ge", compare<CompareOp::kGreaterEqual>},
    {">=", compare<CompareOp::kGreaterEqual>},
    {"greaterthan", compare<CompareOp::kGreater>},
    {"gt", compare<CompareOp::kGreater>},
    {">", compare<CompareOp::kGreater>},
    {"in", compare<CompareOp::kIn>},
    {"integer", plain<is_integer>},
    {"iterable", plain<is_iterable>},
    {"le", compare<CompareOp::kLessEqual>},
    {"<=", compare<CompareOp::kLessEqual>},
    {"lessthan", compare<CompareOp::kLess>},
    {"lower", cased<is_lower>},
    {"lt", compare<CompareOp::kLess>},
    {"<", compare<CompareOp::kLess>},
    {"mapping", plain<is_mapping>},
    {"ne", compare<CompareOp::kNotEqual>},
    {"!=", compare<CompareOp::kNotEqual>},
    {"none", plain<is_none>},
    {"number", plain<is_number>},
    {"odd", parity<1>},
    {"sameas", same_as},
    {"sequence", plain<is_sequence>},
    {"startingwith", has_affix<true>},
    {"string", plain<is_string>},
    {"test", names_test},
    {"true", plain<is_true>},
    {"undefined", plain<is_undefined>},
    {"upper", cased<is_upper>},
};

}  // namespace

std::span<const NamedTest> value_checks() {
  return kTests;
}

}  // namespace quern::jinja
