// How well a model predicts a text.
#pragma once

#include <cstdint>
#include <span>

#include "generate/engine.h"

namespace quern {

// A measurement. A plain value.
struct Perplexity {
  double value = 0;        // exp of the mean negative log likelihood
  double uncertainty = 0;  // standard error of `value`
  // Tokens whose surprise was summed, and chunks that they stood in.
  int64_t num_scored = 0;
  int64_t num_chunks = 0;
};

// The usual way of llama.cpp: chunks of `context` tokens, each run as a sequence of its own with
// its first token replaced by the begin token where the tokenizer adds one; of each chunk the
// predictions at positions context/2 .. context-2 count. Log likelihoods are in float64.
// Errors: kInvalidArgument for a context below 4 or a text shorter than one chunk.
Result<Perplexity> measure_perplexity(Engine& engine, std::span<const int32_t> tokens,
                                      int64_t context, const Progress& progress);

}  // namespace quern
