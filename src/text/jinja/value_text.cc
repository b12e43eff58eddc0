// str() and repr() of values.
// Printing a value that holds itself ends with an error.
#include "text/jinja/value_text.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/fail.h"
#include "base/html_escape.h"
#include "text/jinja/characters.h"
#include "text/utf8.h"

namespace quern::jinja {
namespace {

// Controls and quotes as Python's repr escapes them.
void append_escaped(uint32_t code_point, char quote, std::string& out) {
  switch (code_point) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (code_point == '\\' || code_point == static_cast<uint32_t>(quote)) {
    out += '\\';
    out += static_cast<char>(code_point);
  // The shortest of \x, \u and \U that holds the code point, in lower-case digits.
  } else if (is_printable(code_point)) {
    append_utf8(code_point, out);
  } else if (code_point < 0x100) {
    out += fmt::format("\\x{:02x}", code_point);
  } else if (code_point < 0x10000) {
    out += fmt::format("\\u{:04x}", code_point);
  } else {
    out += fmt::format("\\U{:08x}", code_point);
  }
}

// In single quotes, or in double ones where the text has only single ones inside.
void append_quoted(std::string_view text, std::string& out) {
  // Python's rule: single quotes, unless the text has single ones and no double ones.
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    if (step.status == Utf8Status::kValid) {
      append_escaped(step.code_point, quote, out);
    } else {
      // Bytes that are no UTF-8 pass through; Python could not hold them.
      out += text.substr(0, step.size);
    }
    text.remove_prefix(step.size);
  }
  out += quote;
}

// Writes str() and repr() of nested values within the limits.
class Printer {
 public:
  Printer(Heap& heap, std::string& out) : heap_(heap), out_(out) {}

  // repr(): texts in quotes.
  Result<void> repr(const Value& value, int depth) {
    if (depth > kMaxValueDepth) {
      return fail::invalid("A value nests over {} levels deep", kMaxValueDepth);
    }
    // What was written is charged after it was written: a part is small, or a value below it has
    // been charged already. The same items are charged at each level, which bounds a value that
    // holds itself many times over.
    const size_t begin = out_.size();
    QUERN_TRY(append(value, depth));
    QUERN_TRY(heap_.spend_scan(out_.size() - begin));
    return heap_.reserve(out_.size());
  }

 private:
  // str(): texts as they are.
  Result<void> append(const Value& value, int depth) {
    switch (value.kind()) {
      case Kind::kUndefined:
        out_ += "Undefined";
        return {};
      case Kind::kNone:
        out_ += "None";
        return {};
      case Kind::kBool:
        out_ += value.truth() ? "True" : "False";
        return {};
      case Kind::kInt:
        out_ += std::to_string(value.integer());
        return {};
      case Kind::kFloat:
        out_ += float_text(value.real());
        return {};
      case Kind::kString:
        // \x00: one byte becomes four.
        QUERN_TRY(heap_.reserve(value.text().size() * 4));
        if (value.is_safe()) out_ += "Markup(";
        append_quoted(value.text(), out_);
        if (value.is_safe()) out_ += ")";
        return {};
      case Kind::kList:
        return list(value.list(), depth);
      case Kind::kDict:
        return dict(value.dict(), depth);
      case Kind::kNamespace:
        out_ += "<Namespace ";
        QUERN_TRY(dict(value.dict(), depth));
        out_ += ">";
        return {};
      case Kind::kObject:
        out_ += fmt::format("<{}>", value.object().type_name());
        return {};
    }
    return {};
  }

  // [a, b], (a,), or the label of a range, view or generator.
  Result<void> list(const List& list, int depth) {
    // A generator is not walked by printing it, which would use it up.
    if (list.kind == ListKind::kRange || list.kind == ListKind::kGenerator) {
      out_ += list.label.empty() ? "<generator object>" : list.label;
      return {};
    }
    const bool is_view = list.kind == ListKind::kView;
    if (is_view) out_ += list.label + "(";
    out_ += list.is_tuple() ? '(' : '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_ += ", ";
      QUERN_TRY(repr(list.items[i], depth + 1));
    }
    if (list.is_tuple() && list.items.size() == 1) out_ += ',';
    out_ += list.is_tuple() ? ')' : ']';
    if (is_view) out_ += ")";
    return {};
  }

  // {key: value} in order of insertion.
  Result<void> dict(const Dict& dict, int depth) {
    out_ += '{';
    bool is_first = true;
    for (const Dict::Entry& entry : dict.entries()) {
      if (!is_first) out_ += ", ";
      is_first = false;
      QUERN_TRY(repr(entry.key, depth + 1));
      out_ += ": ";
      QUERN_TRY(repr(entry.value, depth + 1));
    }
    out_ += '}';
    return {};
  }

  Heap& heap_;
  std::string& out_;
};

}  // namespace

// Python's truth.
bool is_truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.real() != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kList:
      // A generator is true in Python, which cannot know whether anything will come.
      return value.list().kind == ListKind::kGenerator || !value.list().items.empty();
    case Kind::kDict:
      return value.dict().size() > 0;
    case Kind::kNamespace:
    case Kind::kObject:
      return true;
  }
  return true;
}

// Appended within the limits of the heap.
Result<void> append_text(Heap& heap, const Value& value, std::string& out) {
  // str() of Jinja's Undefined is empty; its repr() is "Undefined".
  if (value.is_undefined()) return {};
  if (value.is_string()) {
    QUERN_TRY(heap.spend_scan(value.text().size()));
    QUERN_TRY(heap.reserve(out.size() + value.text().size()));
    out += value.text();
    return {};
  }
  return Printer(heap, out).repr(value, 0);
}

Result<void> append_repr(Heap& heap, const Value& value, std::string& out) {
  return Printer(heap, out).repr(value, 0);
}

Result<std::string> to_text(Heap& heap, const Value& value) {
  std::string text;
  QUERN_TRY(append_text(heap, value, text));
  return text;
}

// repr of a float: the shortest digits that read back, with ".0" or an exponent as Python has it.
std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t exponent_at = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(exponent_at + 1)).c_str());
  // The layout of repr() in CPython; to_chars writes two digits of an exponent at least, as it
  // does.
  if (exponent < -4 || exponent >= 16) return std::string(text);
  const bool is_negative = text[0] == '-';
  std::string digits;
  for (const char c : text.substr(0, exponent_at)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  std::string out = is_negative ? "-" : "";
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const auto num_whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < num_whole) digits.append(num_whole - digits.size(), '0');
  const std::string fraction = digits.substr(num_whole);
  return out + digits.substr(0, num_whole) + "." + (fraction.empty() ? "0" : fraction);
}

// & < > " ' as entities.
std::string escape_html(std::string_view text) {
  return quern::escape_html(text);
}

}  // namespace quern::jinja
