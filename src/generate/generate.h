// Text from a model, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generate/engine.h"
#include "generate/sampler.h"

namespace quern {

struct GenerateOptions {
  int64_t max_tokens = -1;  // -1: until the model or the context ends
  SamplerOptions sampler;
  std::vector<std::string> stops;
  int64_t prefill_chunk = 512;
};

enum class StopReason : uint8_t { kEndToken, kStopString, kMaxTokens, kContextFull, kCancelled };
std::string_view stop_reason_name(StopReason reason);

struct Generation {
  std::string text;             // without the stop string
  std::vector<int32_t> tokens;  // sampled, an end token included
  StopReason reason = StopReason::kMaxTokens;
  double prefill_seconds = 0;
  double decode_seconds = 0;  // of all tokens after the first
};

// Told each piece of valid UTF-8 as it comes; returning false ends the generation.
using TextSink = std::function<bool(std::string_view piece)>;

// Appends the prompt (at least one token) to the sequence and samples from there on.
// Errors: of Engine::forward and Sampler; a prompt longer than the context.
Result<Generation> generate(Engine& engine, int32_t sequence, std::span<const int32_t> prompt,
                            const GenerateOptions& options, const TextSink& sink);

}  // namespace quern
