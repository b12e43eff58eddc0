// Random regular expressions as GBNF and as patterns of JSON schemas, against std::regex: every
// text over a small alphabet.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "text/grammar/grammar.h"
#include "text/grammar/json_schema.h"

namespace quern {
namespace {

// The same language in both notations.
struct Expression {
  std::string gbnf;
  std::string regex;
};

// Depth 3 nests up to three joins or repetitions; groups stand around everything, as the notations
// differ in priorities. {0} and {1,} are among the signs for the edges of counting.
// Makes random expressions in both notations at once.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Expression expression(int depth) {
    switch (depth == 0 ? random_() % 3 : random_() % 7) {
      case 0:
        return letter();
      case 1:
        return {"[ab]", "[ab]"};
      case 2:
        return {"[^a]", "[^a]"};
      case 3:
        return joined(expression(depth - 1), expression(depth - 1), " ", "");
      case 4:
        return joined(expression(depth - 1), expression(depth - 1), " | ", "|");
      default:
        return repeated(expression(depth - 1));
    }
  }

 private:
  Expression letter() {
    const std::string c(1, "abc"[random_() % 3]);
    return {"\"" + c + "\"", c};
  }
  static Expression joined(const Expression& a, const Expression& b, const std::string& gbnf_sign,
                           const std::string& regex_sign) {
    return {"(" + a.gbnf + gbnf_sign + b.gbnf + ")", "(?:" + a.regex + regex_sign + b.regex + ")"};
  }
  Expression repeated(const Expression& a) {
    constexpr const char* kSigns[] = {"*", "+", "?", "{2}", "{1,2}", "{0,3}", "{1,}", "{0}"};
    const std::string sign = kSigns[random_() % std::size(kSigns)];
    return {"(" + a.gbnf + ")" + sign, "(?:" + a.regex + ")" + sign};
  }

  std::mt19937 random_;
};

// 364 of them: 1 + 3 + 9 + 27 + 81 + 243. c is a letter that [ab] refuses and [^a] takes.
// All texts over a, b, c of up to five letters.
std::vector<std::string> all_texts() {
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size() && texts[i].size() < 5; ++i) {
    for (const char c : {'a', 'b', 'c'}) texts.push_back(texts[i] + c);
  }
  return texts;
}

// Random expressions and texts; std::regex decides.
TEST(RegularLanguage, GbnfMatchesWhatTheRegularExpressionMatches) {
  const std::vector<std::string> texts = all_texts();
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Expression e = Generator(seed).expression(3);
    const auto grammar = Grammar::parse("root ::= " + e.gbnf);
    ASSERT_TRUE(grammar) << e.gbnf << ": " << grammar.error().message;
    const std::regex regex(e.regex);
    for (const std::string& text : texts) {
      ASSERT_EQ(*grammar->matches(text), std::regex_match(text, regex)) << e.gbnf << ": " << text;
    }
  }
}

// The same through a JSON schema, where a pattern without anchors may match anywhere.
TEST(RegularLanguage, SchemaPatternsSearchOrMatchByTheirAnchors) {
  const std::vector<std::string> texts = all_texts();
  for (uint32_t seed = 0; seed < 80; ++seed) {
    const std::string body = Generator(seed + 1000).expression(2).regex;
    for (const std::string& pattern : {body, "^" + body, body + "$", "^" + body + "$"}) {
      const nlohmann::json schema = {{"type", "string"}, {"pattern", pattern}};
      const auto grammar = grammar_from_json_schema(schema.dump());
      ASSERT_TRUE(grammar) << pattern << ": " << grammar.error().message;
      const std::regex regex(pattern);
      // Every third is enough here: the language is that of the test above.
      for (size_t i = 0; i < texts.size(); i += 3) {
        ASSERT_EQ(*grammar->grammar.matches("\"" + texts[i] + "\""),
                  std::regex_search(texts[i], regex))
            << pattern << ": " << texts[i];
      }
    }
  }
}

// Rules instead of groups do not change the language.
TEST(RegularLanguage, RulesAreGroups) {
  const std::vector<std::string> texts = all_texts();
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Generator generator(seed + 2000);
    const Expression a = generator.expression(2);
    const Expression b = generator.expression(2);
    const auto inlined =
        Grammar::parse("root ::= (" + a.gbnf + ") (" + b.gbnf + ")* | (" + b.gbnf + ")");
    const auto named = Grammar::parse("root ::= x y* | y\nx ::= " + a.gbnf + "\ny ::= " + b.gbnf);
    ASSERT_TRUE(inlined && named);
    for (const std::string& text : texts) {
      ASSERT_EQ(*inlined->matches(text), *named->matches(text)) << a.gbnf << b.gbnf << text;
    }
  }
}

}  // namespace
}  // namespace quern
