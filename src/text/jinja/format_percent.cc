// '%s is %d' % (a, b)
// Flags, width, precision and conversion in C's order, with Python's meaning.
#include <algorithm>
#include <optional>

#include "base/fail.h"
#include "text/jinja/characters.h"
#include "text/jinja/format.h"
#include "text/jinja/number_parse.h"
#include "text/jinja/value_compare.h"
#include "text/jinja/value_text.h"

namespace quern::jinja {
namespace {

// Runs the % operator of texts: one value, a tuple of values, or a dict of named ones.
class PercentFormatter {
 public:
  PercentFormatter(Heap& heap, const Value& format, const Value& value)
      : heap_(heap), format_(format.text()), is_safe_(format.is_safe()), value_(value) {
    // Only a tuple stands for several values; a list is one.
    is_tuple_ = value.is_list() && value.list().is_tuple();
  }

  // Errors: values that no conversion took.
  Result<std::string> run() {
    while (at_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      out_ += format_.substr(at_, percent - at_);
      at_ = percent + 1;
      if (percent < format_.size()) QUERN_TRY(conversion());
      QUERN_TRY(heap_.reserve(out_.size()));
    }
    // Named values are not counted: the operand is then a dict, which is optional.
    const size_t num_values = is_tuple_ ? value_.list().items.size() : 1;
    // A dict, and anything else that can be subscripted, need not be used.
    const bool is_optional =
        !is_tuple_ && (value_.is_dict() || value_.is_list() || value_.is_undefined());
    if (num_taken_ < num_values && !is_optional) {
      return fail::invalid("A format does not use all its values");
    }
    return std::move(out_);
  }

 private:
  // The next character, or 0 at the end.
  char peek() const { return at_ < format_.size() ? format_[at_] : '\0'; }

  // The next positional value. Errors: there is none left.
  Result<Value> take() {
    if (is_tuple_ && num_taken_ < value_.list().items.size()) {
      return value_.list().items[num_taken_++];
    }
    if (is_tuple_ || num_taken_ > 0) return fail::invalid("A format has too few values");
    ++num_taken_;
    return value_;
  }

