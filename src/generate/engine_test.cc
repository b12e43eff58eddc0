// Tests of the engine: batches do not matter, errors leave sequences alone, two engines live in one
// process.
#include "generate/engine.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "support/tiny_engine.h"

namespace quern {
namespace {

using test::feed_all;
using test::some_tokens;

// An engine on a tiny model, new for each test.
class EngineTest : public test::TinyEngineTest<EngineTest> {
 protected:
  int32_t new_sequence() { return engine_->kv().create_sequence().value(); }
  // The message of opening the model with these options.
  static std::string open_error(const EngineOptions& options) {
    const auto engine = Engine::open(model_->path(), options);
    return engine ? "no error" : engine.error().message;
  }
};

// Sizes of the synthetic model.
TEST_F(EngineTest, KnowsItsModel) {
  EXPECT_EQ(engine_->model().vocab_size, 512);
  EXPECT_EQ(engine_->context_length(), 256);
  EXPECT_EQ(engine_->model().architecture, "llama");
  EXPECT_EQ(engine_->tokenizer().vocab_size(), 512);
  EXPECT_EQ(engine_->token_trie(), engine_->token_trie());
}

// Each error has the path in front.
TEST_F(EngineTest, OptionsAreChecked) {
  const std::string loading = "While loading '" + model_->path() + "': ";
  EXPECT_EQ(open_error({.device = "abacus"}),
            loading + "There is no backend 'abacus'; this build has reference, cpu, null.");
  EXPECT_EQ(open_error({.device = "null"}), loading + "Backend null has no device.");
  EXPECT_EQ(open_error({.device_options = {.num_threads = -1}}),
            loading + "-1 threads are asked for; the limit is 1024.");
  EXPECT_EQ(open_error({.context_length = -5}),
            loading + "The context length is -5; it must be 0 or more.");
  EXPECT_EQ(open_error({.compile = {.readable = {"nothing"}}}),
            loading + "Pass verify: The graph has no value 'nothing' to read.");
  const auto missing = Engine::open(model_->path() + "x", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

// Strict numerics: every row is computed alone.
TEST_F(EngineTest, ChunksDoNotChangeTheBits) {
  const auto ids = some_tokens(3, 70);
  const std::vector<float> whole = feed_all(*engine_, new_sequence(), ids, 1000);
  ASSERT_EQ(whole.size(), 70U * 512);
  for (const int64_t chunk : {1, 7, 64, 70}) {
    EXPECT_EQ(feed_all(*engine_, new_sequence(), ids, chunk), whole) << chunk;
  }
}

// And an empty feed is no row.
TEST_F(EngineTest, ABatchGivesEachSequenceItsOwnBits) {
  const auto a = some_tokens(1, 5);
  const auto b = some_tokens(200, 3);
  const std::vector<float> alone_a = feed_all(*engine_, new_sequence(), a);
  const std::vector<float> alone_b = feed_all(*engine_, new_sequence(), b);
  const Feed feeds[] = {{new_sequence(), b, Feed::Logits::kAll},
                        {new_sequence(), some_tokens(9, 0), Feed::Logits::kAll},
                        {new_sequence(), a, Feed::Logits::kLast}};
  const auto rows = engine_->forward(feeds);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->shape(), (Shape{4, 512}));
  const std::vector<float> logits = rows->read_as<float>().value();
  EXPECT_TRUE(std::equal(alone_b.begin(), alone_b.end(), logits.begin()));
  EXPECT_TRUE(std::equal(alone_a.end() - 512, alone_a.end(), logits.end() - 512));
  EXPECT_EQ(engine_->kv().length(feeds[1].sequence).value(), 0);
}

// Callers need not look.
TEST_F(EngineTest, NothingToDoIsNoError) {
  const auto none = engine_->forward({});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->shape(), (Shape{0, 512}));
  const auto empty = engine_->forward_chunked({new_sequence(), {}, Feed::Logits::kAll}, 8);
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->shape(), (Shape{0, 512}));
}

// For prefill, whose logits nobody reads.
TEST_F(EngineTest, NoLogitsAreNoRows) {
  const auto ids = some_tokens(0, 4);
  const auto rows = engine_->forward_chunked({new_sequence(), ids, Feed::Logits::kNone}, 3);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->shape(), (Shape{0, 512}));
}

