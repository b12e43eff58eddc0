// RFC 8259, with bounds where it has none.
// Rules are made when they are first used: a schema pays for what it needs.
#include "text/grammar/json_rules.h"

#include <fmt/core.h>

#include "text/utf8.h"

namespace quern {
namespace {

// Spaces in a row that JSON written by a model may have between tokens.
constexpr uint32_t kMaxIndent = 32;
constexpr uint32_t kMaxDigits = 16;  // of the whole and of the fractional part

// A range of ASCII.
CodeSet ascii(char first, char last) {
  return {{static_cast<uint32_t>(first), static_cast<uint32_t>(last)}};
}

// The escape of a code point that cannot stand for itself.
std::string escape_of(uint32_t code_point) {
  switch (code_point) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", code_point);
  }
}

}  // namespace

// What strings may hold without an escape.
const CodeSet& plain_json_chars() {
  static const CodeSet kPlain = {{' ', '!'}, {'#', '['}, {']', kMaxCodePoint}};
  return kPlain;
}

// As JSON writes it, with quotes.
std::string json_quoted(std::string_view utf8) {
  std::string quoted = "\"";
  while (!utf8.empty()) {
    const Utf8Step step = decode_utf8(utf8);
    utf8.remove_prefix(step.size);
    if (contains(plain_json_chars(), step.code_point)) {
      append_utf8(step.code_point, quoted);
    } else {
      quoted += escape_of(step.code_point);
    }
  }
  return quoted + "\"";
}

// The rule of this name, made at its first use.
template <class Body>
ExprId JsonRules::rule(const char* name, Body&& body) {
  const auto found = rules_.find(name);
  if (found != rules_.end()) return ast_.rule(found->second);
  const RuleId id = ast_.declare(name);
  rules_.emplace(name, id);
  ast_.define(id, body());
  return ast_.rule(id);
}

// Between min and max digits.
ExprId JsonRules::digits(uint32_t min, uint32_t max) {
  return ast_.repeat(ast_.char_class(ascii('0', '9')), min, max);
}

// Exactly `count` hexadecimal digits.
ExprId JsonRules::hex(uint32_t count) {
  const CodeSet set = make_code_set({{'0', '9'}, {'a', 'f'}, {'A', 'F'}});
  return ast_.repeat(ast_.char_class(set), count, count);
}

// Optional, and bounded so that a model cannot fill a text with spaces.
ExprId JsonRules::space() {
  return rule("space", [&] {
    const ExprId indent = ast_.repeat(ast_.char_class({{'\t', '\t'}, {' ', ' '}}), 0, kMaxIndent);
    // Nothing, one blank, or a line break with an indent: what printers of JSON write.
    return ast_.optional(ast_.choice({ast_.text(" "), ast_.sequence({ast_.text("\n"), indent})}));
  });
}

// true or false.
ExprId JsonRules::boolean() {
  return ast_.choice({ast_.text("true"), ast_.text("false")});
}

ExprId JsonRules::null() {
  return ast_.text("null");
}

// Without leading zeros.
ExprId JsonRules::unsigned_integer() {
  return rule("unsigned-integer", [&] {
    const ExprId first = ast_.char_class(ascii('1', '9'));
    return ast_.choice({ast_.text("0"), ast_.sequence({first, digits(0, kMaxDigits - 1)})});
  });
}

// With an optional minus.
ExprId JsonRules::integer() {
  return rule("integer", [&] {
    const ExprId first = ast_.char_class(ascii('1', '9'));
    const ExprId positive = ast_.sequence({first, digits(0, kMaxDigits - 1)});
    return ast_.choice({ast_.text("0"), ast_.sequence({ast_.optional(ast_.text("-")), positive})});
  });
}

// The exponent stays below 290: with 16 digits before it, every number is finite as float64.
ExprId JsonRules::fraction_and_exponent() {
  return rule("fraction-and-exponent", [&] {
    const ExprId fraction = ast_.sequence({ast_.text("."), digits(1, kMaxDigits)});
    // 100 to 289: [1-2][0-8][0-9].
    const ExprId large = ast_.sequence(
        {ast_.char_class(ascii('1', '2')), ast_.char_class(ascii('0', '8')), digits(1, 1)});
    const ExprId power = ast_.choice({digits(1, 2), large});
    const ExprId sign = ast_.optional(ast_.char_class({{'+', '+'}, {'-', '-'}}));
    const ExprId exponent = ast_.sequence({ast_.char_class({{'E', 'E'}, {'e', 'e'}}), sign, power});
    return ast_.sequence({ast_.optional(fraction), ast_.optional(exponent)});
  });
}