  // The value of "(name)". Errors: the operand is no dict, or has no such key.
  Result<Value> take_named() {
    const size_t end = format_.find(')', at_);
    if (end == std::string_view::npos) return fail::invalid("A format's key has no ')'");
    const std::string name(format_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    if (!value_.is_dict()) return fail::invalid("A format with keys needs a dict");
    QUERN_ASSIGN_OR_RETURN(const Value* found,
                           find_entry(heap_, value_.dict(), Value::string(&name)));
    if (found == nullptr) return fail::invalid("The dict of a format has no key '{}'", name);
    return *found;
  }

  // Digits, or * for a value, which may be negative. Nothing where there is neither.
  Result<std::optional<int>> number() {
    if (peek() == '*') {
      ++at_;
      QUERN_ASSIGN_OR_RETURN(const Value value, take());
      // Without abs(), which the lowest integer has not.
      if (!value.is_integral() || value.integer() > kMaxFormatWidth ||
          value.integer() < -kMaxFormatWidth) {
        return fail::invalid("The width of a format is not an integer up to {}", kMaxFormatWidth);
      }
      return static_cast<int>(value.integer());
    }
    const size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    if (at_ == begin) return std::nullopt;
    const auto value = parse_integer(format_.substr(begin, at_ - begin), 10);
    if (!value || *value > kMaxFormatWidth) {
      return fail::invalid("The width of a format is over {}", kMaxFormatWidth);
    }
    return static_cast<int>(*value);
  }

  // One conversion behind a '%': flags, width, precision, letter.
  Result<void> conversion() {
    FormatSpec spec;
    std::optional<Value> named;
    if (peek() == '(') {
      QUERN_ASSIGN_OR_RETURN(named, take_named());
    }
    bool has_zeros = false;
    for (; at_ < format_.size() && std::string_view("#0- +").find(peek()) != std::string_view::npos;
         ++at_) {
      if (peek() == '#') spec.is_alternate = true;
      if (peek() == '0') has_zeros = true;
      if (peek() == '-') spec.align = '<';
      // Of both signs + wins, in either order.
      if (peek() == '+' || (peek() == ' ' && spec.sign != '+')) spec.sign = peek();
    }
    QUERN_ASSIGN_OR_RETURN(const std::optional<int> given_width, number());
    const int width = given_width.value_or(0);
    // A negative one for '*' says '-' as well.
    if (width < 0) spec.align = '<';
    spec.width = width < 0 ? -width : width;
    if (peek() == '.') {
      ++at_;
      QUERN_ASSIGN_OR_RETURN(const std::optional<int> precision, number());
      // "%.f" has the precision 0, and so has a negative one.
      spec.precision = std::max(precision.value_or(0), 0);
    }
    // C's length letters, which Python takes and ignores.
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    const char type = peek();
    ++at_;
    if (type == '%') {
      out_ += '%';
      return {};
    }
    Value value;
    if (named) value = *named;
    if (!named) {
      QUERN_ASSIGN_OR_RETURN(value, take());
    }
    if (has_zeros && spec.align == 0 && value.is_number() && type != 's' && type != 'r') {
      spec.fill = "0";
      spec.align = '=';
    }
    if (spec.align == 0) spec.align = '>';
    return append(spec, type, value);
  }

  // One value laid out; the letters are those of Python.
  Result<void> append(FormatSpec& spec, char type, const Value& value) {
    QUERN_ASSIGN_OR_RETURN(const Value shown, convert(spec, type, value));
    QUERN_ASSIGN_OR_RETURN(const std::string text, format_value(heap_, spec, shown));
    out_ += text;
    return {};
  }

  // Sets the type and turns the value into what it lays out.
  Result<Value> convert(FormatSpec& spec, char type, const Value& value) {
    switch (type) {
      case 's':
      case 'r':
      case 'a': {
        spec.type = 's';
        std::string text;
        QUERN_TRY(type == 's' ? append_text(heap_, value, text) : append_repr(heap_, value, text));
        if (type == 'a') text = escape_non_ascii(text);
        // What a safe format shows must be safe too.
        if (is_safe_ && !(type == 's' && value.is_safe())) text = escape_html(text);
        return heap_.text(std::move(text));
      }
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return integer(spec, type, value);
      case 'c': {
        spec.type = 's';
        if (value.is_string() && count_characters(value.text()) == 1) return value;
        if (!value.is_integral()) return fail::invalid("The format 'c' needs a character");
        QUERN_ASSIGN_OR_RETURN(std::string text, character_of(value.integer()));
        return heap_.text(std::move(text));
      }
      default:
        break;
    }
    if (std::string_view("eEfFgG").find(type) == std::string_view::npos) {
      return fail::invalid("A format has the type '{}', which does not exist", type);
    }
    spec.type = type;
    if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
    if (!value.is_number()) {
      return fail::invalid("The format '{}' does not fit a value of type '{}'", type,
                           type_name(value));
    }
    return Value::real(value.real());
  }

  // %d, %x, %o and the like, which take numbers only.
  Result<Value> integer(FormatSpec& spec, char type, const Value& value) {
    const bool is_decimal = type == 'd' || type == 'i' || type == 'u';
    spec.type = is_decimal ? 'd' : type;
    if (value.is_integral()) return Value::integer(value.integer());
    // %d cuts a float's fraction off; %x and %o refuse floats, as Python does since 3.5.
    const auto whole =
        is_decimal && value.is_number() ? truncate_to_integer(value.real()) : std::nullopt;
    if (whole) return Value::integer(*whole);
    if (value.is_undefined()) return fail::invalid("{}", value.undefined_reason());
    return fail::invalid("The format '{}' does not fit a value of type '{}'", type,
                         type_name(value));
  }

  Heap& heap_;
  std::string_view format_;
  bool is_safe_;
  const Value& value_;
  bool is_tuple_ = false;
  size_t at_ = 0;
  size_t num_taken_ = 0;
  std::string out_;
};

}  // namespace

// Errors: kInvalidArgument, with Python's words for what does not fit.
Result<Value> format_percent(Heap& heap, const Value& format, const Value& value) {
  QUERN_TRY(heap.spend_scan(format.text().size()));
  QUERN_TRY(heap.reserve(format.text().size()));
  QUERN_ASSIGN_OR_RETURN(std::string text, PercentFormatter(heap, format, value).run());
  return heap.text(std::move(text), format.is_safe());
}

}  // namespace quern::jinja
