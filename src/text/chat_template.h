// A conversation as the text that a model was trained on: templates in the Jinja dialect that
// model files carry, with the settings, filters and functions that Hugging Face's transformers
// gives them. Templates come from untrusted files: their time, memory and output are limited.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/error.h"
#include "text/jinja/civil_time.h"
#include "text/jinja/limits.h"
#include "text/tokenizer.h"

namespace quern {

// One turn of a conversation with plain text.
struct ChatMessage {
  std::string role;  // "system", "user", "assistant", ...
  // UTF-8; templates may change it.
  std::string content;
};

// The variables of a template. JSON objects keep the order of their keys.
struct ChatInputs {
  // Objects with role and content, and whatever else the template knows: tool calls, images.
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  // Absent: undefined. null, the default: none, as transformers passes what was not given.
  std::optional<nlohmann::ordered_json> tools = nlohmann::ordered_json();
  // Of retrieval; null where there are none.
  std::optional<nlohmann::ordered_json> documents = nlohmann::ordered_json();
  // Whether the text ends with the begin of an answer.
  bool add_generation_prompt = true;
  // Texts of the tokens; empty where the model has none.
  std::string bos_token;
  std::string eos_token;
  // Further variables by name ("enable_thinking", "date_string"); they go before those above.
  nlohmann::ordered_json extra = nlohmann::ordered_json::object();
  // What strftime_now() shows; absent: the function is undefined.
  std::optional<jinja::CivilTime> time;
  // What one rendering may use.
  jinja::Limits limits;
};

// Immutable and thread-safe.
class ChatTemplate {
 public:
  // The largest template of a known model has 40 KiB.
  static constexpr size_t kMaxSourceBytes = size_t{1} << 20;

  // Errors: kInvalidArgument (malformed; the message has line and column), kUnimplemented (tags
  // that need other files), kResourceExhausted (too large, or nested too deeply).
  static Result<ChatTemplate> parse(std::string_view source);

  // Errors: kInvalidArgument (the template refuses the messages: the message has its words; or it
  // uses a value in a way that the value does not have), kResourceExhausted (past the limits).
  Result<std::string> render(const ChatInputs& inputs) const;

  // Moves only: the tree has one owner.
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

 private:
  struct Parsed;
  // Made by parse().
  explicit ChatTemplate(std::unique_ptr<const Parsed> parsed);
  std::unique_ptr<const Parsed> parsed_;
};

// The local time of now, for ChatInputs::time.
jinja::CivilTime local_civil_time();

// Parses and renders with the special tokens of a tokenizer and the local time. The text holds
// control tokens by name. Errors: as above.
Result<std::string> render_chat_template(std::string_view source, const Tokenizer& tokenizer,
                                         std::span<const ChatMessage> messages,
                                         bool adds_generation_prompt);

}  // namespace quern
