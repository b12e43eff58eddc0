// '{} is {name:>5}'.format(a, name=b)
// The specification may hold fields itself, one level deep, as in Python.
#include <algorithm>

#include "base/fail.h"
#include "text/jinja/format.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number_parse.h"
#include "text/jinja/value_text.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// Alignments of a format specification; '=' puts the padding behind the sign.
bool is_align(char c) {
  return c == '<' || c == '>' || c == '=' || c == '^';
}

// Digits at the begin of `text`, which are taken off; -1 where there are none.
Result<int> take_number(std::string_view& text) {
  const size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
  if (size == 0) return -1;
  const auto number = parse_integer(text.substr(0, size), 10);
  if (!number || *number > kMaxFormatWidth) {
    return fail::invalid("The width of a format is over {}", kMaxFormatWidth);
  }
  text.remove_prefix(size);
  return static_cast<int>(*number);
}

// Moves behind `c`, if the text begins with it.
bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

// [[fill]align][sign][#][0][width][grouping][.precision][type], the mini-language of Python's
// format.
Result<FormatSpec> parse_spec(std::string_view text) {
  const std::string_view whole = text;
  FormatSpec spec;
  // The fill may be any character; it is one only where an alignment follows.
  const size_t first = text.empty() ? 0 : decode_utf8(text).size;
  if (first > 0 && text.size() > first && is_align(text[first])) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  for (const char sign : {'+', '-', ' '}) {
    if (take(text, sign)) spec.sign = sign;
  }
  spec.is_alternate = take(text, '#');
  // The 0 before a width means fill "0" and alignment '=', but an explicit fill or alignment goes
  // first.
  const bool has_fill = first > 0 && whole.size() > first && is_align(whole[first]);
  if (take(text, '0')) {
    if (!has_fill) spec.fill = "0";
    spec.pads_zeros = spec.align == 0;
  }
  QUERN_ASSIGN_OR_RETURN(const int width, take_number(text));
  spec.width = std::max(width, 0);
  for (const char grouping : {',', '_'}) {
    if (take(text, grouping)) spec.grouping = grouping;
  }
  if (take(text, '.')) {
    QUERN_ASSIGN_OR_RETURN(spec.precision, take_number(text));
    if (spec.precision < 0) return fail::invalid("The format '{}' lacks its precision", whole);
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  const bool is_known = spec.type == 0 || std::string_view("cdxXobeEfFgGn%s").find(spec.type) !=
                                              std::string_view::npos;
  if (!text.empty() || !is_known) return fail::invalid("The format '{}' is not valid", whole);
  return spec;
}

// What Python refuses: layouts of numbers on texts and the other way round.
Result<void> check_spec(const FormatSpec& spec, const Value& value, std::string_view text) {
  const auto refuse = [&] {
    return fail::invalid("The format '{}' does not fit a value of type '{}'", text,
                         type_name(value));
  };
  if (text.empty()) return {};
  if (value.is_number()) {
    const bool is_float =
        spec.type != 0 && std::string_view("eEfFgGn%").find(spec.type) != std::string_view::npos;
    // An integer has no digits behind a point, so its layout takes no precision.
    const bool is_whole = value.is_integral() && !is_float;
    return spec.type == 's' || (is_whole && spec.precision >= 0) ? Result<void>(refuse())
                                                                 : Result<void>();
  }
  const bool has_number_layout =
      spec.align == '=' || spec.sign != '-' || spec.is_alternate || spec.grouping != 0;
  return !value.is_string() || has_number_layout ? Result<void>(refuse()) : Result<void>();
}

// Runs str.format: literal text, doubled braces and fields.
class BraceFormatter {
 public:
  BraceFormatter(Interpreter& interpreter, const Value& format, const Arguments& arguments)
      : interpreter_(interpreter), is_safe_(format.is_safe()), arguments_(arguments) {}

  Result<std::string> run(std::string_view format) {
    std::string out;
    QUERN_TRY(expand(format, 0, out));
    return out;
  }

 private:
  // A format, or at depth 1 a specification that holds fields.
  Result<void> expand(std::string_view text, int depth, std::string& out) {
    while (!text.empty()) {
      const size_t size = std::min(text.find_first_of("{}"), text.size());
      out += text.substr(0, size);
      text.remove_prefix(size);
      if (text.empty()) break;
      const char brace = text[0];
      text.remove_prefix(1);
      // {{ and }} are one brace of text.
      if (take(text, brace)) {
        out += brace;
      } else if (brace == '}') {
        return fail::invalid("A format has a '}}' that closes nothing");
      } else {
        QUERN_TRY(field(text, depth, out));
      }
      QUERN_TRY(interpreter_.heap().reserve(out.size()));
    }
    return {};
  }

  // Where a field's name ends; npos where it does not. A key in brackets may hold any character.
  static size_t name_end(std::string_view text) {
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '[') {
        at = text.find(']', at);
        if (at == std::string_view::npos) return at;
      } else if (std::string_view(":!{}").find(text[at]) != std::string_view::npos) {
        return at;
      }
    }
    return std::string_view::npos;
  }

  // Where a specification ends: at the brace that closes the field. Brackets do not count here.
  static size_t spec_end(std::string_view text) {
    int open = 1;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}' && --open == 0) return at;
    }
    return std::string_view::npos;
  }

  // One {field}: which argument, what of it, its conversion and its specification. Moves `rest`
  // behind its end.
  Result<void> field(std::string_view& rest, int depth, std::string& out) {
    const size_t end = name_end(rest);
    if (end == std::string_view::npos || rest[end] == '{') return endless();
    const std::string_view name = rest.substr(0, end);
    char mark = rest[end];
    rest.remove_prefix(end + 1);
    char conversion = 0;
    if (mark == '!') {
      if (rest.size() < 2) return endless();
      conversion = rest[0];
      if (std::string_view("sra").find(conversion) == std::string_view::npos) {
        return fail::invalid("A format has the conversion '!{}'; there are !s, !r and !a",
                             conversion);
      }
      mark = rest[1];
      rest.remove_prefix(2);
      if (mark != ':' && mark != '}') {
        return fail::invalid("A format has more than one letter behind the '!' of a field");
      }
    }
    // Before its specification is read: the fields inside of that take the numbers behind this
    // one's.
    QUERN_ASSIGN_OR_RETURN(Value value, find_value(name));
    std::string spec_text;
    if (mark == ':') QUERN_TRY(take_spec(rest, depth, spec_text));
    QUERN_ASSIGN_OR_RETURN(const FormatSpec spec, parse_spec(spec_text));
    Heap& heap = interpreter_.heap();
    if (conversion != 0) {
      QUERN_ASSIGN_OR_RETURN(value, converted(conversion, value));
    }
    QUERN_TRY(check_spec(spec, value, spec_text));
    QUERN_ASSIGN_OR_RETURN(const std::string text, format_value(heap, spec, value));
    // What a safe format shows must be safe too.
    out += is_safe_ && !value.is_safe() ? escape_html(text) : text;
    return {};
  }

  // !s, !r or !a.
  Result<Value> converted(char conversion, const Value& value) {
    Heap& heap = interpreter_.heap();
    std::string text;
    QUERN_TRY(conversion == 's' ? append_text(heap, value, text) : append_repr(heap, value, text));
    return heap.text(conversion == 'a' ? escape_non_ascii(text) : std::move(text));
  }

  // The specification up to the end of the field; fields inside of it stand for their values.
  Result<void> take_spec(std::string_view& rest, int depth, std::string& spec) {
    const size_t size = spec_end(rest);
    if (size == std::string_view::npos) return endless();
    const std::string_view text = rest.substr(0, size);
    rest.remove_prefix(size + 1);
    if (text.find('{') == std::string_view::npos) {
      spec = text;
      return {};
    }
    // One level is Python's limit as well.
    if (depth > 0) return fail::invalid("A format has fields that are nested too deep");
    return expand(text, depth + 1, spec);
  }
  static tl::unexpected<Error> endless() {
    return fail::invalid("A format has a '{{' without an end");
  }

  // The number that a field consists of: digits alone, no sign and no blank. Nothing for a name.
  // Errors: past 64 bits.
  static Result<std::optional<int64_t>> number_of(std::string_view text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    const auto number = parse_integer(text, 10);
    if (!number) return fail::invalid("A format has a number of more than 64 bits");
    return number;
  }

  // The argument that a field names, by its number, its name or, without either, in turn.
  Result<Value> find_argument(std::string_view name) {
    QUERN_ASSIGN_OR_RETURN(std::optional<int64_t> number, number_of(name));
    if (name.empty()) number = num_taken_++;
    if (number) {
      // Python refuses a mixture of "{}" and "{0}", since either could mean the same argument.
      has_numbers_ = has_numbers_ || !name.empty();
      if (has_numbers_ && num_taken_ > 0) {
        return fail::invalid("A format has fields with numbers and fields without");
      }
      if (*number < 0 || static_cast<size_t>(*number) >= arguments_.positional.size()) {
        return fail::invalid("A format needs argument {}, which is not given", *number);
      }
      return arguments_.positional[static_cast<size_t>(*number)];
    }
    for (const NamedArgument& argument : arguments_.named) {
      if (*argument.name == name) return argument.value;
    }
    return fail::invalid("A format needs the argument '{}', which is not given", name);
  }

  // name, name.attribute, name[key]
  Result<Value> find_value(std::string_view path) {
    const size_t first = std::min(path.find_first_of(".["), path.size());
    QUERN_ASSIGN_OR_RETURN(Value value, find_argument(path.substr(0, first)));
    path.remove_prefix(first);
    Heap& heap = interpreter_.heap();
    while (!path.empty()) {
      QUERN_TRY(heap.spend_scan(path.size()));
      if (take(path, '.')) {
        const size_t size = std::min(path.find_first_of(".["), path.size());
        if (size == 0) return fail::invalid("A format has a field with an empty name");
        QUERN_ASSIGN_OR_RETURN(
            value, interpreter_.attribute(value, *heap.name(std::string(path.substr(0, size)))));
        path.remove_prefix(size);
        continue;
      }
      const size_t end = path.find(']');
      if (path[0] != '[' || end == std::string_view::npos) {
        return fail::invalid("A format has the broken field '{}'", path);
      }
      const std::string_view key = path.substr(1, end - 1);
      if (key.empty()) return fail::invalid("A format has a field with an empty name");
      // {0[1]} asks for the item 1 and {0[a]} for the key "a": quotes have no meaning here.
      QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> index, number_of(key));
      QUERN_ASSIGN_OR_RETURN(value, interpreter_.item(value, index ? Value::integer(*index)
                                                                   : heap.text(std::string(key))));
      path.remove_prefix(end + 1);
    }
    return value;
  }

  Interpreter& interpreter_;
  bool is_safe_;
  const Arguments& arguments_;
  int64_t num_taken_ = 0;  // by fields without a number
  bool has_numbers_ = false;
};

}  // namespace

// str.format. Errors: kInvalidArgument for malformed fields and for arguments that are not there.
Result<Value> format_braces(Interpreter& interpreter, const Value& format,
                            const Arguments& arguments) {
  QUERN_TRY(interpreter.heap().spend_characters(format.text().size()));
  QUERN_TRY(interpreter.heap().reserve(format.text().size()));
  QUERN_ASSIGN_OR_RETURN(std::string text,
                         BraceFormatter(interpreter, format, arguments).run(format.text()));
  return interpreter.heap().text(std::move(text), format.is_safe());
}

}  // namespace quern::jinja
