// The chain and the draw.
// Sums are made in double precision and in one order, so that the choice is the same on every
// machine.
#include "generate/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "generate/samplers/logit_bias.h"
#include "generate/samplers/mirostat.h"

namespace quern {
namespace {

// Mirostat replaces the filters; what shapes logits before it stays.
bool works_with_mirostat(SamplerStageKind kind) {
  return kind == SamplerStageKind::kPenalties || kind == SamplerStageKind::kDry ||
         kind == SamplerStageKind::kTemperature;
}

// NaN has no place in an order; -infinity and infinity do.
Result<void> check_logits(std::span<const float> logits) {
  if (logits.empty()) return fail::invalid("There are no logits to sample from.");
  for (size_t i = 0; i < logits.size(); ++i) {
    // A NaN also says that the model's run went wrong: an answer would be noise.
    if (std::isnan(logits[i])) return fail::invalid("The logit of token {} is NaN.", i);
  }
  return {};
}

// The highest logit, the lowest token among equals.
Candidate best_of(std::span<const Candidate> list) {
  Candidate best = list.front();
  for (const Candidate& c : list) {
    // Candidates may stand in any order here: greedy sampling sorts nothing.
    if (c.logit > best.logit || (c.logit == best.logit && c.token < best.token)) best = c;
  }
  return best;
}

// The first candidate at which the sum of probabilities passes u, in f64.
Candidate draw(std::span<const Candidate> list, float u) {
  double sum = 0.0;
  for (const Candidate& c : list) {
    sum = sum + static_cast<double>(c.probability);
    // u < 1: with exact sums the last candidate would always be reached.
    if (static_cast<double>(u) < sum) return c;
  }
  // Rounding left the sum below u: the last one with a share.
  size_t last = list.size() - 1;
  // A candidate without a share must never be drawn.
  while (last > 0 && list[last].probability == 0.0F) --last;
  return list[last];
}

}  // namespace

// Stages that are off are not made.
Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  // Version 1, which estimates the exponent of Zipf's law, is not offered.
  const bool has_mirostat = options_.mirostat.version == 2;
  for (const SamplerStageKind kind : options_.order) {
    if (has_mirostat && !works_with_mirostat(kind)) continue;
    if (auto stage = make_sampler_stage(kind, options_)) stages_.push_back(std::move(stage));
  }
  if (has_mirostat) stages_.push_back(std::make_unique<MirostatStage>(options_.mirostat));
}

// Their range is checked against the logits when one is sampled.
void Sampler::accept(std::span<const int32_t> tokens) {
  history_.insert(history_.end(), tokens.begin(), tokens.end());
  for (const int32_t token : tokens) {
    lowest_seen_ = std::min(lowest_seen_, token);
    highest_seen_ = std::max(highest_seen_, token);
  }
}

// Stages in order, then the draw, then the chosen one back to the stages.
Candidate Sampler::choose(const StageContext& context) {
  const bool is_greedy = options_.temperature == 0;
  for (const auto& stage : stages_) {
    if (!is_greedy || stage->acts_when_greedy()) stage->apply(candidates_, context);
  }
  // Needs no probabilities, so that greedy decoding skips the exponentials.
  if (is_greedy) return best_of(candidates_.list());
  candidates_.normalise();
  const Candidate chosen = draw(candidates_.list(), context.uniform(kDrawRandom));
  for (const auto& stage : stages_) stage->observe(chosen);
  return chosen;
}

// Checks come before the history changes.
Result<int32_t> Sampler::sample(std::span<const float> logits, const TokenMask* allowed) {
  QUERN_TRY(check_logits(logits));
  // Penalties and DRY index tables by token.
  if (lowest_seen_ < 0 || static_cast<size_t>(highest_seen_) >= logits.size()) {
    return fail::invalid("The history holds token {}; there are {} logits.",
                         lowest_seen_ < 0 ? lowest_seen_ : highest_seen_, logits.size());
  }
  candidates_.assign(logits, allowed);
  // Before the stages, while candidates are in the order of tokens.
  add_logit_bias(options_.logit_bias, candidates_);
  if (candidates_.is_empty()) {
    return fail::invalid("No token is left to sample: the mask or the logit bias forbids all {}.",
                         logits.size());
  }
  // The counter of the random numbers: step i draws number i, whatever else was sampled.
  const int32_t token = choose({history_, options_.seed, num_sampled_++}).token;
  if (options_.num_logprobs >= 0) {
    // From the row as it came, not from the candidates that are left.
    logprobs_ = log_probabilities(logits, token, options_.num_logprobs);
  }
  history_.push_back(token);
  return token;
}

}  // namespace quern
