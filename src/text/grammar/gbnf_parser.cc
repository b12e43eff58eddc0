// A recursive-descent parser; depth is limited because the file is not trusted.
#include "text/grammar/gbnf_parser.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/fail.h"
#include "text/utf8.h"

namespace quern {
namespace {

// Letters, digits, '-' and '_', as llama.cpp's grammars use them.
bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// -1 for what is no digit.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

//   grammar    = rule*                 rule    = name "::=" alternates line-break
//   alternates = sequence ("|" sequence)*      sequence = (part repeat*)*
//   part       = "text" | [class] | . | name | ( alternates )
//   repeat     = * | + | ? | {m} | {m,} | {m,n}
// Recursive descent over the text. Errors have line and column. One text each.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  // The whole grammar; rules may be used before they are defined.
  Result<GrammarAst> run() {
    skip_space(true);
    while (!at_end()) {
      QUERN_TRY(parse_rule());
      if (rules_.size() > kMaxGrammarRules) {
        return fail_at(position_, "The grammar has over {} rules", kMaxGrammarRules);
      }
    }
    for (const auto& [name, rule] : rules_) {
      if (rule.is_defined) continue;
      return fail_at(rule.first_use, "The rule '{}' is not defined", name);
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) return fail::invalid("The grammar has no rule 'root'.");
    ast_.set_root(root->second.id);
    return std::move(ast_);
  }

 private:
  // Where a rule was first named, for errors about those never defined.
  struct NamedRule {
    RuleId id;
    size_t first_use;
    bool is_defined = false;
  };

  bool at_end() const { return position_ >= text_.size(); }
  // 0 at the end.
  char peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  // Moves behind `c`, if it is next.
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++position_;
    return true;
  }

  // An error at the current place.
  template <class... Args>
  tl::unexpected<Error> fail_at(size_t position, fmt::format_string<Args...> text,
                                Args&&... args) const {
    const std::string_view before = text_.substr(0, position);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t newline = before.rfind('\n');
    const size_t column = newline == std::string_view::npos ? position + 1 : position - newline;
    return fail::invalid("{} (line {}, column {} of the grammar).",
                         fmt::format(text, std::forward<Args>(args)...), line, column);
  }

  // Spaces and comments; line breaks only where a rule goes on.
  void skip_space(bool over_lines) {
    while (!at_end()) {
      const char c = peek();
      if (c == '#') {
        while (!at_end() && peek() != '\n' && peek() != '\r') ++position_;
      } else if (c == ' ' || c == '\t' || (over_lines && (c == '\n' || c == '\r'))) {
        ++position_;
      } else {
        return;
      }
    }
  }

  // Alternates may go on in the next line if that begins with '|'.
  void skip_to_bar(bool is_nested) {
    skip_space(is_nested);
    // A line that does not begin with '|' is the next rule: the line break must not be taken.
    const size_t before = position_;
    skip_space(true);
    if (peek() != '|') position_ = before;
  }

  // Errors: no name here.
  Result<std::string> parse_name() {
    const size_t begin = position_;
    while (!at_end() && is_name_char(peek())) ++position_;
    if (position_ == begin) return fail_at(begin, "A rule name is expected");
    return std::string(text_.substr(begin, position_ - begin));
  }

  // The rule of this name, declared where it is new.
  NamedRule& find_rule(const std::string& name, size_t position) {
    const auto found = rules_.find(name);
    if (found != rules_.end()) return found->second;
    return rules_.emplace(name, NamedRule{ast_.declare(name), position}).first->second;
  }

  // name ::= alternates
  Result<void> parse_rule() {
    const size_t begin = position_;
    QUERN_ASSIGN_OR_RETURN(const std::string name, parse_name());
    skip_space(false);
    if (text_.substr(position_, 3) != "::=") {
      return fail_at(position_, "'::=' is expected after the rule name '{}'", name);
    }
    position_ += 3;
    skip_space(true);
    NamedRule& rule = find_rule(name, begin);
    if (rule.is_defined) return fail_at(begin, "The rule '{}' is defined twice", name);
    rule.is_defined = true;
    const RuleId id = rule.id;
    QUERN_ASSIGN_OR_RETURN(const ExprId body, parse_alternates(0));
    ast_.define(id, body);
    if (!at_end() && peek() != '\n' && peek() != '\r') {
      return fail_at(position_, "The character '{}' does not fit here", shown_char());
    }
    skip_space(true);
    return {};
  }

