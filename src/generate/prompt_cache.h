// The sequence of an earlier run in a file, reused as far as a new prompt begins with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "generate/engine.h"

namespace quern {

// The sequence is the caller's.
struct CachedPrompt {
  int32_t sequence = 0;
  int64_t num_reused = 0;  // tokens of the prompt that are in the sequence already
};

// A sequence that holds the tokens which the file and the prompt begin with in common; an empty one
// where there is no file or no path. The last token of the prompt is never reused: its logits are
// wanted. Errors: of load_sequence(), but not that the file is absent.
Result<CachedPrompt> open_prompt_cache(Engine& engine, const std::string& path,
                                       std::span<const int32_t> prompt);

}  // namespace quern
