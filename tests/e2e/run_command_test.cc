// quern run, process by process: prompts that are kept in files, and the options of the context.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/model_runner.h"
#include "e2e/program.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

using Arguments = std::vector<std::string>;

// The program on a synthetic model.
class RunCommand : public testing::Test {
 protected:
  void SetUp() override {
    model_ = suite_file("stories260k/gguf/stories260K-Q4_K_M.gguf");
    QUERN_NEED_FILE(model_, "suite stories260k");
  }

  ProgramResult run(const std::string& prompt, const Arguments& more) const {
    Arguments arguments = {"run", model_, prompt, "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_quern(arguments);
  }

  // Tokens, text and log-probabilities of an answer, which show every bit of the logits that led
  // to it; and how many tokens of the prompt were cached.
  // Three log-probabilities for each token, printed exactly: any other bit of a logit shows.
  nlohmann::json json(const std::string& prompt, const Arguments& more) const {
    Arguments arguments = {"--json", "--logprobs", "3", "--temp", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--max-tokens") == more.end()) {
      arguments.insert(arguments.end(), {"--max-tokens", "12"});
    }
    const ProgramResult result = run(prompt, arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return nlohmann::json::parse(result.output, nullptr, false);
  }

  std::string error(const std::string& prompt, const Arguments& more) const {
    const ProgramResult result = run(prompt, more);
    EXPECT_EQ(result.exit_code, 1) << result.output;
    return result.errors;
  }

  std::string model_;
  TemporaryFolder folder_{"run_command_test"};
  std::string cache_ = folder_.file("prompt.kv");
};

const std::string kBegin = "Once upon a time, there was a little girl";
const std::string kWhole = kBegin + " named Lily. She had a";

// Tokens and text.
void expect_same_answer(const nlohmann::json& a, const nlohmann::json& b) {
  EXPECT_EQ(a["text"], b["text"]);
  EXPECT_EQ(a["tokens"], b["tokens"]);
  EXPECT_EQ(a["logprobs"], b["logprobs"]);
}

// The text shows no trace of it.
// Three processes: fresh, after a shorter prompt, and after the same one. The last token of a
// prompt is never cached.
TEST_F(RunCommand, APromptCacheContinuesWithTheSameBitsInANewProcess) {
  for (const std::string device : {"cpu", "reference"}) {
    for (const std::string type : {"f32", "f16", "bf16", "q8_0", "q4_0"}) {
      std::filesystem::remove(cache_);
      const Arguments kv = {"--cache-type-k", type, "--cache-type-v", type, "--device", device};
      const nlohmann::json fresh = json(kWhole, kv);
      EXPECT_EQ(fresh["cached_tokens"], 0);
      Arguments cached = kv;
      cached.insert(cached.end(), {"--prompt-cache", cache_});
      EXPECT_EQ(json(kBegin, cached)["cached_tokens"], 0);
      const nlohmann::json continued = json(kWhole, cached);
      EXPECT_GE(continued["cached_tokens"], 10) << device << " " << type;
      expect_same_answer(continued, fresh);
      // Now the file holds the whole prompt and the answer.
      const nlohmann::json again = json(kWhole, cached);
      EXPECT_EQ(again["cached_tokens"], again["prompt_tokens"].size() - 1);
      expect_same_answer(again, fresh);
    }
  }
}

// Rows are the same bits.
TEST_F(RunCommand, APromptCacheOfOneDeviceServesTheOther) {
  const nlohmann::json fresh = json(kWhole, {"--device", "reference"});
  json(kBegin, {"--device", "cpu", "--prompt-cache", cache_});
  const nlohmann::json continued =
      json(kWhole, {"--device", "reference", "--prompt-cache", cache_});
  EXPECT_GE(continued["cached_tokens"], 10);
  expect_same_answer(continued, fresh);
}

// As many tokens as are equal.
TEST_F(RunCommand, APromptThatGoesAnotherWayKeepsTheCommonBegin) {
  const std::string other = kBegin + " who liked to";
  const nlohmann::json fresh = json(other, {});
  json(kWhole, {"--prompt-cache", cache_});
  const nlohmann::json continued = json(other, {"--prompt-cache", cache_});
  EXPECT_GE(continued["cached_tokens"], 10);
  expect_same_answer(continued, fresh);
  // Nothing in common but the begin token.
  // The begin token is all that the prompts share.
  EXPECT_EQ(json("Lily and Tom", {"--prompt-cache", cache_})["cached_tokens"], 1);
}

// They belong to the text.
TEST_F(RunCommand, PenaltiesCountCachedTokens) {
  const Arguments penalties = {"--repeat-penalty", "1.5", "--repeat-window", "-1",
                               "--dry-multiplier", "0.8"};
  Arguments cached = penalties;
  cached.insert(cached.end(), {"--prompt-cache", cache_});
  const nlohmann::json fresh = json(kWhole, penalties);
  json(kBegin, cached);
  expect_same_answer(json(kWhole, cached), fresh);
  EXPECT_NE(json(kWhole, {})["tokens"], fresh["tokens"]);  // they do something
}

// The user may want the file.
TEST_F(RunCommand, ForeignAndDamagedPromptCachesAreRefusedAndKept) {
  json(kBegin, {"--prompt-cache", cache_});
  const auto size = std::filesystem::file_size(cache_);
  // Each of these changes what cached rows mean.
  EXPECT_NE(error(kWhole, {"--prompt-cache", cache_, "--cache-type-k", "f16"})
                .find("other settings of this one"),
            std::string::npos);
  EXPECT_NE(error(kWhole, {"--prompt-cache", cache_, "--rope-freq-base", "20000"})
                .find("other settings of this one"),
            std::string::npos);
  EXPECT_NE(error(kWhole, {"--prompt-cache", cache_, "--activations", "f32"})
                .find("other settings of this one"),
            std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(cache_), size);
  std::filesystem::resize_file(cache_, size / 2);
  EXPECT_NE(error(kWhole, {"--prompt-cache", cache_}).find("is damaged"), std::string::npos);
  std::ofstream(cache_) << "text";
  EXPECT_NE(error(kWhole, {"--prompt-cache", cache_}).find("is no saved sequence"),
            std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(cache_), 4U);
  EXPECT_NE(error(kWhole, {"--max-tokens", "1", "--prompt-cache", "/no/such/folder/x"}), "");
}

// With what cannot be shown escaped.
TEST_F(RunCommand, VerbosePromptShowsTokensAndTheirText) {
  const ProgramResult result =
      run("Once\n\"\u6F22\"", {"--verbose-prompt", "--max-tokens", "1", "--temp", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.errors.find("      1  \"<s>\"\n"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("\"\\n\"\n"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("\"\\\"\"\n"), std::string::npos) << result.errors;
  // A character without a token is three byte tokens, none of which is text by itself.
  EXPECT_NE(result.errors.find("\"\\xE6\"\n"), std::string::npos) << result.errors;
}

// Shorter than the model's.
TEST_F(RunCommand, TheContextCanBeChosen) {
  const Arguments endless = {"--max-tokens", "-1", "--temp", "0", "--json"};
  Arguments short_context = endless;
  short_context.insert(short_context.end(), {"--context", "20"});
  const ProgramResult result = run(kBegin, short_context);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto answer = nlohmann::json::parse(result.output, nullptr, false);
  EXPECT_EQ(answer["stop_reason"], "context_full");
  // 20 tokens fit the cache, and the one sampled last needs no row.
  EXPECT_EQ(answer["tokens"].size() + answer["prompt_tokens"].size(), 21U);
  // The context also limits an explicit number of tokens; without one the number goes beyond the
  // 128 tokens of the model.
  EXPECT_EQ(json(kBegin, {"--context", "20"})["stop_reason"], "context_full");
  EXPECT_EQ(json(kBegin, {"--max-tokens", "150"})["tokens"].size(), 150U);
  EXPECT_NE(error(kWhole, {"--context", "5"}).find("the limit of 5"), std::string::npos);
}

// So the text is another one.
TEST_F(RunCommand, RopeOverridesChangeTheModel) {
  const nlohmann::json plain = json(kWhole, {});
  expect_same_answer(json(kWhole, {"--rope-freq-base", "10000"}), plain);  // the file's own
  const auto expect_other = [&](const Arguments& more) {
    EXPECT_NE(json(kWhole, more)["logprobs"], plain["logprobs"]) << more[0] << " " << more[1];
  };
  expect_other({"--rope-freq-base", "500000"});
  expect_other({"--rope-scaling", "linear", "--rope-factor", "2"});
  // Each scaling must change the numbers, and "none" must change nothing.
  expect_other({"--rope-scaling", "yarn", "--rope-factor", "4", "--rope-original-context", "64"});
  expect_same_answer(json(kWhole, {"--rope-scaling", "none"}), plain);
  EXPECT_EQ(run(kWhole, {"--rope-scaling", "none", "--rope-factor", "2"}).exit_code, 1);
  expect_same_answer(json(kWhole, {"--rope-factor", "2"}),
                     json(kWhole, {"--rope-scaling", "linear", "--rope-factor", "2"}));
  EXPECT_EQ(run(kWhole, {"--rope-scaling", "cubic"}).exit_code, 2);
  EXPECT_EQ(run(kWhole, {"--rope-factor", "-1"}).exit_code, 2);
}

// There may be several.
TEST_F(RunCommand, BadAdaptersAreNamed) {
  EXPECT_NE(error("a", {"--lora", "/no/such.gguf"}).find("/no/such.gguf"), std::string::npos);
  EXPECT_NE(error("a", {"--lora", model_}).find("Adapter '" + model_), std::string::npos);
  EXPECT_NE(error("a", {"--lora", model_ + "=much"}).find("'much' is not a scale"),
            std::string::npos);
}

}  // namespace
}  // namespace quern::test
