// Recursive descent over a short text.
// Integers only, checked at each step: expressions make shapes and repeat counts.
#include "formats/manifest/integer_expression.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/fail.h"

namespace quern::manifest {
namespace {

// ASCII letters and '_'.
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_char(char c) {
  return is_name_start(c) || is_digit(c) || c == '.';
}

//   sum     = product (("+" | "-") product)*
//   product = factor (("*" | "/" | "%") factor)*
//   factor  = "-" factor | "(" sum ")" | digits | name
// Recursive descent: sum, product, factor. One expression each.
class Evaluator {
 public:
  // Borrows both.
  Evaluator(std::string_view text, const NameLookup& lookup) : text_(text), lookup_(lookup) {}

  // Errors: what follows a whole expression, besides those of the parts.
  Result<int64_t> run() {
    QUERN_ASSIGN_OR_RETURN(const int64_t value, sum());
    skip_spaces();
    if (at_ < text_.size()) return malformed();
    return value;
  }

 private:
  // product {+ product}. Errors: overflow.
  Result<int64_t> sum() {
    QUERN_ASSIGN_OR_RETURN(int64_t value, product());
    while (true) {
      const char sign = take_one_of("+-");
      if (sign == 0) return value;
      QUERN_ASSIGN_OR_RETURN(const int64_t right, product());
      // Signed overflow is undefined in C++: the built-ins compute and tell.
      const bool is_over = sign == '+' ? __builtin_add_overflow(value, right, &value)
                                       : __builtin_sub_overflow(value, right, &value);
      if (is_over) return overflow();
    }
  }

  // factor {* / % factor}. Errors: a division by 0.
  Result<int64_t> product() {
    QUERN_ASSIGN_OR_RETURN(int64_t value, factor());
    while (true) {
      const char sign = take_one_of("*/%");
      if (sign == 0) return value;
      QUERN_ASSIGN_OR_RETURN(const int64_t right, factor());
      if (sign == '*') {
        if (__builtin_mul_overflow(value, right, &value)) return overflow();
        continue;
      }
      if (right == 0) return fail::invalid("'{}' divides by zero.", text_);
      // -2^63 / -1 is 2^63, and the instruction traps; the remainder by -1 is 0 for every value.
      if (right == -1) {  // the one quotient that i64 may not hold
        if (sign == '%')
          value = 0;
        else if (__builtin_sub_overflow(int64_t{0}, value, &value))
          return overflow();
        continue;
      }
      value = sign == '/' ? value / right : value % right;
    }
  }

  // A number, a name, a sign, or brackets.
  Result<int64_t> factor() {
    if (take_one_of("-") != 0) {
      QUERN_ASSIGN_OR_RETURN(int64_t value, factor());
      if (__builtin_sub_overflow(int64_t{0}, value, &value)) return overflow();
      return value;
    }
    if (take_one_of("(") != 0) {
      QUERN_ASSIGN_OR_RETURN(const int64_t value, sum());
      if (take_one_of(")") == 0) return malformed();
      return value;
    }
    skip_spaces();
    if (at_ < text_.size() && is_digit(text_[at_])) return number();
    if (at_ < text_.size() && is_name_start(text_[at_])) return lookup_(take_while(is_name_char));
    return malformed();
  }

  // Errors: past 64 bits.
  Result<int64_t> number() {
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    // The text begins with a digit here, so overflow is all that can go wrong.
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code != std::errc{}) return overflow();
    at_ += static_cast<size_t>(end - begin);
    return value;
  }

  // The longest begin of the rest that belongs.
  std::string_view take_while(bool (*belongs)(char)) {
    const size_t start = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  // The character taken, or 0.
  char take_one_of(std::string_view wanted) {
    skip_spaces();
    if (at_ >= text_.size() || wanted.find(text_[at_]) == std::string_view::npos) return 0;
    return text_[at_++];
  }
  // Blanks may stand between all parts.
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  // Errors quote the whole expression.
  tl::unexpected<Error> malformed() const {
    return fail::invalid("'{}' is not an expression of integers and variables.", text_);
  }
  tl::unexpected<Error> overflow() const {
    return fail::invalid("'{}' passes the range of 64-bit integers.", text_);
  }

  std::string_view text_;
  const NameLookup& lookup_;
  size_t at_ = 0;
};

}  // namespace

// A name, or several with dots between them: "size.hidden".
bool is_variable_name(std::string_view text) {
  return !text.empty() && is_name_start(text.front()) && std::ranges::all_of(text, is_name_char);
}

// Errors: kInvalidArgument for malformed text and overflow; those of the look-up.
Result<int64_t> evaluate_expression(std::string_view text, const NameLookup& lookup) {
  if (text.size() > kMaxExpressionBytes) {
    return fail::invalid("An expression has {} characters; the limit is {}.", text.size(),
                         kMaxExpressionBytes);
  }
  return Evaluator(text, lookup).run();
}

}  // namespace quern::manifest
