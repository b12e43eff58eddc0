// Each stage alone, against answers that NumPy computed in float64 (tests/data/samplers).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "generate/samplers/dry.h"
#include "generate/samplers/head_filters.h"
#include "generate/samplers/log_probabilities.h"
#include "generate/samplers/logit_bias.h"
#include "generate/samplers/mirostat.h"
#include "generate/samplers/penalties.h"
#include "generate/samplers/stage.h"
#include "generate/samplers/temperature.h"
#include "generate/samplers/top_n_sigma.h"
#include "generate/samplers/typical.h"
#include "generate/samplers/xtc.h"

namespace quern {
namespace {

using Json = nlohmann::json;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// By the names of the file of answers.
std::unique_ptr<SamplerStage> make_stage(const std::string& name, const Json& o) {
  if (name == "penalties") {
    return std::make_unique<PenaltiesStage>(
        PenaltyOptions{o["repeat"], o["frequency"], o["presence"], o["window"]});
  }
  if (name == "dry") {
    return std::make_unique<DryStage>(
        DryOptions{o["multiplier"], o["base"], o["allowed_length"], o["range"]},
        o["breakers"].get<std::vector<int32_t>>());
  }
  if (name == "top_n_sigma") return std::make_unique<TopNSigmaStage>(o["n"].get<double>());
  if (name == "top_k") return std::make_unique<TopKStage>(o["k"].get<int64_t>());
  if (name == "top_p") return std::make_unique<TopPStage>(o["p"].get<double>());
  if (name == "min_p") return std::make_unique<MinPStage>(o["p"].get<double>());
  if (name == "typical") return std::make_unique<TypicalStage>(o["p"].get<double>());
  if (name == "xtc") {
    return std::make_unique<XtcStage>(XtcOptions{o["probability"], o["threshold"]});
  }
  if (name == "temperature") {
    return std::make_unique<TemperatureStage>(o["temperature"].get<double>(),
                                              DynamicTemperatureOptions{o["range"], o["exponent"]});
  }
  if (name == "mirostat") {
    return std::make_unique<MirostatStage>(MirostatOptions{2, o["tau"], o["eta"]});
  }
  return nullptr;
}

std::vector<int32_t> tokens_of(const Candidates& candidates) {
  std::vector<int32_t> tokens;
  for (const Candidate& c : candidates.list()) tokens.push_back(c.token);
  return tokens;
}

// All tokens with these logits.
Candidates filled(const std::vector<float>& logits) {
  Candidates candidates;
  candidates.assign(logits, nullptr);
  return candidates;
}

// One stage, its options, logits and what must be left.
void check_case(const Json& entry) {
  const std::string name = entry["stage"];
  SCOPED_TRACE(name + " " + entry["options"].dump());
  const std::vector<float> logits = entry["logits"];
  const std::vector<int32_t> history = entry["history"];
  const std::vector<int32_t> tokens = entry["tokens"];
  const std::vector<double> values = entry["values"];
  if (name == "logprobs") {
    const auto report = log_probabilities(logits, tokens[0], entry["options"]["top"]);
    ASSERT_EQ(report.top.size(), tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(report.top[i].token, tokens[i]);
      EXPECT_NEAR(report.top[i].logprob, values[i], 1e-7);
    }
    return;
  }
  const auto stage = make_stage(name, entry["options"]);
  ASSERT_NE(stage, nullptr);
  Candidates candidates = filled(logits);
  stage->apply(candidates, {history, 1, 0});
  const bool gives_logits = name == "penalties" || name == "dry";
  if (!gives_logits) candidates.normalise();
  ASSERT_EQ(tokens_of(candidates), tokens);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Candidate& c = candidates.list()[i];
    // A few roundings of f32: 1e-6 of the value.
    EXPECT_NEAR(gives_logits ? c.logit : c.probability, values[i],
                2e-6 * std::max(1.0, std::abs(values[i])));
  }
}

// More than a hundred cases of every stage.
TEST(SamplerStages, KnownAnswers) {
  std::ifstream file(std::string(QUERN_TEST_DATA_DIR) + "/samplers/known_answers.json");
  ASSERT_TRUE(file);
  const Json cases = Json::parse(file);
  EXPECT_GE(cases.size(), 100U);
  for (const Json& entry : cases) check_case(entry);
}

// Whatever the logits: infinite, equal, or single.
TEST(SamplerStages, OneCandidateSurvivesEveryStage) {
  SamplerOptions options{.temperature = 0.5, .top_k = 1, .top_p = 0.01, .min_p = 1};
  options.typical_p = 0.01;
  options.top_n_sigma = 0.1;
  options.xtc = {1.0, 0.0};
  options.dynamic_temperature = {0.5, 1.0};
  for (const std::vector<float>& logits : {std::vector<float>{1.0F},
                                           {-kInfinity, -kInfinity},
                                           {kInfinity, kInfinity, 0.0F},
                                           {0.0F, 0.0F, 0.0F, 0.0F},
                                           {1e38F, -1e38F},
                                           {1e-45F, 0.0F}}) {
    for (const SamplerStageKind kind : options.order) {
      auto stage = make_sampler_stage(kind, options);
      if (stage == nullptr) continue;
      Candidates candidates = filled(logits);
      stage->apply(candidates, {});
      candidates.normalise();
      ASSERT_FALSE(candidates.is_empty()) << sampler_stage_name(kind);
      for (const Candidate& c : candidates.list()) {
        EXPECT_TRUE(c.probability >= 0 && c.probability <= 1) << sampler_stage_name(kind);
      }
    }
  }
}

// So that sorting is the same everywhere.
TEST(Candidates, EqualLogitsSortByToken) {
  Candidates candidates = filled({1.0F, 2.0F, 2.0F, 1.0F, 2.0F});
  candidates.keep_best(4);
  EXPECT_EQ(tokens_of(candidates), (std::vector<int32_t>{1, 2, 4, 0}));
}

// Biases of one token add up; unknown tokens do nothing.
TEST(LogitBias, AddsAndForbids) {
  Candidates candidates = filled({1.0F, 2.0F, 3.0F});
  const std::vector<LogitBias> biases = {{0, 1.5F}, {0, 1.0F}, {2, -kInfinity}, {7, 1.0F}};
  add_logit_bias(biases, candidates);
  EXPECT_EQ(tokens_of(candidates), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(candidates.list()[0].logit, 3.5F);
}

// Counts begin anew for each token.
TEST(Penalties, TokensOutsideTheWindowAreFree) {
  PenaltiesStage stage({2.0, 0.0, 0.0, 2});
  for (int round = 0; round < 2; ++round) {  // counts do not stay
    Candidates candidates = filled({4.0F, -4.0F, 4.0F});
    const std::vector<int32_t> history = {2, 0, 1};
    stage.apply(candidates, {history});
    EXPECT_EQ(candidates.list()[0].logit, 2.0F);
    EXPECT_EQ(candidates.list()[1].logit, -8.0F);
    EXPECT_EQ(candidates.list()[2].logit, 4.0F);
  }
}

// The penalty grows exponentially.
TEST(Dry, LongRepetitionsStayFinite) {
  DryStage stage({100.0, 3.0, 2, -1}, {});
  Candidates candidates = filled({0.0F, 0.0F});
  const std::vector<int32_t> history(5000, 0);
  stage.apply(candidates, {history});
  EXPECT_EQ(candidates.list()[0].logit, -1e30F);
  EXPECT_EQ(candidates.list()[1].logit, 0.0F);
}

// Over many tokens.
TEST(Xtc, ActsAsOftenAsItsProbability) {
  XtcStage stage({0.25, 0.1});
  int num_acts = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    Candidates candidates = filled({1.0F, 1.0F, 0.0F});
    stage.apply(candidates, {{}, 5, i});
    if (candidates.size() < 3) ++num_acts;
  }
  EXPECT_NEAR(num_acts / 4000.0, 0.25, 0.03);
}

// By the formula of the paper.
TEST(Mirostat, SurpriseMovesTheCut) {
  MirostatStage stage({2, 1.0, 0.5});  // mu = 2: keeps p >= 1/4
  Candidates candidates = filled({0.0F, 0.0F, 0.0F, 0.0F});
  stage.apply(candidates, {});
  EXPECT_EQ(candidates.size(), 4U);
  stage.observe({0, 0.0F, 0.125F});  // 3 bits: mu = 2 - 0.5 * (3 - 1) = 1
  candidates = filled({0.0F, 0.0F, 0.0F, 0.0F});
  stage.apply(candidates, {});
  EXPECT_EQ(candidates.size(), 1U);
}

}  // namespace
}  // namespace quern
