// A conversation with a model whose context is kept, not recomputed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "generate/generate.h"
#include "text/chat_template.h"

namespace quern {

// Messages to text; from the model's chat template.
using ChatRenderer = std::function<Result<std::string>(std::span<const ChatMessage> messages,
                                                       bool adds_generation_prompt)>;

// What answer() gives: the text and how the cache was used.
struct ChatReply {
  // The answer itself, with its times.
  Generation generation;
  int64_t num_reused = 0;         // tokens that were in the cache already
  int64_t num_dropped_turns = 0;  // oldest turns that no longer fit
};

// One sequence of an engine. Tokens that a new prompt shares with the cache are not run again, and
// when the oldest turns are dropped, what stands behind them is moved where the model allows it
// (ModelOptions::is_evictable). One thread only.
class ChatSession {
 public:
  // Takes a new sequence of `engine`, which must outlive the session. `reserve` tokens of the
  // context are kept free for an answer, at least 0 and at most half of it.
  static Result<ChatSession> open(Engine& engine, ChatRenderer renderer, int64_t reserve);

  // Replaces the system message; an empty one removes it.
  void set_system(const std::string& text);
  // All turns so far, the system message first.
  const std::vector<ChatMessage>& messages() const { return messages_; }
  // Replaces the conversation.
  void set_messages(std::vector<ChatMessage> messages) { messages_ = std::move(messages); }
  // Forgets everything but the system message.
  void reset();

  // Adds the user's message and the answer to the conversation. A stopped answer is added as far
  // as it came. After an error the conversation is as before.
  // Errors: kOutOfRange for a message that does not fit the context alone.
  Result<ChatReply> answer(const std::string& user, const GenerateOptions& options,
                           const TextSink& sink);

 private:
  // Made by open().
  ChatSession(Engine& engine, ChatRenderer renderer, int64_t reserve, int32_t sequence)
      : engine_(&engine), renderer_(std::move(renderer)), reserve_(reserve), sequence_(sequence) {}
  // Errors: those of the template and the tokenizer.
  // The conversation as tokens, up to where the answer begins.
  Result<std::vector<int32_t>> encode(std::span<const ChatMessage> messages) const;
  // Drops oldest turns until the prompt fits; counts them.
  Result<std::vector<int32_t>> fit(std::vector<ChatMessage>& messages, int64_t& num_dropped) const;
  // Makes the cache a prefix of `ids` and returns its length.
  Result<int64_t> align_cache(std::span<const int32_t> ids);

  // Not owned; it outlives the session.
  Engine* engine_;
  ChatRenderer renderer_;
  int64_t reserve_;
  int32_t sequence_;
  std::vector<ChatMessage> messages_;
  // As many as the store has rows: the invariant that align_cache() starts from.
  std::vector<int32_t> cached_;  // tokens of the sequence
};

}  // namespace quern
