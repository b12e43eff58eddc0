// A range of numbers with equally many digits is split at the first digit.
#include "text/grammar/integer_range.h"

#include <algorithm>
#include <string>

namespace quern {
namespace {

constexpr int64_t kMaxFree = 9'999'999'999'999'999;  // 16 digits

// Builds digits between two bounds, as text: longer numbers of digits, then the same number digit
// by digit.
class RangeBuilder {
 public:
  // Borrows the AST.
  explicit RangeBuilder(GrammarAst& ast) : ast_(ast) {}

  // 0 <= low <= high.
  ExprId build(int64_t low, int64_t high) {
    std::vector<ExprId> lengths;
    const std::string last = std::to_string(high);
    std::string first = std::to_string(low);
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
ExprId integer_range(GrammarAst& ast, std::optional<int64_t> low, std::optional<int64_t> high) {
  const int64_t first = low ? *low : std::min(-kMaxFree, high.value_or(0));
  const int64_t last = high ? *high : std::max(kMaxFree, low.value_or(0));
  RangeBuilder builder(ast);
  std::vector<ExprId> signs;
  if (first < 0) {
    // Negative numbers by their magnitude, from the one nearest to 0; "-0" is left out.
    const int64_t nearest = last < 0 ? -last : 1;
    signs.push_back(ast.sequence({ast.text("-"), builder.build(nearest, -first)}));
  }
  if (last >= 0) signs.push_back(builder.build(std::max<int64_t>(first, 0), last));
  return ast.choice(std::move(signs));
}

}  // namespace quern
