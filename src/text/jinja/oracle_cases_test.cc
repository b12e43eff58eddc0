// Snippets of every feature against what jinja2 3.1.6 made of them, with the settings, filters and
// functions of transformers (trim_blocks, lstrip_blocks, loop controls, the immutable sandbox).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "text/chat_template.h"

namespace quern {
namespace {

using Json = nlohmann::ordered_json;

// A file of cases that Jinja rendered.
Json read_cases(const std::string& name) {
  std::ifstream file(std::string(QUERN_TEST_DATA_DIR) + "/jinja/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  return Json::parse(file, nullptr, false);
}

// With the variables of the case.
Result<std::string> render(const std::string& source, const Json& context) {
  auto chat_template = ChatTemplate::parse(source);
  if (!chat_template) return tl::unexpected(chat_template.error());
  ChatInputs inputs;
  if (context.contains("messages")) inputs.messages = context["messages"];
  inputs.tools = std::nullopt;
  inputs.documents = std::nullopt;
  inputs.extra = context;
  inputs.time = jinja::CivilTime{2025, 2, 3, 14, 5, 9};
  return chat_template->render(inputs);
}

// Errors need not say what Python says, but for undefined values and raise_exception.
void expect_error(const Json& test, const Result<std::string>& text) {
  const std::string source = test["template"];
  ASSERT_FALSE(text) << source << "\n gives: " << *text;
  const std::string kind = test["error"];
  if (kind == "UndefinedError" || kind == "TemplateError") {
    EXPECT_NE(text.error().message.find(test["says"].get<std::string>()), std::string::npos)
        << source << "\n  " << text.error().message << "\n  " << test["says"];
  }
  EXPECT_EQ(text.error().message.find("Chat template, line "), 0u) << text.error().message;
}

// A file: "context" for all cases, and "cases", each with its template, its "expected" text or the
// "error" of Python with what it "says", and, where it needs one, a context of its own.
// All cases of a file, of which there must be enough.
void run_cases(const std::string& name, size_t least) {
  const Json data = read_cases(name);
  ASSERT_TRUE(data.is_object());
  EXPECT_GE(data["cases"].size(), least);
  for (const Json& test : data["cases"]) {
    const std::string source = test["template"];
    const auto text = render(source, test.value("context", data["context"]));
    if (test.contains("error")) {
      expect_error(test, text);
      continue;
    }
    if (!text) {
      ADD_FAILURE() << source << "\n  " << text.error().message;
      continue;
    }
    EXPECT_EQ(*text, test["expected"].get<std::string>()) << source;
  }
}

TEST(JinjaOracle, SnippetsRenderAsJinja2Does) {
  run_cases("snippets.json", 400);
}

}  // namespace
}  // namespace quern
