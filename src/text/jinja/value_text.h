// Values as text: what {{ value }} prints, and Python's repr inside lists and dicts.
#pragma once

#include <string>
#include <string_view>

#include "quern/error.h"
#include "text/jinja/heap.h"
#include "text/jinja/value.h"

namespace quern::jinja {

// Python's bool(value).
bool is_truthy(const Value& value);

// Appends str(value). Errors: kInvalidArgument where the value nests too deeply,
// kResourceExhausted.
Result<void> append_text(Heap& heap, const Value& value, std::string& out);
// Appends repr(value): strings in quotes. Errors as above.
Result<void> append_repr(Heap& heap, const Value& value, std::string& out);
// str(value), as a text of its own. Errors: kResourceExhausted.
Result<std::string> to_text(Heap& heap, const Value& value);

// The shortest digits that read back as the number, laid out as Python does: "0.1", "1e+16".
std::string float_text(double number);

// & < > " ' as HTML entities.
std::string escape_html(std::string_view text);

}  // namespace quern::jinja
