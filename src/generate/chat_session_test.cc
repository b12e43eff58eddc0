// Tests of conversations: what is kept in the cache, what is dropped, what an error leaves.
#include "generate/chat_session.h"

#include <gtest/gtest.h>

#include "support/tiny_engine.h"

namespace quern {
namespace {

using test::TinyModelFile;

// "role:content;" for each message: short, and a prefix of itself with more messages.
Result<std::string> render(std::span<const ChatMessage> messages, bool adds_prompt) {
  std::string text;
  for (const ChatMessage& message : messages) {
    text += message.role.substr(0, 1) + ":" + message.content + ";";
  }
  return text + (adds_prompt ? "a:" : "");
}

// A session with a template of one line.
class ChatSessionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = std::make_unique<TinyModelFile>(); }
  static void TearDownTestSuite() { model_.reset(); }
  void open(EngineOptions options = {}, int64_t reserve = 8) {
    engine_ = model_->open(std::move(options));
    ASSERT_NE(engine_, nullptr);
    session_.emplace(ChatSession::open(*engine_, render, reserve).value());
    options_.sampler.temperature = 0;
    options_.max_tokens = 6;
  }
  ChatReply answer(const std::string& user) {
    auto reply = session_->answer(user, options_, {});
    EXPECT_TRUE(reply) << (reply ? "" : reply.error().message);
    return reply ? std::move(*reply) : ChatReply{};
  }

  static std::unique_ptr<TinyModelFile> model_;
  std::unique_ptr<Engine> engine_;
  std::optional<ChatSession> session_;
  GenerateOptions options_;
};
std::unique_ptr<TinyModelFile> ChatSessionTest::model_;

// As templates demand it.
TEST_F(ChatSessionTest, MessagesAndAnswersAlternate) {
  open();
  session_->set_system("Be brief");
  const ChatReply first = answer("hello");
  const ChatReply second = answer("and");
  const auto& messages = session_->messages();
  ASSERT_EQ(messages.size(), 5U);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[1].content, "hello");
  EXPECT_EQ(messages[2].role, "assistant");
  EXPECT_EQ(messages[2].content, first.generation.text);
  EXPECT_EQ(messages[4].content, second.generation.text);
}

// Only what is new is computed.
TEST_F(ChatSessionTest, TheCacheIsUsedAgain) {
  open();
  EXPECT_EQ(answer("hello").num_reused, 0);
  // The first prompt; the answer's text may have other tokens than it was made of.
  EXPECT_GE(answer("again").num_reused, 8);
  // The same words after a reset: all of the prompt but its last token is there.
  session_->reset();
  const ChatReply reply = answer("hello");
  EXPECT_GT(reply.num_reused, 0);
}

// What was kept in the cache and what is computed anew give the same answer.
TEST_F(ChatSessionTest, TheCacheDoesNotShow) {
  open();
  answer("hello");
  const ChatReply reused = answer("what is a quern");
  const auto messages = session_->messages();
  open();
  session_->set_messages({messages[0], messages[1]});
  const ChatReply fresh = answer("what is a quern");
  EXPECT_EQ(fresh.num_reused, 0);
  EXPECT_EQ(fresh.generation.tokens, reused.generation.tokens);
}

// Whenever it is set.
TEST_F(ChatSessionTest, TheSystemMessageStandsFirstAndOnce) {
  open();
  session_->set_messages({{"user", "a"}, {"assistant", "b"}});
  session_->set_system("one");
  session_->set_system("two");
  ASSERT_EQ(session_->messages().size(), 3U);
  EXPECT_EQ(session_->messages()[0].content, "two");
  session_->reset();
  ASSERT_EQ(session_->messages().size(), 1U);
  session_->set_system("");
  EXPECT_TRUE(session_->messages().empty());
  session_->reset();
  EXPECT_TRUE(session_->messages().empty());
}

// In pairs, the oldest first.
TEST_F(ChatSessionTest, OldTurnsAreDroppedWhenTheContextIsFull) {
  for (const bool is_evictable : {false, true}) {
    open({.model = {.is_evictable = is_evictable}, .context_length = 64}, 8);
    session_->set_system("S");
    int64_t dropped = 0;
    for (int turn = 0; turn < 12; ++turn) {
      dropped += answer("turn number " + std::to_string(turn)).num_dropped_turns;
    }
    EXPECT_GT(dropped, 0);
    EXPECT_EQ(session_->messages()[0].role, "system");
    EXPECT_EQ(session_->messages()[1].role, "user");
    EXPECT_LE(engine_->kv().length(0).value(), 64);
  }
}

// The conversation can go on.
TEST_F(ChatSessionTest, AMessageThatNeverFitsIsAnErrorThatChangesNothing) {
  open({.context_length = 32});
  answer("hi");
  const auto before = session_->messages().size();
  const auto reply = session_->answer(std::string(500, 'x'), options_, {});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kOutOfRange);
  EXPECT_TRUE(reply.error().message.ends_with("tokens; the context has 32."))
      << reply.error().message;
  EXPECT_EQ(session_->messages().size(), before);
  EXPECT_EQ(answer("hi").generation.tokens.size(), 6U);
}

// Templates refuse conversations with their own words.
TEST_F(ChatSessionTest, ErrorsOfTheTemplateComeThrough) {
  open();
  auto session = ChatSession::open(
      *engine_,
      [](std::span<const ChatMessage>, bool) -> Result<std::string> {
        return tl::unexpected(Error{ErrorCode::kInvalidArgument, "The template is broken."});
      },
      8);
  EXPECT_EQ(session->answer("hi", options_, {}).error().message, "The template is broken.");
  auto empty = ChatSession::open(
      *engine_, [](std::span<const ChatMessage>, bool) -> Result<std::string> { return ""; }, 8);
  EXPECT_EQ(empty->answer("hi", options_, {}).error().message,
            "The chat template renders nothing.");
}

// A reserve below 0 would let prompts grow past the context.
TEST_F(ChatSessionTest, TheReserveIsBounded) {
  for (const int64_t reserve : {int64_t{-100}, int64_t{0}, int64_t{100'000}}) {
    open({.context_length = 40}, reserve);
    for (int turn = 0; turn < 4; ++turn) answer("turn " + std::to_string(turn));
    EXPECT_LE(engine_->kv().length(0).value(), 40);
  }
}

// As if it had not been sent; what was run of it is reused.
TEST_F(ChatSessionTest, AMessageStoppedBeforeItsAnswerIsForgotten) {
  open();
  GenerateOptions options = options_;
  options.prefill_chunk = 1;
  const auto stopped = session_->answer("hello", options, [](std::string_view) { return false; });
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->generation.reason, StopReason::kCancelled);
  EXPECT_TRUE(session_->messages().empty());
  const auto reply = session_->answer("hello", options_, {});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->num_reused, 1);
  EXPECT_EQ(session_->messages().size(), 2U);
}

// The user saw it.
TEST_F(ChatSessionTest, AStoppedAnswerIsKeptAsFarAsItCame) {
  open();
  int calls = 0;
  const auto reply =
      session_->answer("hello", options_, [&](std::string_view) { return ++calls < 3; });
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->generation.reason, StopReason::kCancelled);
  EXPECT_EQ(session_->messages().back().content, reply->generation.text);
}

}  // namespace
}  // namespace quern
