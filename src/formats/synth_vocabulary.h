// A byte-level BPE vocabulary for synthetic models.
#pragma once

#include <cstdint>
#include <string_view>

#include "formats/metadata.h"

namespace quern {

// The least vocabulary: special tokens, 256 bytes and the results of the merges.
int64_t min_synth_vocabulary();

// Adds the tokenizer.ggml keys of `num_tokens` >= min_synth_vocabulary() tokens: any text can be
// tokenized, a few English merges apply, and the rest are filler words that decode to text.
void add_synth_vocabulary(Metadata& metadata, int64_t num_tokens, std::string_view pre_tokenizer);

}  // namespace quern
