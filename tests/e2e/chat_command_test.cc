// quern chat over a pipe: commands, kept context, full context.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "e2e/model_runner.h"
#include "e2e/program.h"
#include "formats/gguf_writer.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

// The stories model with a template: it tells stories whatever it is asked.
class ChatCommand : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = suite_file("stories260k/gguf/stories260K-f32.gguf");
    QUERN_NEED_FILE(path, "suite stories260k");
    const auto base = GgufFile::open(path);
    ASSERT_TRUE(base);
    Metadata metadata = (*base)->metadata();
    metadata.set("tokenizer.chat_template",
                 MetadataValue::text("{{ bos_token }}{% for m in messages %}{{ m.role[0] }}: "
                                     "{{ m.content }}\n{% endfor %}"));
    auto writer = GgufWriter::create(model_, metadata, (*base)->list());
    ASSERT_TRUE(writer) << writer.error().message;
    for (const WeightInfo& info : (*base)->list()) {
      ASSERT_TRUE(writer->append(info.name, (*base)->weight(info.name).value()));
    }
    ASSERT_TRUE(writer->finish());
  }

  ProgramResult chat(const std::string& input, std::vector<std::string> more = {}) const {
    // Greedy and ten tokens: the same answer in every process.
    more.insert(more.begin(), {"chat", model_, "--temp", "0", "--max-tokens", "10"});
    return run_quern(more, input);
  }

  std::string read(const std::string& path) const {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  TemporaryFolder folder_{"chat_command_test"};
  std::string model_ = folder_.file("model.gguf");
  std::string saved_ = folder_.file("saved.json");
};

// From a pipe, as scripts use it.
TEST_F(ChatCommand, AnswersAndEndsWithItsInput) {
  const ProgramResult result = chat("Once upon a time\n");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_GT(result.output.size(), 10U);
  EXPECT_EQ(chat("").output, "");
  EXPECT_EQ(chat("/quit\nOnce\n").output, "");
}

// With the same answer.
// Two processes against one: the second turn's answer must not depend on whether its context was
// computed or loaded.
TEST_F(ChatCommand, ASavedConversationContinuesInANewProcess) {
  const std::string first = "Once upon a time\n", second = "There was a dog\n";
  const std::string whole = chat(first + second).output;
  EXPECT_EQ(chat(first + "/save " + saved_ + "\n").exit_code, 0);
  const auto messages = nlohmann::json::parse(read(saved_), nullptr, false);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0]["role"], "user");
  EXPECT_EQ(messages[0]["content"], "Once upon a time");
  EXPECT_EQ(messages[1]["role"], "assistant");
  const std::string continued = chat("/load " + saved_ + "\n" + second).output;
  ASSERT_FALSE(continued.empty());
  EXPECT_TRUE(whole.ends_with(continued)) << whole << "\n--\n" << continued;
}

// With penalties that look at everything, kept tokens count as computed ones do.
// A window of everything: a token that was only in the cache would otherwise go unpunished.
TEST_F(ChatCommand, PenaltiesCountTheKeptContext) {
  const std::vector<std::string> penalties = {"--repeat-penalty", "1.4", "--repeat-window", "-1",
                                              "--dry-multiplier", "1"};
  const std::string first = "Once upon a time\n", second = "There was a dog\n";
  const std::string whole = chat(first + second, penalties).output;
  chat(first + "/save " + saved_ + "\n", penalties);
  const std::string continued = chat("/load " + saved_ + "\n" + second, penalties).output;
  EXPECT_TRUE(whole.ends_with(continued)) << whole << "\n--\n" << continued;
}

// What is saved shows it.
TEST_F(ChatCommand, CommandsChangeTheConversation) {
  const ProgramResult help = chat("/help\n");
  for (const char* name : {"/help", "/reset", "/system", "/save", "/load", "Ctrl-C"}) {
    EXPECT_NE(help.output.find(name), std::string::npos) << name;
  }
  chat("Hi\n/reset\n/system Tell stories.\nOnce\n/save " + saved_ + "\n");
  auto messages = nlohmann::json::parse(read(saved_), nullptr, false);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0]["role"], "system");
  EXPECT_EQ(messages[0]["content"], "Tell stories.");
  EXPECT_EQ(messages[1]["content"], "Once");
  // An empty /system removes what the flag gave; a backslash and triple quotes both make several
  // lines.
  chat("/system\nOnce\\\nmore\n\"\"\"\na\nb\n\"\"\"\n/save " + saved_ + "\n", {"--system", "x"});
  messages = nlohmann::json::parse(read(saved_), nullptr, false);
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[0]["content"], "Once\nmore");
  EXPECT_EQ(messages[2]["content"], "a\nb\n");
}

// Nothing typed may end it.
TEST_F(ChatCommand, MistakesAreToldAndTheConversationGoesOn) {
  const auto errors = [&](const std::string& line) {
    const ProgramResult result = chat(line + "\n");
    EXPECT_EQ(result.exit_code, 0);
    return result.errors;
  };
  EXPECT_NE(errors("/sing").find("There is no command '/sing'"), std::string::npos);
  EXPECT_NE(errors("/load /no/such").find("'/no/such'"), std::string::npos);
  EXPECT_NE(errors("/save").find("/save needs the name of a file"), std::string::npos);
  EXPECT_NE(errors("/load").find("/load needs the name of a file"), std::string::npos);
  // No file content, half a list, and JSON of every wrong kind.
  for (const char* text : {"", "[{"}) {
    std::ofstream(saved_) << text;
    EXPECT_NE(errors("/load " + saved_).find("is no JSON"), std::string::npos) << text;
  }
  for (const char* text :
       {"{}", "5", "[1]", "[{\"role\": 1, \"content\": \"\"}]", "[{\"role\": \"user\"}]"}) {
    std::ofstream(saved_) << text;
    EXPECT_NE(errors("/load " + saved_).find("holds no list of messages"), std::string::npos)
        << text;
  }
  // 2,000 letters are far more than the 128 tokens of the model.
  const std::string long_message(2000, 'x');
  EXPECT_NE(errors(long_message).find("the context has 128"), std::string::npos);
}

// Silence would look like a bad memory.
TEST_F(ChatCommand, AFullContextForgetsTheOldestTurnsAndSaysSo) {
  std::string input;
  // Twelve turns with their answers do not fit 128 tokens.
  for (int i = 0; i < 12; ++i) input += "Once upon a time there was a dog\n";
  const ProgramResult result = chat(input + "/save " + saved_ + "\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.errors.find("oldest turns are forgotten"), std::string::npos) << result.errors;
  const auto messages = nlohmann::json::parse(read(saved_), nullptr, false);
  EXPECT_LT(messages.size(), 24U);
  EXPECT_EQ(messages[0]["role"], "user");
}

}  // namespace
}  // namespace quern::test
