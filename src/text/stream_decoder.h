// Token by token back to text that can be shown at once: whole characters only.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace quern {

// What push() and flush() return is always valid UTF-8, and all of it together is
// replace_invalid_utf8(tokenizer.decode(ids, options)). One thread only; the tokenizer must live
// longer.
class StreamDecoder {
 public:
  // Borrows the tokenizer.
  explicit StreamDecoder(const Tokenizer& tokenizer, const DecodeOptions& options = {})
      : tokenizer_(tokenizer), options_(options) {}

  // The text that is complete now; "" while a character is unfinished.
  std::string push(int32_t id);
  // The end: U+FFFD for what stays unfinished, else "". The decoder then begins anew.
  std::string flush();

 private:
  const Tokenizer& tokenizer_;
  DecodeOptions options_;
  std::string held_;  // the begin of a sequence
  // Whether some text came out already: only the first loses its space.
  bool has_begun_ = false;
};

}  // namespace quern
