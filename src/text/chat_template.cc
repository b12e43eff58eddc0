// Rendering of chat templates.
#include "text/chat_template.h"

#include "base/fail.h"

namespace quern {

Result<std::string> render_chat_template(std::string_view, const Tokenizer&,
                                         std::span<const ChatMessage>, bool) {
  return fail::unimplemented("Chat templates are not supported yet.");
}

}  // namespace quern
