// A conversation as the text that a model was trained on.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "quern/error.h"
#include "text/tokenizer.h"

namespace quern {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", ...
  std::string content;
};

// Renders the messages with a chat template of the usual Jinja dialect; `adds_generation_prompt`
// opens the assistant's answer. The text holds control tokens by name.
// Errors: kInvalidArgument where the template refuses the messages or is malformed.
Result<std::string> render_chat_template(std::string_view source, const Tokenizer& tokenizer,
                                         std::span<const ChatMessage> messages,
                                         bool adds_generation_prompt);

}  // namespace quern