// All feeds are checked before any is run.
TEST_F(EngineTest, ErrorsLeaveTheSequencesAsTheyWere) {
  const int32_t a = new_sequence();
  const int32_t b = new_sequence();
  const auto ids = some_tokens(0, 4);
  feed_all(*engine_, a, ids);
  const std::vector<int32_t> bad = {1, 512};
  const Feed feeds[] = {{a, ids}, {b, bad}};
  const auto outside = engine_->forward(feeds);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(outside.error().message, "Token 512 is outside the vocabulary of 512.");
  EXPECT_EQ(engine_->kv().length(a).value(), 4);
  EXPECT_EQ(engine_->kv().length(b).value(), 0);
  const std::vector<int32_t> negative = {-1};
  const Feed below[] = {{a, negative}};
  EXPECT_FALSE(engine_->forward(below));
  const Feed unknown[] = {{77, ids}};
  EXPECT_EQ(engine_->forward(unknown).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(engine_->kv().length(a).value(), 4);
}

// Two feeds of one sequence would both start at its end.
TEST_F(EngineTest, ASequenceStandsOnceInABatch) {
  const int32_t a = new_sequence();
  const auto ids = some_tokens(0, 2);
  const Feed feeds[] = {{a, ids}, {new_sequence(), ids}, {a, ids}};
  const auto twice = engine_->forward(feeds);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(twice.error().message, "Sequence 0 stands twice in one batch.");
  EXPECT_EQ(engine_->kv().length(a).value(), 0);
}

// With the numbers in the error.
TEST_F(EngineTest, TheContextEnds) {
  const auto small = model_->open({.context_length = 6});
  const int32_t a = small->kv().create_sequence().value();
  feed_all(*small, a, some_tokens(0, 4));
  const auto more = some_tokens(0, 3);
  const auto over = small->forward_chunked({a, more}, 64);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(over.error().message, "The context is full: 3 tokens after 4 pass the limit of 6.");
  small->allow_context(7);
  EXPECT_TRUE(small->forward_chunked({a, more}, 64));
  small->allow_context(3);  // never shrinks
  EXPECT_EQ(small->context_length(), 7);
}

// A chunk of 0 would never end.
TEST_F(EngineTest, ChunksHaveATokenAtLeast) {
  const auto ids = some_tokens(0, 2);
  for (const int64_t chunk : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    EXPECT_FALSE(engine_->forward_chunked({new_sequence(), ids}, chunk)) << chunk;
  }
}

// Spans from outside of the sequence.
TEST_F(EngineTest, EvictionIsChecked) {
  const int32_t a = new_sequence();
  feed_all(*engine_, a, some_tokens(0, 10));
  const auto middle = engine_->evict(a, 2, 3);
  ASSERT_FALSE(middle);
  EXPECT_EQ(middle.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(middle.error().message, "The model was not opened as evictable.");
  for (const auto& [start, count] :
       {std::pair<int64_t, int64_t>{-1, 2}, {0, -1}, {11, 0}, {8, 3}, {1, INT64_MAX}}) {
    const auto outside = engine_->evict(a, start, count);
    ASSERT_FALSE(outside) << start;
    EXPECT_EQ(outside.error().code, ErrorCode::kOutOfRange);
  }
  EXPECT_EQ(engine_->kv().length(a).value(), 10);
  EXPECT_TRUE(engine_->evict(a, 6, 4));  // the end needs no rotation
  EXPECT_TRUE(engine_->evict(a, 0, 0));
  EXPECT_EQ(engine_->kv().length(a).value(), 6);
}

// What one engine does never shows in another: each has its device, threads, weights and cache.
TEST_F(EngineTest, TwoEnginesInOneProcessDoNotMeet) {
  const auto other = model_->open({.device = "reference"});
  const auto third = model_->open({.device_options = {.num_threads = 1, .isa = "scalar"}});
  const auto ids = some_tokens(5, 12);
  const std::vector<float> expected = feed_all(*engine_, new_sequence(), ids);
  std::vector<std::vector<float>> rows(3);
  std::vector<Engine*> engines = {engine_.get(), other.get(), third.get()};
  std::vector<int32_t> sequences;
  for (Engine* engine : engines) sequences.push_back(engine->kv().create_sequence().value());
  for (size_t at = 0; at < ids.size(); at += 3) {  // in turns, a few tokens at a time
    for (size_t e = 0; e < engines.size(); ++e) {
      const std::vector<int32_t> part(ids.begin() + static_cast<int64_t>(at),
                                      ids.begin() + static_cast<int64_t>(at) + 3);
      const auto logits = feed_all(*engines[e], sequences[e], part);
      rows[e].insert(rows[e].end(), logits.begin(), logits.end());
    }
  }
  for (const auto& row : rows) EXPECT_EQ(row, expected);
}

// The graph is another one.
TEST_F(EngineTest, OverridesChangeTheModel) {
  const auto ids = some_tokens(5, 8);
  const auto other =
      model_->open({.overrides = {{"rope.freq_base", MetadataValue::number(50000.0)}}});
  EXPECT_NE(feed_all(*other, other->kv().create_sequence().value(), ids),
            feed_all(*engine_, new_sequence(), ids));
  EXPECT_NE(semantic_hash(other->model().graph), semantic_hash(engine_->model().graph));
  EXPECT_NE(open_error({.overrides = {{"block_count", MetadataValue::number(0.5)}}}), "no error");
}

}  // namespace
}  // namespace quern
