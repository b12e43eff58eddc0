// Grammars and schemas against the cases of an established engine: what must match and what not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "text/grammar/grammar.h"
#include "text/grammar/json_schema.h"

namespace quern {
namespace {

// By the kind that the case names.
Result<Grammar> grammar_of(const std::string& kind, const std::string& source) {
  if (kind == "grammar") return Grammar::parse(source);
  QUERN_ASSIGN_OR_RETURN(SchemaGrammar schema, grammar_from_json_schema(source));
  return schema.grammar;
}

// Each case has a name, a kind ("grammar" or a schema), the source, and lists "passing" and
// "failing".
TEST(GrammarSuite, EveryCaseMatchesOrFailsAsStated) {
  const std::string path = std::string(QUERN_SUITES_DIR) + "/grammar/llamacpp_cases.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "No suite at " << path;
  std::ifstream file(path);
  const nlohmann::json cases = nlohmann::json::parse(file);
  size_t num_texts = 0;
  for (const auto& entry : cases) {
    const auto grammar = grammar_of(entry["kind"], entry["grammar"]);
    ASSERT_TRUE(grammar) << entry["name"] << ": " << grammar.error().message;
    for (const char* outcome : {"passing", "failing"}) {
      for (const auto& text : entry[outcome]) {
        const auto matches = grammar->matches(text.get<std::string>());
        ASSERT_TRUE(matches) << matches.error().message;
        EXPECT_EQ(*matches, std::string(outcome) == "passing")
            << entry["name"] << ", " << outcome << ": " << text;
        ++num_texts;
      }
    }
  }
  EXPECT_GT(num_texts, 200U);
}

}  // namespace
}  // namespace quern
