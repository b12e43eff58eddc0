// Choosing the next token from logits: a chain of stages, then one draw.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "generate/sampler_options.h"
#include "generate/samplers/candidates.h"
#include "generate/samplers/log_probabilities.h"
#include "generate/samplers/stage.h"
#include "quern/error.h"
#include "text/grammar/token_mask.h"

namespace quern {

// Order: the tokens of the mask; logit bias; the stages of SamplerOptions::order; one Philox number
// (key: seed, counter: index of the token). With Mirostat, it takes the place of all stages but
// penalties, DRY and temperature, after them. At temperature 0 only bias, penalties and DRY act,
// and the best token is taken, the lowest id among equals.
// The same logits, options, history and index give the same token on every machine. One thread
// only.
class Sampler {
 public:
  // The options must have passed check_sampler_options().
  explicit Sampler(const SamplerOptions& options);

  // Tokens before the first sampled one (the prompt), for penalties and DRY.
  void accept(std::span<const int32_t> tokens);

  // One of the tokens in the mask (null: all), which joins the history.
  // Errors: kInvalidArgument for a NaN logit, no logits, a token of the history without one, or
  // when nothing is left to choose from.
  Result<int32_t> sample(std::span<const float> logits, const TokenMask* allowed = nullptr);

  // Of the last sampled token; null unless the options ask for it.
  const LogprobReport* logprobs() const { return logprobs_ ? &*logprobs_ : nullptr; }

 private:
  // Runs the stages over candidates_ and draws one.
  Candidate choose(const StageContext& context);

  // As given, and what was made of them.
  SamplerOptions options_;
  std::vector<std::unique_ptr<SamplerStage>> stages_;
  std::vector<int32_t> history_;
  int32_t lowest_seen_ = 0;  // of the history
  // Of all tokens accepted.
  int32_t highest_seen_ = 0;
  // The counter of the random numbers.
  uint64_t num_sampled_ = 0;
  // Kept, so that sampling allocates nothing.
  Candidates candidates_;
  // Of the last sample.
  std::optional<LogprobReport> logprobs_;
};

}  // namespace quern
