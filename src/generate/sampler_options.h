// How the next token is chosen: the options of every stage, and the order of the stages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/tokenizer.h"

namespace quern {

// The stages whose order can be chosen. What they do is in samplers/<name>.h.
enum class SamplerStageKind : uint8_t {
  kPenalties,
  kDry,
  kTopNSigma,
  kTopK,
  kTypical,
  kTopP,
  kMinP,
  kXtc,
  kTemperature,
};

// Options of the stages; what they do is in samplers/<name>.h, what is allowed in
// check_sampler_options(). All are plain values; a default-made one is off.
struct PenaltyOptions {
  double repeat = 1.0;     // divides positive logits of tokens seen, multiplies others; 1: off
  double frequency = 0.0;  // subtracted for each time that a token was seen
  // In logits, as the others: before the temperature.
  double presence = 0.0;   // subtracted once for a token that was seen
  int64_t window = 64;     // last tokens that count, the prompt included; -1: all; 0: off
};

// See samplers/dry.h.
struct DryOptions {
  double multiplier = 0.0;  // 0: off
  // The penalty grows by this factor for each repeated token.
  double base = 1.75;
  int64_t allowed_length = 2;  // repeated tokens that cost nothing
  int64_t range = -1;          // last tokens that are searched; -1: all; 0: off
};

// See samplers/xtc.h.
struct XtcOptions {
  double probability = 0.0;  // share of tokens where it acts; 0: off
  double threshold = 0.1;    // over 0.5: never more than one token reaches it, so off
};

// See samplers/mirostat.h.
struct MirostatOptions {
  int version = 0;   // 0: off; 2
  double tau = 5.0;  // surprise aimed at, in bits
  double eta = 0.1;  // learning rate
};

// A temperature between temperature - range and temperature + range, by the entropy.
struct DynamicTemperatureOptions {
  double range = 0.0;  // 0: off
  // Of the entropy's share.
  double exponent = 1.0;
};

// Added to one token's logit, before all stages.
struct LogitBias {
  int32_t token = 0;
  float bias = 0.0F;  // -infinity forbids the token
};

// The usual order: penalties first, filters from coarse to fine, temperature last.
inline std::vector<SamplerStageKind> default_sampler_order() {
  using enum SamplerStageKind;
  return {kPenalties, kDry, kTopNSigma, kTopK, kTypical, kTopP, kMinP, kXtc, kTemperature};
}

// All that decides the next token, but the logits and what was said before. A plain value.
struct SamplerOptions {
  double temperature = 0.8;  // 0: greedy
  int64_t top_k = 40;        // 0: off
  double top_p = 0.95;       // 1: off
  double min_p = 0.05;       // 0: off
  // The same seed gives the same tokens.
  uint64_t seed = 0;
  double typical_p = 1.0;    // 1: off
  double top_n_sigma = 0.0;  // 0: off
  // Stages with several options.
  PenaltyOptions penalties = {};
  DryOptions dry = {};
  std::vector<int32_t> dry_breakers = {};  // tokens that no repetition spans; dry_breaker_tokens()
  XtcOptions xtc = {};
  MirostatOptions mirostat = {};
  DynamicTemperatureOptions dynamic_temperature = {};
  std::vector<LogitBias> logit_bias = {};
  std::vector<SamplerStageKind> order = default_sampler_order();
  int64_t num_logprobs = -1;  // most probable tokens to report with each token; -1: no report
};

// Errors: kInvalidArgument with the option, its value and its range.
Result<void> check_sampler_options(const SamplerOptions& options);

// "penalties", "dry", "top_n_sigma", ...: the words of --samplers.
std::string_view sampler_stage_name(SamplerStageKind kind);
// "penalties;top_k;temperature". A stage that is left out does nothing.
// Errors: kInvalidArgument for an unknown name (the message lists those known) or a repeated one.
Result<std::vector<SamplerStageKind>> parse_sampler_order(std::string_view text);
// The inverse of parse_sampler_order().
std::string sampler_order_text(const std::vector<SamplerStageKind>& order);

// "15+1.5", "15-2", "15-inf".
// Errors: kInvalidArgument for other forms, NaN or +infinity.
Result<LogitBias> parse_logit_bias(std::string_view text);

// The tokens whose bytes contain one of the texts, sorted: for SamplerOptions::dry_breakers.
std::vector<int32_t> dry_breaker_tokens(const Tokenizer& tokenizer,
                                        const std::vector<std::string>& texts);

}  // namespace quern
