// Tests of perplexity: the definition spelled out again, and what is refused.
#include "generate/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/tiny_engine.h"

namespace quern {
namespace {

using test::feed_all;
using test::some_tokens;

// A tiny model and a text of made-up tokens.
class PerplexityTest : public test::TinyEngineTest<PerplexityTest> {
 protected:
  std::string error(const std::vector<int32_t>& tokens, int64_t context) {
    const auto result = measure_perplexity(*engine_, tokens, context, {});
    return result ? "no error" : result.error().message;
  }
};

// exp of the mean of -log p over positions context/2 .. context-2 of each chunk.
TEST_F(PerplexityTest, IsTheStatedMean) {
  const auto tokens = some_tokens(7, 23);  // two chunks of 10; three tokens are left over
  const auto result = measure_perplexity(*engine_, tokens, 10, {});
  ASSERT_TRUE(result) << result.error().message;
  double total = 0;
  for (size_t start = 0; start < 20; start += 10) {
    std::vector<int32_t> chunk(tokens.begin() + static_cast<int64_t>(start),
                               tokens.begin() + static_cast<int64_t>(start) + 10);
    if (engine_->tokenizer().adds_bos()) chunk[0] = engine_->tokenizer().special_ids().bos;
    const auto logits = feed_all(*engine_, engine_->kv().create_sequence().value(), chunk);
    for (size_t at = 5; at < 9; ++at) {
      double sum = 0;
      for (size_t i = 0; i < 512; ++i) sum += std::exp(double{logits[at * 512 + i]});
      total += std::log(sum) - logits[at * 512 + static_cast<size_t>(chunk[at + 1])];
    }
  }
  EXPECT_EQ(result->num_chunks, 2);
  EXPECT_EQ(result->num_scored, 8);
  EXPECT_NEAR(result->value, std::exp(total / 8), 1e-6 * result->value);
  EXPECT_GT(result->uncertainty, 0);
}

// Chunk by chunk.
TEST_F(PerplexityTest, TellsItsProgress) {
  std::vector<std::pair<int64_t, int64_t>> told;
  ASSERT_TRUE(measure_perplexity(*engine_, some_tokens(0, 9), 4, [&](int64_t done, int64_t total) {
    told.emplace_back(done, total);
  }));
  EXPECT_EQ(told, (std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {2, 2}}));
}

// A chunk needs tokens to score.
TEST_F(PerplexityTest, ContextAndTextMustFit) {
  EXPECT_EQ(error(some_tokens(0, 9), 3), "A context of 3 tokens is outside 4 to 256.");
  EXPECT_EQ(error(some_tokens(0, 9), 257), "A context of 257 tokens is outside 4 to 256.");
  EXPECT_EQ(error(some_tokens(0, 9), -4), "A context of -4 tokens is outside 4 to 256.");
  EXPECT_EQ(error(some_tokens(0, 9), 10), "The text has 9 tokens; one chunk needs 10.");
  EXPECT_EQ(error({}, 4), "The text has 0 tokens; one chunk needs 4.");
}

// No sequence stays behind, whether it went well or not.
TEST_F(PerplexityTest, LeavesNoSequences) {
  ASSERT_TRUE(measure_perplexity(*engine_, some_tokens(0, 8), 4, {}));
  EXPECT_EQ(error({1, 2, 999, 3}, 4), "Token 999 is outside the vocabulary of 512.");
  EXPECT_EQ(engine_->kv().create_sequence().value(), 0);
}

}  // namespace
}  // namespace quern