  // For errors: the character, or what is there instead.
  std::string shown_char() const {
    const Utf8Step step = decode_utf8(text_.substr(position_));
    return replace_invalid_utf8(text_.substr(position_, step.size));
  }

  // a | b | c
  Result<ExprId> parse_alternates(int depth) {
    std::vector<ExprId> alternates;
    while (true) {
      QUERN_ASSIGN_OR_RETURN(const ExprId sequence, parse_sequence(depth));
      alternates.push_back(sequence);
      skip_to_bar(depth > 0);
      if (!take('|')) break;
      skip_space(true);
    }
    return ast_.choice(std::move(alternates));
  }

  // Parts up to a '|', a ')' or the end of the rule.
  Result<ExprId> parse_sequence(int depth) {
    std::vector<ExprId> items;
    while (!at_end()) {
      const char c = peek();
      if (c == '|' || c == ')' || c == '\n' || c == '\r') break;
      QUERN_ASSIGN_OR_RETURN(ExprId item, parse_part(depth));
      QUERN_ASSIGN_OR_RETURN(item, parse_repeats(item));
      items.push_back(item);
      if (ast_.exprs().size() > kMaxGrammarExprs) {
        return fail_at(position_, "The grammar has over {} parts", kMaxGrammarExprs);
      }
      skip_space(depth > 0);
    }
    // An alternative without parts is the empty text: "root ::= "a" |".
    return items.empty() ? ast_.text("") : ast_.sequence(std::move(items));
  }

  // A literal, a class, a name, a group, and its repetition.
  Result<ExprId> parse_part(int depth) {
    const size_t begin = position_;
    if (take('"')) return parse_literal(begin);
    if (take('[')) return parse_class(begin);
    if (take('.')) return ast_.char_class({{0, kMaxCodePoint}});
    if (take('(')) {
      if (depth >= kMaxGrammarDepth) {
        return fail_at(begin, "Groups are nested over {} deep", kMaxGrammarDepth);
      }
      skip_space(true);
      QUERN_ASSIGN_OR_RETURN(const ExprId group, parse_alternates(depth + 1));
      if (!take(')')) return fail_at(begin, "The group is not closed");
      return group;
    }
    if (is_name_char(peek())) {
      QUERN_ASSIGN_OR_RETURN(const std::string name, parse_name());
      return ast_.rule(find_rule(name, begin).id);
    }
    return fail_at(begin, "The character '{}' does not fit here", shown_char());
  }

  // "text", with escapes.
  Result<ExprId> parse_literal(size_t begin) {
    std::string literal;
    while (!take('"')) {
      if (at_end()) return fail_at(begin, "The text in quotes is not closed");
      QUERN_ASSIGN_OR_RETURN(const uint32_t code_point, parse_char());
      append_utf8(code_point, literal);
    }
    return ast_.text(literal);
  }

  // [a-z] or [^a-z].
  Result<ExprId> parse_class(size_t begin) {
    const bool is_negated = take('^');
    std::vector<CodeRange> ranges;
    while (!take(']')) {
      if (at_end()) return fail_at(begin, "The character class is not closed");
      const size_t range_begin = position_;
      QUERN_ASSIGN_OR_RETURN(const uint32_t first, parse_char());
      uint32_t last = first;
      // A minus sign at the end of a class is itself: [+-].
      if (peek() == '-' && peek(1) != ']' && peek(1) != '\0') {
        ++position_;
        QUERN_ASSIGN_OR_RETURN(last, parse_char());
      }
      if (first > last) return fail_at(range_begin, "The range ends before it begins");
      ranges.push_back({first, last});
    }
    CodeSet set = make_code_set(std::move(ranges));
    if (is_negated) set = complement(set);
    if (set.empty()) return fail_at(begin, "The character class is empty");
    return ast_.char_class(std::move(set));
  }

