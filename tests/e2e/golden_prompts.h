// Suites of golden prompts: token ids, the logits behind the prompt and the greedy continuation,
// all by independent float64 arithmetic on the weights of a real file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "e2e/model_runner.h"

namespace quern::test {

// How near a run must come; from the README of a suite.
struct GoldenBound {
  Activations activations;
  double logit;   // largest difference of a logit
  double margin;  // greedy ids are equal up to the first step whose margin is below; infinite: none
};

// The list in `suite`/golden.json: id, prompt, prompt_ids, greedy_ids, margin of each greedy step.
nlohmann::json golden_prompts(const std::string& suite);

// Runs one prompt of the suite, prints the figures and expects the bound. The engine has the
// activations of the bound. At most `max_greedy` greedy tokens are run.
void expect_golden(Engine& engine, const std::string& suite, const nlohmann::json& prompt,
                   const GoldenBound& bound, size_t max_greedy = 64);

}  // namespace quern::test
