// Constants added to the logits of chosen tokens, before all stages.
#pragma once

#include <span>

#include "generate/sampler_options.h"
#include "generate/samplers/candidates.h"

namespace quern {

// logit = logit + bias in f32, in the order of the list; a bias of -infinity removes the token.
// Tokens outside the candidates are ignored. The candidates are in the order of their tokens.
void add_logit_bias(std::span<const LogitBias> biases, Candidates& candidates);

}  // namespace quern
