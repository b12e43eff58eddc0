// Python's two ways to format: '%s' % value and '{}'.format(value).
#pragma once

#include "quern/error.h"
#include "text/jinja/arguments.h"
#include "text/jinja/heap.h"

namespace quern::jinja {

class Interpreter;

// `format` % `value`; a tuple gives several values, a dict named ones. `format` is a string.
Result<Value> format_percent(Heap& heap, const Value& format, const Value& value);

// format.format(...): fields by number and name, with ".attribute", "[item]", "!r", ":spec".
Result<Value> format_braces(Interpreter& interpreter, const Value& format,
                            const Arguments& arguments);

// How one value is laid out: [[fill]align][sign][#][0][width][,][.precision][type].
struct FormatSpec {
  std::string fill = " ";  // one character
  char align = 0;          // < > ^ =, 0: by type
  char sign = '-';         // - + or space
  bool is_alternate = false;
  char grouping = 0;  // , or _
  int width = 0;
  int precision = -1;
  char type = 0;
  bool pads_zeros = false;  // "0" before the width: zeros go behind the sign of numbers
};

// A number or text laid out. Errors: kInvalidArgument (the type does not fit the value).
Result<std::string> format_value(Heap& heap, const FormatSpec& spec, const Value& value);

// What repr() gives, in ASCII: other characters as \xHH, \uHHHH or \UHHHHHHHH.
std::string escape_non_ascii(std::string_view text);

// The character of a number for %c and {:c}. Errors: kInvalidArgument for what is no code point.
Result<std::string> character_of(int64_t number);

// Widths and precisions past this are refused.
inline constexpr int kMaxFormatWidth = 1'000'000;

}  // namespace quern::jinja
