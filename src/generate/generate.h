// Text from a model, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generate/engine.h"
#include "generate/sampler.h"
#include "text/grammar/grammar.h"

namespace quern {

// When an answer ends and how its tokens are chosen. A plain value.
struct GenerateOptions {
  int64_t max_tokens = -1;  // -1: until the model or the context ends
  SamplerOptions sampler;
  std::optional<Grammar> grammar;  // that the answer is held to
  // Text at which the answer ends; it is not part of it.
  std::vector<std::string> stops;
  // Tokens that are in the sequence before the prompt; penalties and DRY count them too.
  std::vector<int32_t> history;
  // Tokens of the prompt in one run: more need more memory.
  // The bits do not depend on it.
  int64_t prefill_chunk = 512;
  // Shown each row of logits before a token is chosen from it.
  std::function<void(std::span<const float> logits)> on_logits = {};
};

// Why an answer ended.
enum class StopReason : uint8_t {
  kEndToken,
  kStopString,
  kMaxTokens,
  kContextFull,
  kCancelled,
  kGrammarEnd,  // nothing can follow the text in the grammar
};
// "end_token", "stop_string", ...: the words of JSON output.
std::string_view stop_reason_name(StopReason reason);

// An answer and how it came. A plain value.
struct Generation {
  std::string text;                     // without the stop string
  std::vector<int32_t> tokens;          // sampled, an end token included
  std::vector<LogprobReport> logprobs;  // one per token, where SamplerOptions ask for it
  // The last thing that was checked.
  StopReason reason = StopReason::kMaxTokens;
  // Of the prompt, with the first token's logits.
  double prefill_seconds = 0;
  double decode_seconds = 0;  // of all tokens after the first
};

// Pieces may be empty: then the sink only says whether to go on.
// Told each piece of valid UTF-8 as it comes; returning false ends the generation.
using TextSink = std::function<bool(std::string_view piece)>;

// Appends the prompt (at least one token) to the sequence and samples from there on. A sink that
// says no during the prompt leaves the part of it that was run, and no token.
// Penalties count the tokens of the prompt too, so that they do not depend on what was cached.
// Errors: of Engine::forward, Sampler and TokenConstraint; a prompt longer than the context.
Result<Generation> generate(Engine& engine, int32_t sequence, std::span<const int32_t> prompt,
                            const GenerateOptions& options, const TextSink& sink);

}  // namespace quern
