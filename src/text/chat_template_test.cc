// Whole conversations through templates of real models.
#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace quern {
namespace {

using Json = nlohmann::ordered_json;

// A file of the test data.
std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Parses and renders at once.
Result<std::string> render(const std::string& source, const ChatInputs& inputs) {
  auto chat_template = ChatTemplate::parse(source);
  if (!chat_template) return tl::unexpected(chat_template.error());
  return chat_template->render(inputs);
}

// expected.json: "expected" maps "FILE|CONTEXT" to Python's text, or to {"error": ...} where Python
// refuses; "contexts" holds the conversations. Tools and documents are undefined, not None, as the
// templates were rendered without them.
TEST(ChatTemplate, RealTemplatesRenderAsJinja2Does) {
  const std::string folder = std::string(QUERN_SUITES_DIR) + "/chat_templates/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const Json suite = Json::parse(read_text(folder + "expected.json"));
  size_t num_cases = 0;
  for (const auto& [name, expected] : suite["expected"].items()) {
    const size_t bar = name.find('|');
    ChatInputs inputs;
    inputs.messages = suite["contexts"][name.substr(bar + 1)]["messages"];
    inputs.tools = std::nullopt;
    inputs.documents = std::nullopt;
    inputs.bos_token = "<s>";
    inputs.eos_token = "</s>";
    const auto text = render(read_text(folder + name.substr(0, bar)), inputs);
    ++num_cases;
    if (expected.is_object()) {
      ASSERT_FALSE(text) << name;
      EXPECT_NE(text.error().message.find(expected["error"].get<std::string>()), std::string::npos)
          << text.error().message;
      continue;
    }
    ASSERT_TRUE(text) << name << ": " << text.error().message;
    EXPECT_EQ(*text, expected.get<std::string>()) << name;
  }
  EXPECT_GE(num_cases, 25u);
}

// Conversations with tool calls, results, content in parts and thoughts.
TEST(ChatTemplate, RealTemplatesRenderToolsAsJinja2Does) {
  const std::string folder = std::string(QUERN_SUITES_DIR) + "/chat_templates/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const Json data =
      Json::parse(read_text(std::string(QUERN_TEST_DATA_DIR) + "/jinja/conversations.json"));
  EXPECT_GE(data["expected"].size(), 70u);
  for (const auto& [name, expected] : data["expected"].items()) {
    const size_t bar = name.find('|');
    ChatInputs inputs;
    inputs.extra = data["contexts"][name.substr(bar + 1)];
    inputs.bos_token = "<s>";
    inputs.eos_token = "</s>";
    const auto text = render(read_text(folder + name.substr(0, bar)), inputs);
    if (expected.is_object()) {
      EXPECT_FALSE(text) << name << " gives " << *text;
      continue;
    }
    ASSERT_TRUE(text) << name << ": " << text.error().message;
    EXPECT_EQ(*text, expected.get<std::string>()) << name;
  }
}

// The template as the model's file has it.
std::string smollm2_source() {
  return read_text(std::string(QUERN_TEST_DATA_DIR) + "/jinja/smollm2.jinja");
}

// A model's answers change with every character of its prompt, so the whole text counts.
TEST(ChatTemplate, SmolLM2GetsItsDefaultSystemMessage) {
  ChatInputs inputs;
  inputs.messages = Json::parse(R"([{"role": "user", "content": "What is 2+2?"}])");
  const auto text = render(smollm2_source(), inputs);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text,
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
            "Face<|im_end|>\n<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n");
}

// Such a text is for training or for measuring; the system message given takes the default's place.
TEST(ChatTemplate, NoGenerationPromptEndsWithTheLastMessage) {
  ChatInputs inputs;
  inputs.messages = Json::parse(R"([{"role": "system", "content": "Be brief."},
                                    {"role": "user", "content": "Hi"},
                                    {"role": "assistant", "content": "Hello!"}])");
  inputs.add_generation_prompt = false;
  const auto text = render(smollm2_source(), inputs);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text,
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\nHello!<|im_end|>\n");
}

// Python's True and None, not JSON's; no tools are None until they are left undefined. JSON keeps
// the order of its keys, and `extra` goes before what has a field of its own.
TEST(ChatTemplate, InputsAreVariables) {
  ChatInputs inputs;
  inputs.bos_token = "<s>";
  inputs.eos_token = "</s>";
  EXPECT_EQ(*render("{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}", inputs),
            "<s></s>True");
  EXPECT_EQ(*render("{{ tools }} {{ documents }} {{ messages }}", inputs), "None None []");
  inputs.tools = std::nullopt;
  EXPECT_EQ(*render("{{ tools is defined }}", inputs), "False");
  inputs.tools = Json::parse(R"([{"b": 1, "a": [true, null, 1.0]}])");
  EXPECT_EQ(*render("{{ tools | tojson }}", inputs), R"([{"b": 1, "a": [true, null, 1.0]}])");
  inputs.extra = {{"enable_thinking", false}, {"bos_token", "<other>"}};
  EXPECT_EQ(*render("{{ enable_thinking }}{{ bos_token }}", inputs), "False<other>");
}

// Without a time there is no function, so a template cannot make output depend on the real clock.
TEST(ChatTemplate, TheClockIsAnInput) {
  ChatInputs inputs;
  const std::string source =
      "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% else %}none{% endif %}";
  EXPECT_EQ(*render(source, inputs), "none");
  inputs.time = jinja::CivilTime{2024, 7, 26, 0, 0, 0};
  EXPECT_EQ(*render(source, inputs), "26 Jul 2024");
}

// The column is that of the call behind "{{ ", counted from 1.
TEST(ChatTemplate, ARefusalHasItsPlaceAndWords) {
  const auto text =
      render("line one\n  {{ raise_exception('Only user messages, please') }}", ChatInputs());
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(text.error().message, "Chat template, line 2, column 6: Only user messages, please.");
}

// The sum begins at the 13th character of its line, which is the 18th byte.
TEST(ChatTemplate, ColumnsCountCharacters) {
  const auto text = render("é\n日本{{ 'ü' ~ (1 + none) }}", ChatInputs());
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message,
            "Chat template, line 2, column 13: '+' does not work between the types 'int' and "
            "'NoneType'.");
}

// The place is where the block's end was wanted. Other templates cannot be read from one string, so
// include is refused as such and not as bad syntax.
TEST(ChatTemplate, MalformedSourceSaysWhatIsMissing) {
  const auto text = ChatTemplate::parse("{% for m in messages %}\n{{ m }}");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(text.error().message,
            "Chat template, line 2, column 8: Expected '{% endfor %}', found the end of the "
            "template.");
  const auto include = ChatTemplate::parse("{% include 'other' %}");
  ASSERT_FALSE(include);
  EXPECT_EQ(include.error().code, ErrorCode::kUnimplemented);
}

}  // namespace
}  // namespace quern
