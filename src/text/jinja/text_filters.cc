// Filters of texts. Other values are turned into text first.
// A safe text stays safe only through filters that cannot make it unsafe.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/environment.h"
#include "text/jinja/format.h"
#include "text/jinja/text_building.h"
#include "text/jinja/value_text.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// The text of a value, with its safety.
struct Input {
  std::string text;
  bool is_safe = false;
};

// The text of any value, and whether it is safe.
Result<Input> read(Interpreter& interpreter, const Value& value) {
  QUERN_ASSIGN_OR_RETURN(std::string text, to_text(interpreter.heap(), value));
  // Case and escapes make a text longer by a small factor.
  QUERN_TRY(interpreter.heap().reserve(6 * text.size()));
  QUERN_TRY(interpreter.heap().spend_characters(text.size()));
  return Input{std::move(text), value.is_safe()};
}

// Filters that map the whole text: upper, lower, capitalize, title.
template <std::string (*map)(std::string_view)>
Result<Value> mapped(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("a filter", {}));
  QUERN_ASSIGN_OR_RETURN(const Input input, read(interpreter, value));
  return interpreter.heap().text(map(input.text), input.is_safe);
}

// Jinja's title: words begin after white space, hyphens and opening brackets, other than in
// str.title().
std::string title_words(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    const auto is_break = [&](size_t at) {
      return std::string_view("-({[<").find(text[at]) != std::string_view::npos ||
             is_space(decode_utf8(text.substr(at)).code_point);
    };
    while (end < text.size() && !is_break(end)) end += decode_utf8(text.substr(end)).size;
    if (end > i) {
      const size_t first = decode_utf8(text.substr(i)).size;
      out += to_upper(text.substr(i, first));
      out += to_lower(text.substr(i + first, end - i - first));
    } else {
      end += decode_utf8(text.substr(end)).size;
      out += text.substr(i, end - i);
    }
    i = end;
  }
  return out;
}

// trim: whitespace, or given characters.
Result<Value> trim(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("trim", {"chars"}));
  QUERN_ASSIGN_OR_RETURN(const Input input, read(interpreter, value));
  std::string set;
  if (bound.is_given(0)) {
    QUERN_ASSIGN_OR_RETURN(set, bound.text(0, ""));
  }
  const std::string* chars = bound.is_given(0) ? &set : nullptr;
  const std::string_view text = strip_right(strip_left(input.text, chars), chars);
  return interpreter.heap().text(std::string(text), input.is_safe);
}

// replace: of plain texts, as autoescape is off: the result is never safe, and nothing is escaped.
Result<Value> replace_filter(Interpreter& interpreter, const Value& value,
                             const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("replace", {"old", "new", "count"}, 2));
  QUERN_ASSIGN_OR_RETURN(const std::string text, to_text(interpreter.heap(), value));
  QUERN_ASSIGN_OR_RETURN(const std::string from, to_text(interpreter.heap(), bound.value(0)));
  QUERN_ASSIGN_OR_RETURN(const std::string to, to_text(interpreter.heap(), bound.value(1)));
  int64_t count = -1;
  if (bound.is_given(2)) {
    QUERN_ASSIGN_OR_RETURN(count, bound.integer(2, -1));
  }
  QUERN_ASSIGN_OR_RETURN(std::string out, replace_text(interpreter.heap(), text, from, to, count));
  return interpreter.heap().text(std::move(out));
}

// indent: spaces or a text before each line but, unless asked, the first and blank ones.
Result<Value> indent(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound,
                         arguments.bind("indent", {"width", "first", "blank"}));
  if (!value.is_string()) {
    return fail::invalid("indent needs a string, not a value of type '{}'", type_name(value));
  }
  QUERN_ASSIGN_OR_RETURN(const Input input, read(interpreter, value));
  Heap& heap = interpreter.heap();
  std::string margin;
  if (bound.has(0) && bound.value(0).is_string()) {
    margin = bound.value(0).text();
  } else {
    QUERN_ASSIGN_OR_RETURN(const int64_t width, bound.integer(0, 4));
    QUERN_TRY(heap.reserve(static_cast<size_t>(std::max<int64_t>(width, 0))));
    margin.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  // jinja2 adds the same newline before it splits, so that "a\n" has two lines, the second of them
  // blank.
  // A last newline begins no line of its own here.
  const std::string text = input.text + "\n";
  const std::vector<std::string_view> lines = split_lines(text, false);
  const bool indents_first = bound.truth(1, false);
  const bool indents_blank = bound.truth(2, false);
  // The product below could wrap; SIZE_MAX is refused with the usual error.
  if (margin.size() > heap.limits().max_bytes / (lines.size() + 1)) {
    QUERN_TRY(heap.reserve(SIZE_MAX));
  }
  QUERN_TRY(heap.reserve(margin.size() * lines.size() + input.text.size()));
  QUERN_TRY(heap.spend_scan(margin.size() * lines.size()));
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i == 0 ? indents_first : indents_blank || !lines[i].empty()) out += margin;
    out += lines[i];
  }
  return heap.text(std::move(out), input.is_safe);
}

