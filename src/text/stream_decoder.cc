// At most three bytes are held: a longer prefix would be whole or broken.
// What was given out is never taken back.
#include "text/stream_decoder.h"

#include <utility>

#include "text/utf8.h"

namespace quern {

// Bytes of an unfinished character are held back until the next token.
std::string StreamDecoder::push(int32_t id) {
  // Only the first token with text may lose the space in front.
  DecodeOptions options = options_;
  options.strip_space_prefix = options_.strip_space_prefix && !has_begun_;
  const bool is_skipped = options.skip_special && tokenizer_.is_special(id);
  if (id >= 0 && id < tokenizer_.vocab_size() && !is_skipped) has_begun_ = true;
  held_ += tokenizer_.decode({&id, 1}, options);
  std::string text;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const size_t valid = valid_utf8_prefix(rest);
    text += rest.substr(0, valid);
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const Utf8Step step = decode_utf8(rest);
    // The next token may finish it; anything that no token can repair is replaced at once.
    if (step.status == Utf8Status::kTruncated) break;
    text += kReplacementCharacter;
    rest.remove_prefix(step.size);
  }
  held_ = std::string(rest);
  return text;
}

// What is held at the end was never a whole character: it becomes the replacement character.
std::string StreamDecoder::flush() {
  has_begun_ = false;
  return replace_invalid_utf8(std::exchange(held_, {}));
}

}  // namespace quern
