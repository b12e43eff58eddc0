// Prompts that begin like an earlier run: how much of it is used again, and what it gives.
#include "generate/prompt_cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "generate/sequence_file.h"
#include "support/tiny_engine.h"

namespace quern {
namespace {

using test::feed_all;
using test::some_tokens;

// A tiny model with a saved sequence of eight tokens.
class PromptCacheTest : public test::TinyEngineTest<PromptCacheTest> {
 protected:
  void SetUp() override {
    TinyEngineTest::SetUp();
    ASSERT_NE(engine_, nullptr);
    path_ = model_->file("cache.kv");
    const int32_t sequence = engine_->kv().create_sequence().value();
    feed_all(*engine_, sequence, saved_);
    ASSERT_TRUE(save_sequence(*engine_, sequence, saved_, path_));
  }
  CachedPrompt open(const std::vector<int32_t>& prompt) {
    const auto cached = open_prompt_cache(*engine_, path_, prompt);
    EXPECT_TRUE(cached) << (cached ? "" : cached.error().message);
    return cached.value_or(CachedPrompt{});
  }

  std::string path_;
  const std::vector<int32_t> saved_ = some_tokens(1, 8);
};

// A prompt, and how many of its tokens are in the file's sequence already.
struct ReuseCase {
  const char* what;
  std::vector<int32_t> prompt;
  int64_t num_reused;
};

// The last token of the prompt is always computed: its logits are wanted.
TEST_F(PromptCacheTest, TheCommonBeginIsReused) {
  std::vector<int32_t> longer = saved_, changed = saved_, shorter = saved_;
  longer.push_back(9);
  changed[5] = 499;
  shorter.resize(3);
  const ReuseCase cases[] = {
      {"longer", longer, 8},
      {"the same: its last token is computed again", saved_, 7},
      {"changed in the middle", changed, 5},
      {"shorter", shorter, 2},
      {"one token", {saved_[0]}, 0},
      {"another", some_tokens(2, 8), 0},
  };
  for (const ReuseCase& c : cases) {
    SCOPED_TRACE(c.what);
    const CachedPrompt cached = open(c.prompt);
    EXPECT_EQ(cached.num_reused, c.num_reused);
    EXPECT_EQ(engine_->kv().length(cached.sequence).value(), c.num_reused);
  }
}

// Strict numerics: reuse must not show.
TEST_F(PromptCacheTest, TheRestHasTheBitsOfTheWhole) {
  std::vector<int32_t> prompt = saved_;
  prompt[6] = 400;
  prompt.push_back(17);
  const int32_t fresh = engine_->kv().create_sequence().value();
  const std::vector<float> whole = feed_all(*engine_, fresh, prompt);
  const CachedPrompt cached = open(prompt);
  ASSERT_EQ(cached.num_reused, 6);
  const std::vector<float> rest =
      feed_all(*engine_, cached.sequence, {prompt.begin() + 6, prompt.end()});
  EXPECT_TRUE(
      std::equal(rest.begin(), rest.end(), whole.end() - static_cast<int64_t>(rest.size())));
}

// The first run has no file yet.
TEST_F(PromptCacheTest, AbsentFilesAreAnEmptyStart) {
  for (const std::string& path : {std::string(), model_->file("never.kv")}) {
    const auto cached = open_prompt_cache(*engine_, path, saved_);
    ASSERT_TRUE(cached) << cached.error().message;
    EXPECT_EQ(cached->num_reused, 0);
    EXPECT_EQ(engine_->kv().length(cached->sequence).value(), 0);
  }
}

// Silently starting anew would hide what happened to the file.
TEST_F(PromptCacheTest, DamagedAndForeignFilesAreErrors) {
  std::ofstream(path_, std::ios::binary) << "QUERNKV";
  EXPECT_EQ(open_prompt_cache(*engine_, path_, saved_).error().code, ErrorCode::kDataLoss);
  const auto other =
      model_->open({.overrides = {{"rope.freq_base", MetadataValue::number(20000.0)}}});
  SetUp();
  EXPECT_EQ(open_prompt_cache(*other, path_, saved_).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace quern