// escape: once; a safe text is left alone.
Result<Value> escape(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("escape", {}));
  if (value.is_safe()) return value;
  QUERN_ASSIGN_OR_RETURN(const Input input, read(interpreter, value));
  return interpreter.heap().text(escape_html(input.text), true);
}

// forceescape: of safe texts too.
Result<Value> force_escape(Interpreter& interpreter, const Value& value,
                           const Arguments& arguments) {
  QUERN_TRY(arguments.bind("forceescape", {}));
  QUERN_ASSIGN_OR_RETURN(const Input input, read(interpreter, value));
  return interpreter.heap().text(escape_html(input.text), true);
}

// safe: marks the text as safe.
Result<Value> safe(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("safe", {}));
  QUERN_ASSIGN_OR_RETURN(Input input, read(interpreter, value));
  return interpreter.heap().text(std::move(input.text), true);
}

// string: the value's text, safe where it was.
Result<Value> string_filter(Interpreter& interpreter, const Value& value,
                            const Arguments& arguments) {
  QUERN_TRY(arguments.bind("string", {}));
  if (value.is_string()) return value;
  QUERN_ASSIGN_OR_RETURN(Input input, read(interpreter, value));
  return interpreter.heap().text(std::move(input.text));
}

// format: the % operator with arguments in place of a tuple.
Result<Value> format_filter(Interpreter& interpreter, const Value& value,
                            const Arguments& arguments) {
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    return fail::invalid("format takes positional or named arguments, not both");
  }
  Heap& heap = interpreter.heap();
  QUERN_ASSIGN_OR_RETURN(Input input, read(interpreter, value));
  const Value format = heap.text(std::move(input.text), input.is_safe);
  if (arguments.named.empty()) {
    return format_percent(heap, format, heap.list(arguments.positional, ListKind::kTuple));
  }
  const Value named = heap.dict();
  for (const NamedArgument& argument : arguments.named) {
    QUERN_TRY(heap.set(named.dict(), Value::string(argument.name), argument.value));
  }
  return format_percent(heap, format, named);
}

// wordcount: runs of letters, digits and underscores.
Result<Value> word_count(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_TRY(arguments.bind("wordcount", {}));
  QUERN_ASSIGN_OR_RETURN(const Input input, read(interpreter, value));
  int64_t count = 0;
  bool is_inside = false;
  for (std::string_view text = input.text; !text.empty();) {
    const Utf8Step step = decode_utf8(text);
    const bool was_inside = std::exchange(is_inside, is_word(step.code_point));
    if (is_inside && !was_inside) ++count;
    text.remove_prefix(step.size);
  }
  return Value::integer(count);
}

// center, with Jinja's default width of 80.
Result<Value> center(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const BoundArguments bound, arguments.bind("center", {"width"}));
  QUERN_ASSIGN_OR_RETURN(const int64_t width, bound.integer(0, 80));
  QUERN_ASSIGN_OR_RETURN(const Input input, read(interpreter, value));
  QUERN_ASSIGN_OR_RETURN(std::string out,
                         pad_text(interpreter.heap(), input.text, width, " ", Padding::kBoth));
  return interpreter.heap().text(std::move(out), input.is_safe);
}

// By name; environment.cc searches them.
constexpr NamedFilter kFilters[] = {
    {"capitalize", mapped<capitalize>},
    {"center", center},
    {"e", escape},
    {"escape", escape},
    {"forceescape", force_escape},
    {"format", format_filter},
    {"indent", indent},
    {"lower", mapped<to_lower>},
    {"replace", replace_filter},
    {"safe", safe},
    {"string", string_filter},
    {"title", mapped<title_words>},
    {"trim", trim},
    {"upper", mapped<to_upper>},
    {"wordcount", word_count},
};

}  // namespace

std::span<const NamedFilter> text_filters() {
  return kFilters;
}

}  // namespace quern::jinja
