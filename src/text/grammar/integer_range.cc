// A range of numbers with equally many digits is split at the first digit.
#include "text/grammar/integer_range.h"

#include <algorithm>
#include <string>

namespace quern {
namespace {

constexpr size_t kFreeDigits = 16;  // on a side without a bound

// Of a number that is not negative.
std::string digits_of(WideInteger number) {
  std::string text;
  do {
    text += static_cast<char>('0' + static_cast<int>(number % 10));
    number /= 10;
  } while (number != 0);
  return {text.rbegin(), text.rend()};
}

// Builds digits between two bounds, as text: longer numbers of digits, then the same number digit
// by digit.
class RangeBuilder {
 public:
  // Borrows the AST.
  explicit RangeBuilder(GrammarAst& ast) : ast_(ast) {}

  // The digits of 0 <= low <= high.
  ExprId build(std::string first, const std::string& last) {
    std::vector<ExprId> lengths;
    //   7 to 1234:  7-9 | 10-99 | 100-999 | 1000-1234
    while (first.size() < last.size()) {
      lengths.push_back(same_length(first, std::string(first.size(), '9')));
      first = "1" + std::string(first.size(), '0');
    }
    lengths.push_back(same_length(first, last));
    return ast_.choice(std::move(lengths));
  }

 private:
  // One digit of a range.
  ExprId digit(char first, char last) {
    return ast_.char_class({{static_cast<uint32_t>(first), static_cast<uint32_t>(last)}});
  }
  // Exactly `count` digits.
  ExprId digits(size_t count) {
    return ast_.repeat(digit('0', '9'), static_cast<uint32_t>(count), static_cast<uint32_t>(count));
  }

  // Numbers of one length: a common begin, then the first digit that differs.
  ExprId same_length(const std::string& low, const std::string& high) {
    const std::string low_rest = low.substr(1);
    const std::string high_rest = high.substr(1);
    const size_t rest = low_rest.size();
    if (rest == 0) return digit(low[0], high[0]);
    if (low[0] == high[0]) {
      return ast_.sequence({ast_.text(low.substr(0, 1)), same_length(low_rest, high_rest)});
    }
    //   234 to 571:  2(34-99) | [3-4][0-9][0-9] | 5(00-71)
    const std::string zeros(rest, '0');
    const std::string nines(rest, '9');
    std::vector<ExprId> parts;
    char first = low[0];
    char last = high[0];
    if (low_rest != zeros) {
      parts.push_back(ast_.sequence({digit(first, first), same_length(low_rest, nines)}));
      ++first;
    }
    if (high_rest != nines) {
      parts.push_back(ast_.sequence({digit(last, last), same_length(zeros, high_rest)}));
      --last;
    }
    if (first <= last) parts.push_back(ast_.sequence({digit(first, last), digits(rest)}));
    return ast_.choice(std::move(parts));
  }

  GrammarAst& ast_;
};

}  // namespace

// Without leading zeros or "-0"; open where a bound is absent.
ExprId integer_range(GrammarAst& ast, std::optional<WideInteger> low,
                     std::optional<WideInteger> high) {
  // The side without a bound: as many nines as may stand there.
  const auto open_end = [](const std::string& nearest) {
    return std::string(std::max(nearest.size(), kFreeDigits), '9');
  };
  RangeBuilder builder(ast);
  std::vector<ExprId> signs;
  if (!low || *low < 0) {
    // Negative numbers by their magnitude, from the one nearest to 0; "-0" is left out.
    const std::string nearest = digits_of(high && *high < 0 ? -*high : WideInteger{1});
    const std::string farthest = low ? digits_of(-*low) : open_end(nearest);
    signs.push_back(ast.sequence({ast.text("-"), builder.build(nearest, farthest)}));
  }
  if (!high || *high >= 0) {
    const std::string nearest = digits_of(low && *low > 0 ? *low : WideInteger{0});
    signs.push_back(builder.build(nearest, high ? digits_of(*high) : open_end(nearest)));
  }
  return ast.choice(std::move(signs));
}

}  // namespace quern
