// Tables of templates and what they render to: one row per behaviour. The rows are made with
// tests/data/jinja/oracle.py, which asks jinja2; rows where this engine means to differ say why.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/chat_template.h"

namespace quern::test {

// A template or expression, and its text.
struct RenderCase {
  std::string_view source;
  std::string_view expected;
};

// The variables that every row sees; the oracle reads the same file.
inline const nlohmann::ordered_json& table_context() {
  static const auto context = [] {
    std::ifstream file(std::string(QUERN_TEST_DATA_DIR) + "/jinja/table_context.json");
    return nlohmann::ordered_json::parse(file, nullptr, false);
  }();
  return context;
}

inline Result<std::string> render_source(std::string_view source) {
  auto chat_template = ChatTemplate::parse(source);
  if (!chat_template) return tl::unexpected(chat_template.error());
  ChatInputs inputs;
  inputs.extra = table_context();
  return chat_template->render(inputs);
}

// Whole templates.
inline void expect_templates(std::initializer_list<RenderCase> cases) {
  for (const RenderCase& test : cases) {
    const auto text = render_source(test.source);
    if (!text) {
      ADD_FAILURE() << test.source << "\n  " << text.error().message;
      // The other rows are still of interest.
      continue;
    }
    EXPECT_EQ(*text, test.expected) << test.source;
  }
}

// Expressions, each in a template of its own.
inline void expect_values(std::initializer_list<RenderCase> cases) {
  for (const RenderCase& test : cases) {
    const std::string source = "{{ " + std::string(test.source) + " }}";
    expect_templates({{source, test.expected}});
  }
}

// Refused, with a place in the message and never as a defect of the engine.
inline void expect_refused_templates(std::initializer_list<std::string_view> sources) {
  for (const std::string_view source : sources) {
    const auto text = render_source(source);
    if (text) {
      ADD_FAILURE() << source << "\n  gives: " << *text;
      continue;
    }
    // Who writes a template finds the place; kInternal would be our own mistake.
    EXPECT_EQ(text.error().message.find("Chat template, line "), 0u) << text.error().message;
    EXPECT_NE(text.error().code, ErrorCode::kInternal) << source;
  }
}

inline void expect_refused(std::initializer_list<std::string_view> expressions) {
  for (const std::string_view expression : expressions) {
    const std::string source = "{{ " + std::string(expression) + " }}";
    expect_refused_templates({source});
  }
}

}  // namespace quern::test
