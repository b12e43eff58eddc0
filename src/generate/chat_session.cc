// Prompts against the cache: common prefix, dropped spans, the rest.
// The cache is a begin of the conversation's tokens; what fits is kept, the rest computed.
#include "generate/chat_session.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "generate/cache_gap.h"

namespace quern {
namespace {

// Only the first message can be one.
bool has_system(const std::vector<ChatMessage>& messages) {
  return !messages.empty() && messages.front().role == "system";
}

// Removes the oldest user message and the answers to it; false if only the last turn is left.
// A turn begins with a user's message; what stands between it and the next one (answers, results of
// tools) goes with it.
bool drop_oldest_turn(std::vector<ChatMessage>& messages) {
  const auto first = messages.begin() + (has_system(messages) ? 1 : 0);
  auto next = first == messages.end() ? first : first + 1;
  while (next != messages.end() && next->role != "user") ++next;
  if (next == messages.end()) return false;
  messages.erase(first, next);
  return true;
}

}  // namespace

// The sequence is the session's own until it is destroyed.
Result<ChatSession> ChatSession::open(Engine& engine, ChatRenderer renderer, int64_t reserve) {
  QUERN_ASSIGN_OR_RETURN(const int32_t sequence, engine.kv().create_sequence());
  // More than half for the answer would throw away conversations that fit.
  const int64_t room = std::max<int64_t>(1, engine.context_length() / 2);
  return ChatSession(engine, std::move(renderer), std::clamp<int64_t>(reserve, 0, room), sequence);
}

// Takes effect with the next answer; the cache is aligned then.
void ChatSession::set_system(const std::string& text) {
  if (has_system(messages_)) messages_.erase(messages_.begin());
  if (!text.empty()) messages_.insert(messages_.begin(), {"system", text});
}

// The rows stay until the next answer, which may begin alike.
void ChatSession::reset() {
  messages_.resize(has_system(messages_) ? 1 : 0);
}

// Through the template, with control tokens read as such.
Result<std::vector<int32_t>> ChatSession::encode(std::span<const ChatMessage> messages) const {
  QUERN_ASSIGN_OR_RETURN(const std::string text, renderer_(messages, true));
  EncodeOptions options;
  // The template's own control tokens ("<|im_start|>") are text here and must become single ids.
  options.parse_special = true;
  options.add_special = false;  // templates write the begin token themselves
  return engine_->tokenizer().encode(text, options);
}

// A prompt with room for the answer, or the last turn alone with whatever room there is.
Result<std::vector<int32_t>> ChatSession::fit(std::vector<ChatMessage>& messages,
                                              int64_t& num_dropped) const {
  while (true) {
    QUERN_ASSIGN_OR_RETURN(auto ids, encode(messages));
    const auto size = static_cast<int64_t>(ids.size());
    // The prompt and the room for the answer fit.
    if (size + reserve_ <= engine_->context_length()) return ids;
    if (!drop_oldest_turn(messages)) {
      // The last turn alone may use the room that was meant for the answer; one token must be left.
      if (size < engine_->context_length()) return ids;
      return fail::out_of_range("The message needs {} tokens; the context has {}.", size,
                                engine_->context_length());
    }
    ++num_dropped;
  }
}

// Tokens of `ids` that the cache holds afterwards; the last one is always computed again.
Result<int64_t> ChatSession::align_cache(std::span<const int32_t> ids) {
  // The last token of the prompt is always run: its logits are wanted.
  const auto usable = ids.first(ids.size() - 1);
  const CacheGap gap = find_cache_gap(cached_, usable);
  // Where the model cannot evict, the plain prefix is kept and the rest runs again.
  // An error leaves rows before `start` as they were, and only those are kept below.
  if (gap.count > 0 && engine_->evict(sequence_, gap.start, gap.count)) {
    cached_.erase(cached_.begin() + gap.start, cached_.begin() + gap.start + gap.count);
  }
  const int64_t kept = common_prefix(cached_, usable);
  QUERN_ASSIGN_OR_RETURN(const int64_t length, engine_->kv().length(sequence_));
  // From the first difference to the end: no survivors, so this works with every model.
  QUERN_TRY(engine_->evict(sequence_, kept, length - kept));
  cached_.resize(static_cast<size_t>(kept));
  return kept;
}

// A message of the user and of the model join the conversation only when there is an answer.
Result<ChatReply> ChatSession::answer(const std::string& user, const GenerateOptions& options,
                                      const TextSink& sink) {
  // A copy, so that an error or a full context changes nothing.
  std::vector<ChatMessage> messages = messages_;
  messages.push_back({"user", user});
  ChatReply reply;
  QUERN_ASSIGN_OR_RETURN(const auto ids, fit(messages, reply.num_dropped_turns));
  if (ids.empty()) return fail::invalid("The chat template renders nothing.");
  QUERN_ASSIGN_OR_RETURN(reply.num_reused, align_cache(ids));
  const auto rest = std::span<const int32_t>(ids).subspan(static_cast<size_t>(reply.num_reused));
  GenerateOptions with_history = options;
  // Penalties must see the whole conversation, not only what was not cached.
  with_history.history.assign(ids.begin(), ids.begin() + reply.num_reused);
  auto generation = generate(*engine_, sequence_, rest, with_history, sink);
  // After an error too, the cache holds a prefix of the prompt: remember which.
  QUERN_ASSIGN_OR_RETURN(const int64_t length, engine_->kv().length(sequence_));
  cached_ = ids;
  if (generation) {
    const auto& tokens = generation->tokens;
    cached_.insert(cached_.end(), tokens.begin(), tokens.end());
  }
  // The last sampled token may not be in the cache yet: nobody fed it back.
  cached_.resize(std::min(cached_.size(), static_cast<size_t>(length)));
  if (!generation) return tl::unexpected(generation.error());
  const bool is_unanswered =
      generation->reason == StopReason::kCancelled && generation->tokens.empty();
  // Stopped before the first token: as if the message had not been sent.
  if (is_unanswered) {
    reply.num_dropped_turns = 0;
    reply.generation = std::move(*generation);
    return reply;
  }
  messages.push_back({"assistant", generation->text});
  messages_ = std::move(messages);
  reply.generation = std::move(*generation);
  return reply;
}

}  // namespace quern