// For minimum 0.
ExprId JsonRules::non_negative_number() {
  return rule("non-negative-number", [&] {
    return ast_.sequence({unsigned_integer(), fraction_and_exponent()});
  });
}

// With fraction and exponent.
ExprId JsonRules::number() {
  return rule("number", [&] {
    return ast_.sequence({ast_.optional(ast_.text("-")), non_negative_number()});
  });
}

// Surrogates come in pairs, which are one code point.
ExprId JsonRules::string_char() {
  return rule("string-char", [&] {
    CodeSet set = make_code_set({{'"', '"'},
                                 {'/', '/'},
                                 {'\\', '\\'},
                                 {'b', 'b'},
                                 {'f', 'f'},
                                 {'n', 'n'},
                                 {'r', 'r'},
                                 {'t', 't'}});
    const ExprId simple = ast_.char_class(std::move(set));
    set = make_code_set({{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}});
    //   \uXXXX outside of D800-DFFF: first digit not d, or d and then 0-7
    //   pairs: d[89ab]XX, then \ud[c-f]XX
    const ExprId basic = ast_.sequence({ast_.char_class(std::move(set)), hex(3)});
    const ExprId d = ast_.char_class({{'D', 'D'}, {'d', 'd'}});
    const ExprId below = ast_.sequence({d, ast_.char_class(ascii('0', '7')), hex(2)});
    set = make_code_set({{'8', '9'}, {'a', 'b'}, {'A', 'B'}});
    const ExprId high = ast_.sequence({d, ast_.char_class(std::move(set)), hex(2)});
    set = make_code_set({{'c', 'f'}, {'C', 'F'}});
    const ExprId low =
        ast_.sequence({ast_.text("\\u"), d, ast_.char_class(std::move(set)), hex(2)});
    const ExprId unit = ast_.choice({basic, below, ast_.sequence({high, low})});
    const ExprId escape = ast_.choice({simple, ast_.sequence({ast_.text("u"), unit})});
    return ast_.choice(
        {ast_.char_class(plain_json_chars()), ast_.sequence({ast_.text("\\"), escape})});
  });
}

// Lengths count characters, an escape as one.
ExprId JsonRules::string(uint32_t min, uint32_t max) {
  const auto quoted = [&] {
    return ast_.sequence({ast_.text("\""), ast_.repeat(string_char(), min, max), ast_.text("\"")});
  };
  return min == 0 && max == kUnbounded ? rule("string", quoted) : quoted();
}

// A character of the set, plain or escaped.
ExprId JsonRules::char_of(const CodeSet& set) {
  std::vector<ExprId> forms;
  CodeSet plain = intersection(set, plain_json_chars());
  plain = difference(plain, {{0xD800, 0xDFFF}});
  if (!plain.empty()) forms.push_back(ast_.char_class(std::move(plain)));
  for (const CodeRange& range : difference(set, plain_json_chars())) {
    for (uint32_t c = range.first; c <= range.last; ++c) forms.push_back(ast_.text(escape_of(c)));
  }
  return ast_.choice(std::move(forms));
}

// Between the members of an object or the items of a list.
ExprId JsonRules::comma_then(ExprId part) {
  return ast_.sequence({ast_.text(","), space(), part});
}

// "name": value
ExprId JsonRules::member(ExprId name, ExprId value) {
  return ast_.sequence({name, ast_.text(":"), space(), value});
}

// Brackets around what may be empty.
ExprId JsonRules::enclosed(char open, ExprId content, bool can_be_empty, char close) {
  const ExprId inside = ast_.sequence({content, space()});
  return ast_.sequence({ast_.text({&open, 1}), space(),
                        can_be_empty ? ast_.optional(inside) : inside, ast_.text({&close, 1})});
}

// Between min and max items with commas.
ExprId JsonRules::list(ExprId item, uint32_t min, uint32_t max) {
  const uint32_t rest_min = min == 0 ? 0 : min - 1;
  const uint32_t rest_max = max == kUnbounded ? kUnbounded : max - 1;
  // A list of one has no comma.
  if (rest_max == 0) return item;
  return ast_.sequence({item, ast_.repeat(comma_then(item), rest_min, rest_max)});
}

// Any object, list or value.
ExprId JsonRules::object() {
  return rule("object", [&] {
    const ExprId members = list(member(string(0, kUnbounded), value()), 1, kUnbounded);
    return enclosed('{', members, true, '}');
  });
}

ExprId JsonRules::array() {
  return rule("array", [&] { return enclosed('[', list(value(), 1, kUnbounded), true, ']'); });
}

ExprId JsonRules::value() {
  return rule("value", [&] {
    return ast_.choice({object(), array(), string(0, kUnbounded), number(), boolean(), null()});
  });
}

}  // namespace quern
