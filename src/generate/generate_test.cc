// Tests of text generation: why it ends, what the sink sees, the same text for the same seed.
#include "generate/generate.h"

#include <gtest/gtest.h>

#include <set>

#include "support/tiny_engine.h"

namespace quern {
namespace {

using test::some_tokens;

// A tiny model that is asked greedily.
class GenerateTest : public test::TinyEngineTest<GenerateTest> {
 protected:
  void SetUp() override {
    TinyEngineTest::SetUp();
    ASSERT_NE(engine_, nullptr);
    greedy_.sampler.temperature = 0;
    greedy_.max_tokens = 12;
  }
  Generation run(const GenerateOptions& options, const TextSink& sink = {}) {
    const int32_t sequence = engine_->kv().create_sequence().value();
    auto result = generate(*engine_, sequence, prompt_, options, sink);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? std::move(*result) : Generation{};
  }
  std::string error(const GenerateOptions& options, const std::vector<int32_t>& prompt) {
    const int32_t sequence = engine_->kv().create_sequence().value();
    const auto result = generate(*engine_, sequence, prompt, options, {});
    return result ? "no error" : result.error().message;
  }

  const std::vector<int32_t> prompt_ = some_tokens(11, 5);
  GenerateOptions greedy_;
};

// Programs branch on them.
TEST(StopReason, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const StopReason reason :
       {StopReason::kEndToken, StopReason::kStopString, StopReason::kMaxTokens,
        StopReason::kContextFull, StopReason::kCancelled, StopReason::kGrammarEnd}) {
    EXPECT_TRUE(names.insert(stop_reason_name(reason)).second);
  }
  EXPECT_FALSE(names.contains("unknown"));
}

// 0 tokens are none.
TEST_F(GenerateTest, StopsAfterTheTokensAskedFor) {
  const Generation twelve = run(greedy_);
  ASSERT_EQ(twelve.tokens.size(), 12U);
  EXPECT_EQ(twelve.reason, StopReason::kMaxTokens);
  GenerateOptions options = greedy_;
  options.max_tokens = 5;
  const Generation five = run(options);
  EXPECT_EQ(five.tokens, (std::vector<int32_t>(twelve.tokens.begin(), twelve.tokens.begin() + 5)));
  options.max_tokens = 0;
  const Generation none = run(options);
  EXPECT_TRUE(none.tokens.empty());
  EXPECT_EQ(none.text, "");
  EXPECT_EQ(none.reason, StopReason::kMaxTokens);
}

// Between the runs of the prompt, so that a long one can be left.
TEST_F(GenerateTest, TheSinkCanStopThePrompt) {
  ASSERT_GT(prompt_.size(), 1U);
  GenerateOptions options = greedy_;
  options.prefill_chunk = 1;
  const Generation result = run(options, [](std::string_view) { return false; });
  EXPECT_EQ(result.reason, StopReason::kCancelled);
  EXPECT_TRUE(result.tokens.empty());
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(engine_->kv().length(0).value(), 1);
}

// In pieces that are valid UTF-8.
TEST_F(GenerateTest, TheSinkSeesTheText) {
  std::string seen;
  const Generation result = run(greedy_, [&](std::string_view piece) {
    seen += piece;
    return true;
  });
  EXPECT_EQ(seen, result.text);
}

// The token that it saw last is kept.
TEST_F(GenerateTest, TheSinkCanStop) {
  int calls = 0;
  const Generation result = run(greedy_, [&](std::string_view) { return ++calls < 4; });
  EXPECT_EQ(result.reason, StopReason::kCancelled);
  EXPECT_LT(result.tokens.size(), 12U);
}

// Nor a part of it.
TEST_F(GenerateTest, AStopStringIsNotShown) {
  const Generation whole = run(greedy_);
  ASSERT_GT(whole.text.size(), 4U);
  GenerateOptions options = greedy_;
  const std::string stop = whole.text.substr(2, 2);
  options.stops = {stop};
  const Generation cut = run(options);
  EXPECT_EQ(cut.text, whole.text.substr(0, whole.text.find(stop)));
  EXPECT_EQ(cut.reason, StopReason::kStopString);
}

// As a reason, not as an error.
TEST_F(GenerateTest, TheContextEnds) {
  engine_ = model_->open({.context_length = 9});
  GenerateOptions options = greedy_;
  options.max_tokens = -1;
  const Generation result = run(options);
  EXPECT_EQ(result.reason, StopReason::kContextFull);
  EXPECT_EQ(result.tokens.size(), 5U);  // five of the prompt, four more, and one from their logits
}

// Another seed another one.
TEST_F(GenerateTest, ASeedGivesOneText) {
  GenerateOptions options;
  options.max_tokens = 20;
  options.sampler.temperature = 1.5;
  options.sampler.seed = 3;
  const Generation first = run(options);
  EXPECT_EQ(run(options).tokens, first.tokens);
  options.sampler.seed = 4;
  EXPECT_NE(run(options).tokens, first.tokens);
}

// Other sequences of the engine and the size of prefill chunks change nothing.
TEST_F(GenerateTest, OtherWorkDoesNotShow) {
  const Generation alone = run(greedy_);
  const int32_t other = engine_->kv().create_sequence().value();
  test::feed_all(*engine_, other, some_tokens(90, 30));
  GenerateOptions options = greedy_;
  options.prefill_chunk = 2;
  EXPECT_EQ(run(options).tokens, alone.tokens);
}

// Of the model, before the sampler.
TEST_F(GenerateTest, LogprobsComeWithEachToken) {
  GenerateOptions options = greedy_;
  options.sampler.num_logprobs = 2;
  const Generation result = run(options);
  ASSERT_EQ(result.logprobs.size(), result.tokens.size());
  for (size_t i = 0; i < result.tokens.size(); ++i) {
    EXPECT_EQ(result.logprobs[i].chosen.token, result.tokens[i]);
    ASSERT_EQ(result.logprobs[i].top.size(), 2U);
    EXPECT_EQ(result.logprobs[i].top[0].token, result.tokens[i]);  // greedy takes the best
    EXPECT_LE(result.logprobs[i].top[1].logprob, result.logprobs[i].top[0].logprob);
    EXPECT_LE(result.logprobs[i].chosen.logprob, 0.0);
  }
  EXPECT_TRUE(run(greedy_).logprobs.empty());
}

// And ends it.
TEST_F(GenerateTest, AGrammarHoldsTheText) {
  GenerateOptions options = greedy_;
  options.grammar = Grammar::parse("root ::= \"abc\"").value();
  const Generation result = run(options);
  EXPECT_EQ(result.text, "abc");
}

// Before anything is computed.
TEST_F(GenerateTest, WhatCannotBeRunIsAnError) {
  EXPECT_EQ(error(greedy_, {}), "The prompt has no token to start from.");
  EXPECT_EQ(error(greedy_, {512}), "Token 512 is outside the vocabulary of 512.");
  EXPECT_EQ(error(greedy_, some_tokens(0, 257)),
            "The context is full: 257 tokens after 0 pass the limit of 256.");
  GenerateOptions bad = greedy_;
  bad.sampler.top_p = 2;
  EXPECT_NE(error(bad, prompt_), "no error");
  bad = greedy_;
  bad.prefill_chunk = 0;
  EXPECT_EQ(error(bad, prompt_), "A chunk of 0 tokens is below 1.");
}

}  // namespace
}  // namespace quern
