// A recursive-descent parser that writes each character as JSON does.
#include "text/grammar/string_pattern.h"

#include <optional>

#include "base/fail.h"
#include "text/grammar/gbnf_parser.h"
#include "text/utf8.h"

namespace quern {
namespace {

// Of groups within groups.
constexpr int kMaxPatternDepth = 64;
// Of one repetition.
constexpr uint32_t kMaxPatternRepeats = 10'000;
// Signs that may be escaped.
constexpr std::string_view kPunctuation = "^$\\.*+?()[]{}|/-\"'!#%&,:;<=>@_`~ ";

// \d and \w in ASCII, \s with the spaces and line ends of Unicode, as ECMA-262 has them.
CodeSet digit_chars() {
  return {{'0', '9'}};
}
CodeSet word_chars() {
  return make_code_set({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
}
CodeSet space_chars() {
  return make_code_set({{'\t', '\r'},
                        {' ', ' '},
                        {0xA0, 0xA0},
                        {0x1680, 0x1680},
                        {0x2000, 0x200A},
                        {0x2028, 0x2029},
                        {0x202F, 0x202F},
                        {0x205F, 0x205F},
                        {0x3000, 0x3000},
                        {0xFEFF, 0xFEFF}});
}
// '.' matches all but line breaks.
CodeSet dot_chars() {
  return complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
}

// \d, \w, \s and their opposites.
std::optional<CodeSet> class_escape(char c) {
  switch (c) {
    case 'd':
      return digit_chars();
    case 'D':
      return complement(digit_chars());
    case 'w':
      return word_chars();
    case 'W':
      return complement(word_chars());
    case 's':
      return space_chars();
    case 'S':
      return complement(space_chars());
    default:
      return std::nullopt;
  }
}

// A subset of ECMA-262's regular expressions, over the characters of a JSON string. One pattern
// each.
class PatternParser {
 public:
  // Borrows all three.
  PatternParser(GrammarAst& ast, JsonRules& rules, std::string_view text)
      : ast_(ast), rules_(rules), text_(text) {}

  // Anchors belong to the alternative that they stand in.
  Result<ExprId> run() {
    std::vector<ExprId> alternates;
    do {
      const ExprId anything = ast_.repeat(rules_.string_char(), 0, kUnbounded);
      std::vector<ExprId> parts;
      if (!take('^')) parts.push_back(anything);
      QUERN_ASSIGN_OR_RETURN(const ExprId sequence, parse_sequence(0));
      parts.push_back(sequence);
      if (!take('$')) parts.push_back(anything);
      alternates.push_back(ast_.sequence(std::move(parts)));
    } while (take('|'));
    if (!at_end()) return unfit();
    return ast_.sequence({ast_.text("\""), ast_.choice(std::move(alternates)), ast_.text("\"")});
  }

 private:
  // Helpers of the descent, as in gbnf_parser.cc.
  bool at_end() const { return position_ >= text_.size(); }
  char peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++position_;
    return true;
  }
  // Errors with the place in the pattern.
  tl::unexpected<Error> unfit() const {
    return fail::invalid("The pattern '{}' is wrong at byte {}.", text_, position_);
  }
  tl::unexpected<Error> unknown(std::string_view what) const {
    return fail::unimplemented("The pattern '{}' has {} at byte {}, which grammars cannot hold.",
                               text_, what, position_);
  }

  // a | b | c
  Result<ExprId> parse_alternates(int depth) {
    std::vector<ExprId> alternates;
    do {
      QUERN_ASSIGN_OR_RETURN(const ExprId sequence, parse_sequence(depth));
      alternates.push_back(sequence);
    } while (take('|'));
    return ast_.choice(std::move(alternates));
  }

  // Parts up to '|', ')' or '$'.
  Result<ExprId> parse_sequence(int depth) {
    std::vector<ExprId> items;
    while (!at_end() && peek() != '|' && peek() != ')' && peek() != '$') {
      QUERN_ASSIGN_OR_RETURN(ExprId item, parse_part(depth));
      QUERN_ASSIGN_OR_RETURN(item, parse_repeat(item));
      items.push_back(item);
      if (ast_.exprs().size() > kMaxGrammarExprs) {
        return fail::invalid("The schema needs over {} parts of grammar.", kMaxGrammarExprs);
      }
    }
    if (depth > 0 && peek() == '$') return unknown("an anchor inside a group");
    return items.empty() ? ast_.text("") : ast_.sequence(std::move(items));
  }

  // A character, class or group with its repetition.
  Result<ExprId> parse_part(int depth) {
    switch (peek()) {
      case '^':
        return unknown("an anchor inside");
      case '(':
        return parse_group(depth);
      case '[': {
        QUERN_ASSIGN_OR_RETURN(const CodeSet set, parse_class());
        return rules_.char_of(set);
      }
      case '.':
        ++position_;
        return rules_.char_of(dot_chars());
      case '*':
      case '+':
      case '?':
      case '{':
        return unfit();
      default: {
        QUERN_ASSIGN_OR_RETURN(const CodeSet set, parse_char());
        return rules_.char_of(set);
      }
    }
  }

  // (...), (?:...); others are refused.
  Result<ExprId> parse_group(int depth) {
    if (depth >= kMaxPatternDepth) return unfit();
    if (peek(1) == '?' && peek(2) != ':') return unknown("a group of a special kind");
    position_ += peek(1) == '?' ? 3 : 1;
    QUERN_ASSIGN_OR_RETURN(const ExprId group, parse_alternates(depth + 1));
    if (!take(')')) return unfit();
    return group;
  }

  // One character or class escape.
  Result<CodeSet> parse_char() {
    if (peek() == '\\') {
      if (auto set = class_escape(peek(1))) {
        position_ += 2;
        return *set;
      }
      QUERN_ASSIGN_OR_RETURN(const uint32_t c, parse_escape());
      return CodeSet{{c, c}};
    }
    const Utf8Step step = decode_utf8(text_.substr(position_));
    if (step.status != Utf8Status::kValid) return unfit();
    position_ += step.size;
    return CodeSet{{step.code_point, step.code_point}};
  }

  // A character behind a backslash.
  Result<uint32_t> parse_escape() {
    const char c = peek(1);
    if (c != '\0' && kPunctuation.find(c) != std::string_view::npos) {
      position_ += 2;
      return static_cast<uint32_t>(c);
    }
    constexpr std::string_view kLetters = "nrtfv0";
    constexpr std::string_view kControls{"\n\r\t\f\v\0", 6};
    const size_t letter = c == '\0' ? std::string_view::npos : kLetters.find(c);
    if (letter != std::string_view::npos) {
      position_ += 2;
      return static_cast<uint32_t>(kControls[letter]);
    }
    if (c == 'x') return parse_hex(2);
    if (c == 'u') return parse_hex(4);
    if (c == '\0') return unfit();
    return unknown(fmt::format("the escape \\{}", c));
  }

  // \x41, \u0041.
  Result<uint32_t> parse_hex(int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i) {
      const char c = peek(2 + static_cast<size_t>(i));
      const std::string_view kDigits = "0123456789abcdef0123456789ABCDEF";
      const size_t digit = c == '\0' ? std::string_view::npos : kDigits.find(c);
      if (digit == std::string_view::npos) return unfit();
      value = value * 16 + static_cast<uint32_t>(digit % 16);
    }
    if (value >= 0xD800 && value <= 0xDFFF) return unknown("a surrogate");
    position_ += 2 + static_cast<size_t>(count);
    return value;
  }

  // [a-z], [^a-z].
  Result<CodeSet> parse_class() {
    ++position_;
    const bool is_negated = take('^');
    std::vector<CodeRange> ranges;
    while (!take(']')) {
      if (at_end()) return unfit();
      QUERN_ASSIGN_OR_RETURN(CodeSet set, parse_char());
      const bool is_single = set.size() == 1 && set[0].first == set[0].last;
      if (is_single && peek() == '-' && peek(1) != ']' && peek(1) != '\0') {
        ++position_;
        QUERN_ASSIGN_OR_RETURN(const CodeSet last, parse_char());
        if (last.size() != 1 || last[0].last < set[0].first) return unfit();
        set[0].last = last[0].last;
      }
      ranges.insert(ranges.end(), set.begin(), set.end());
    }
    CodeSet set = make_code_set(std::move(ranges));
    if (is_negated) set = complement(set);
    if (difference(set, {{0xD800, 0xDFFF}}).empty()) return unfit();
    return set;
  }

  // A '?' behind a repetition changes what is tried first, not what matches.
  Result<ExprId> parse_repeat(ExprId item) {
    if (take('*')) {
      item = ast_.repeat(item, 0, kUnbounded);
    } else if (take('+')) {
      item = ast_.repeat(item, 1, kUnbounded);
    } else if (take('?')) {
      item = ast_.repeat(item, 0, 1);
    } else if (take('{')) {
      QUERN_ASSIGN_OR_RETURN(item, parse_bounds(item));
    } else {
      return item;
    }
    take('?');
    return item;
  }

  // {m}, {m,}, {m,n}.
  Result<ExprId> parse_bounds(ExprId item) {
    QUERN_ASSIGN_OR_RETURN(const uint32_t min, parse_count());
    uint32_t max = min;
    if (take(',')) {
      max = kUnbounded;
      if (peek() != '}') {
        QUERN_ASSIGN_OR_RETURN(max, parse_count());
      }
    }
    if (!take('}') || max < min) return unfit();
    return ast_.repeat(item, min, max);
  }

  // Errors: past the limit.
  Result<uint32_t> parse_count() {
    const size_t begin = position_;
    uint32_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + static_cast<uint32_t>(peek() - '0');
      ++position_;
      if (value > kMaxPatternRepeats) {
        return fail::invalid("The pattern '{}' repeats over {} times.", text_, kMaxPatternRepeats);
      }
    }
    if (position_ == begin) return unfit();
    return value;
  }

  GrammarAst& ast_;
  JsonRules& rules_;
  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

// Without anchors a pattern may match anywhere, as JSON Schema has it.
Result<ExprId> string_pattern(GrammarAst& ast, JsonRules& rules, std::string_view pattern) {
  return PatternParser(ast, rules, pattern).run();
}

}  // namespace quern