  // One code point of a literal or class.
  Result<uint32_t> parse_char() {
    if (peek() == '\\') return parse_escape();
    const Utf8Step step = decode_utf8(text_.substr(position_));
    if (step.status != Utf8Status::kValid) return fail_at(position_, "The text is not UTF-8");
    position_ += step.size;
    return step.code_point;
  }

  // \n, \x41, \u0041, \U00000041 and escaped signs.
  Result<uint32_t> parse_escape() {
    const size_t begin = position_;
    const char c = peek(1);
    position_ += 2;
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'x':
        return parse_hex(begin, 2);
      case 'u':
        return parse_hex(begin, 4);
      case 'U':
        return parse_hex(begin, 8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
      case '/':
        return static_cast<uint32_t>(c);
      default:
        return fail_at(begin, "The escape is not known");
    }
  }

  // Errors: fewer digits, or no code point.
  Result<uint32_t> parse_hex(size_t begin, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i, ++position_) {
      const int digit = hex_value(peek());
      if (digit < 0) return fail_at(begin, "The escape needs {} hexadecimal digits", count);
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    if (value > kMaxCodePoint || (value >= 0xD800 && value <= 0xDFFF)) {
      return fail_at(begin, "The escape is no Unicode character");
    }
    return value;
  }

  // *, +, ? and {m,n}, as many as stand there.
  Result<ExprId> parse_repeats(ExprId item) {
    for (int count = 0; !at_end(); ++count) {
      const size_t begin = position_;
      if (take('*')) {
        item = ast_.repeat(item, 0, kUnbounded);
      } else if (take('+')) {
        item = ast_.repeat(item, 1, kUnbounded);
      } else if (take('?')) {
        item = ast_.repeat(item, 0, 1);
      } else if (take('{')) {
        QUERN_ASSIGN_OR_RETURN(item, parse_bounds(item, begin));
      } else {
        break;
      }
      // Each wraps the item once more, and later walks recurse over them: ((a*)*)*.
      if (count >= kMaxGrammarDepth) return fail_at(begin, "Too many repetitions of one part");
      skip_space(false);
    }
    return item;
  }

  // {m}, {m,} or {m,n}.
  Result<ExprId> parse_bounds(ExprId item, size_t begin) {
    skip_space(false);
    QUERN_ASSIGN_OR_RETURN(const uint32_t min, parse_count());
    uint32_t max = min;
    skip_space(false);
    if (take(',')) {
      skip_space(false);
      max = kUnbounded;
      if (peek() != '}') {
        QUERN_ASSIGN_OR_RETURN(max, parse_count());
      }
      skip_space(false);
    }
    if (!take('}'))
      return fail_at(begin, "The repetition is not of the form {{m}}, {{m,}}, {{m,n}}");
    if (max < min) return fail_at(begin, "The repetition ends below its begin");
    return ast_.repeat(item, min, max);
  }

  // Errors: a number past the limit.
  Result<uint32_t> parse_count() {
    const size_t begin = position_;
    uint32_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + static_cast<uint32_t>(peek() - '0');
      ++position_;
      if (value > kMaxGrammarRepeats) {
        return fail_at(begin, "The repetition is over the limit of {}", kMaxGrammarRepeats);
      }
    }
    if (position_ == begin) return fail_at(begin, "A number is expected");
    return value;
  }

  std::string_view text_;
  size_t position_ = 0;
  GrammarAst ast_;
  std::map<std::string, NamedRule> rules_;
};

}  // namespace

// Errors: kInvalidArgument with line and column; kResourceExhausted past the limits.
Result<GrammarAst> parse_gbnf(std::string_view text) {
  if (text.size() > kMaxGrammarBytes) {
    return fail::invalid("The grammar has {} bytes; the limit is {}.", text.size(),
                         kMaxGrammarBytes);
  }
  QUERN_ASSIGN_OR_RETURN(GrammarAst ast, Parser(text).run());
  QUERN_TRY(check_grammar(ast));
  return ast;
}

}  // namespace quern
