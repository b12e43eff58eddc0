// Each stage on random logits against the plain formula, in double precision and without any of the
// stage's shortcuts. Cases in which a candidate lies on the border of a cut are left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "generate/samplers/dry.h"
#include "generate/samplers/head_filters.h"
#include "generate/samplers/mirostat.h"
#include "generate/samplers/penalties.h"
#include "generate/samplers/temperature.h"
#include "generate/samplers/top_n_sigma.h"
#include "generate/samplers/typical.h"
#include "generate/samplers/xtc.h"

namespace quern {
namespace {

constexpr int kRounds = 200;
// Differences below this are rounding of f32, not a decision.
constexpr double kBorder = 1e-5;

using Tokens = std::set<int32_t>;

std::vector<float> random_logits(std::mt19937& random) {
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(2 + random() % 30);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

// Softmax by its definition.
std::vector<double> probabilities(const std::vector<float>& logits, double temperature = 1) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  double sum = 0;
  for (const float logit : logits) p.push_back(std::exp((logit - highest) / temperature));
  for (const double x : p) sum += x;
  for (double& x : p) x /= sum;
  return p;
}

// Token ids by falling probability.
std::vector<int32_t> by_probability(const std::vector<double>& p) {
  std::vector<int32_t> order(p.size());
  for (size_t i = 0; i < p.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return p[static_cast<size_t>(a)] > p[static_cast<size_t>(b)];
  });
  return order;
}

// What a stage leaves of the logits.
Candidates after(SamplerStage& stage, const std::vector<float>& logits,
                 const std::vector<int32_t>& history = {}) {
  Candidates candidates;
  candidates.assign(logits, nullptr);
  stage.apply(candidates, {history, 1, 0});
  return candidates;
}
Tokens tokens_of(const Candidates& candidates) {
  Tokens tokens;
  for (const Candidate& c : candidates.list()) tokens.insert(c.token);
  return tokens;
}

// The first tokens of `order` up to the one at which the sum reaches `share`; nothing where the
// decision hangs on rounding.
std::optional<Tokens> head_of(const std::vector<int32_t>& order, const std::vector<double>& p,
                              double share) {
  Tokens head;
  double sum = 0;
  for (const int32_t token : order) {
    sum += p[static_cast<size_t>(token)];
    head.insert(token);
    if (std::abs(sum - share) < kBorder) return std::nullopt;
    if (sum >= share) break;
  }
  return head;
}

// A k above the number of candidates keeps all.
TEST(StageProperties, TopKKeepsTheBest) {
  std::mt19937 random(1);
  for (int round = 0; round < kRounds; ++round) {
    const auto logits = random_logits(random);
    const auto order = by_probability(probabilities(logits));
    const size_t k = 1 + random() % (logits.size() + 3);
    TopKStage stage(static_cast<int64_t>(k));
    const size_t kept = std::min(k, order.size());
    EXPECT_EQ(tokens_of(after(stage, logits)),
              Tokens(order.begin(), order.begin() + static_cast<int64_t>(kept)));
  }
}

// The candidate that crosses the share stays.
TEST(StageProperties, TopPKeepsTheSmallestHeadThatReachesTheShare) {
  std::mt19937 random(2);
  int num_compared = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto logits = random_logits(random);
    const auto p = probabilities(logits);
    const double share = 0.05 + 0.9 * static_cast<double>(random() % 1000) / 1000;
    const auto expected = head_of(by_probability(p), p, share);
    if (!expected) continue;
    TopPStage stage(share);
    EXPECT_EQ(tokens_of(after(stage, logits)), *expected);
    ++num_compared;
  }
  EXPECT_GT(num_compared, kRounds * 9 / 10);
}

// A share of 0 keeps all, a share near 1 the best alone.
TEST(StageProperties, MinPKeepsAShareOfTheBest) {
  std::mt19937 random(3);
  for (int round = 0; round < kRounds; ++round) {
    const auto logits = random_logits(random);
    const auto p = probabilities(logits);
    const double share = static_cast<double>(random() % 1000) / 1000;
    const double limit = share * *std::max_element(p.begin(), p.end());
    Tokens expected;
    bool is_close = false;
    for (size_t i = 0; i < p.size(); ++i) {
      is_close = is_close || std::abs(p[i] - limit) < kBorder * limit;
      if (p[i] >= limit) expected.insert(static_cast<int32_t>(i));
    }
    if (is_close) continue;
    MinPStage stage(share);
    EXPECT_EQ(tokens_of(after(stage, logits)), expected) << share;
  }
}

// Which may leave the most probable candidate out.
TEST(StageProperties, TypicalKeepsWhatIsNearTheEntropy) {
  std::mt19937 random(4);
  for (int round = 0; round < kRounds; ++round) {
    const auto logits = random_logits(random);
    const auto p = probabilities(logits);
    double entropy = 0;
    for (const double x : p) entropy -= x * std::log(x);
    std::vector<double> nearness;  // falls with the distance, so that it can be sorted as p is
    for (const double x : p) nearness.push_back(-std::abs(-std::log(x) - entropy));
    const auto order = by_probability(nearness);
    bool has_tie = false;
    for (size_t i = 1; i < order.size(); ++i) {
      has_tie = has_tie || std::abs(nearness[static_cast<size_t>(order[i])] -
                                    nearness[static_cast<size_t>(order[i - 1])]) < kBorder;
    }
    const double share = 0.1 + 0.8 * static_cast<double>(random() % 1000) / 1000;
    const auto expected = head_of(order, p, share);
    if (has_tie || !expected) continue;
    TypicalStage stage(share);
    EXPECT_EQ(tokens_of(after(stage, logits)), *expected);
  }
}

// Deviations are those of the population.
TEST(StageProperties, TopNSigmaKeepsLogitsNearTheBest) {
  std::mt19937 random(5);
  for (int round = 0; round < kRounds; ++round) {
    const auto logits = random_logits(random);
    double mean = 0, squares = 0;
    for (const float logit : logits) mean += logit / static_cast<double>(logits.size());
    for (const float logit : logits) squares += (logit - mean) * (logit - mean);
    const double sigma = std::sqrt(squares / static_cast<double>(logits.size()));
    const double n = 0.1 + static_cast<double>(random() % 300) / 100;
    const double limit = *std::max_element(logits.begin(), logits.end()) - n * sigma;
    Tokens expected;
    bool is_close = false;
    for (size_t i = 0; i < logits.size(); ++i) {
      is_close = is_close || std::abs(logits[i] - limit) < kBorder;
      if (logits[i] >= limit) expected.insert(static_cast<int32_t>(i));
    }
    if (is_close) continue;
    TopNSigmaStage stage(n);
    EXPECT_EQ(tokens_of(after(stage, logits)), expected);
  }
}

// With a probability of 1 it always acts: all that reach the threshold go but the least of them.
TEST(StageProperties, XtcLeavesOneOfTheExpected) {
  std::mt19937 random(6);
  for (int round = 0; round < kRounds; ++round) {
    const auto logits = random_logits(random);
    const auto p = probabilities(logits);
    const double threshold = 0.02 + 0.4 * static_cast<double>(random() % 1000) / 1000;
    std::vector<int32_t> expected_tokens;
    bool is_close = false;
    for (const int32_t token : by_probability(p)) {
      const double x = p[static_cast<size_t>(token)];
      is_close = is_close || std::abs(x - threshold) < kBorder;
      if (x >= threshold) expected_tokens.push_back(token);
    }
    if (is_close) continue;
    Tokens expected;
    for (size_t i = 0; i < p.size(); ++i) expected.insert(static_cast<int32_t>(i));
    for (size_t i = 0; i + 1 < expected_tokens.size(); ++i) expected.erase(expected_tokens[i]);
    XtcStage stage({1.0, threshold});
    EXPECT_EQ(tokens_of(after(stage, logits)), expected) << threshold;
  }
}

// From nearly greedy to nearly even.
TEST(StageProperties, TemperatureIsAPowerOfTheProbabilities) {
  std::mt19937 random(7);
  for (const double temperature : {0.1, 0.7, 1.0, 1.5, 10.0}) {
    for (int round = 0; round < kRounds / 4; ++round) {
      const auto logits = random_logits(random);
      const auto p = probabilities(logits, temperature);
      TemperatureStage stage(temperature, {});
      Candidates candidates = after(stage, logits);
      candidates.normalise();
      ASSERT_EQ(candidates.size(), logits.size());
      for (const Candidate& c : candidates.list()) {
        EXPECT_NEAR(c.probability, p[static_cast<size_t>(c.token)], 1e-5);
      }
    }
  }
}

// In the order of the documentation, within the window.
TEST(StageProperties, PenaltiesAreTheFormula) {
  std::mt19937 random(8);
  for (int round = 0; round < kRounds; ++round) {
    const auto logits = random_logits(random);
    std::vector<int32_t> history(random() % 20);
    for (int32_t& token : history) {
      token = static_cast<int32_t>(random() % logits.size());
    }
    const PenaltyOptions options = {.repeat = 1.0 + static_cast<double>(random() % 8) / 4,
                                    .frequency = static_cast<double>(random() % 8) / 8,
                                    .presence = static_cast<double>(random() % 8) / 8,
                                    .window = static_cast<int64_t>(random() % 12) - 1};
    const size_t window = options.window < 0
                              ? history.size()
                              : std::min(history.size(), static_cast<size_t>(options.window));
    std::map<int32_t, int> counts;
    for (size_t i = history.size() - window; i < history.size(); ++i) ++counts[history[i]];
    PenaltiesStage stage(options);
    const Candidates candidates = after(stage, logits, history);
    for (const Candidate& c : candidates.list()) {
      double expected = logits[static_cast<size_t>(c.token)];
      if (const auto found = counts.find(c.token); found != counts.end()) {
        expected = expected > 0 ? expected / options.repeat : expected * options.repeat;
        expected -= found->second * options.frequency + options.presence;
      }
      EXPECT_NEAR(c.logit, expected, 1e-5 * std::max(1.0, std::abs(expected)));
    }
  }
}

// Length of the repetition that `token` would continue, by trying every earlier place.
int64_t repetition(const std::vector<int32_t>& history, const Tokens& breakers, int32_t token) {
  if (breakers.contains(token)) return 0;
  int64_t longest = 0;
  for (size_t place = 0; place < history.size(); ++place) {
    if (history[place] != token) continue;
    size_t n = 0;
    while (n < place && history[place - 1 - n] == history[history.size() - 1 - n] &&
           !breakers.contains(history[place - 1 - n])) {
      ++n;
    }
    longest = std::max(longest, static_cast<int64_t>(n));
  }
  return longest;
}

// Every earlier place is tried, which is quadratic and plain.
TEST(StageProperties, DryCostsGrowWithTheRepetition) {
  std::mt19937 random(9);
  int num_penalised = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<float> logits(4, 0.0F);
    std::vector<int32_t> history(random() % 24);  // few tokens: repetitions are common
    for (int32_t& token : history) token = static_cast<int32_t>(random() % 4);
    const Tokens breakers = round % 2 == 0 ? Tokens() : Tokens{3};
    const DryOptions options = {.multiplier = 0.5,
                                .base = 1.5,
                                .allowed_length = 1 + static_cast<int64_t>(random() % 3),
                                .range = -1};
    DryStage stage(options, {breakers.begin(), breakers.end()});
    const Candidates candidates = after(stage, logits, history);
    for (const Candidate& c : candidates.list()) {
      const int64_t n = repetition(history, breakers, c.token);
      const double expected =
          n < options.allowed_length
              ? 0
              : -options.multiplier *
                    std::pow(options.base, static_cast<double>(n - options.allowed_length));
      EXPECT_NEAR(c.logit, expected, 1e-5 * std::max(1.0, -expected)) << n;
      if (expected < 0) ++num_penalised;
    }
  }
  EXPECT_GT(num_penalised, kRounds / 4);
}

// mu starts at 2 tau and moves against the surprise of each choice.
TEST(StageProperties, MirostatFollowsItsRecurrence) {
  std::mt19937 random(10);
  const MirostatOptions options = {.version = 2, .tau = 2.0, .eta = 0.3};
  MirostatStage stage(options);
  double mu = 2 * options.tau;
  for (int round = 0; round < kRounds; ++round) {
    const auto logits = random_logits(random);
    const auto p = probabilities(logits);
    Tokens expected;
    bool is_close = false;
    for (size_t i = 0; i < p.size(); ++i) {
      const double surprise = -std::log2(p[i]);
      is_close = is_close || std::abs(surprise - mu) < kBorder;
      if (surprise <= mu) expected.insert(static_cast<int32_t>(i));
    }
    if (expected.empty()) expected.insert(by_probability(p)[0]);
    Candidates candidates = after(stage, logits);
    if (!is_close) {
      EXPECT_EQ(tokens_of(candidates), expected) << mu;
    }
    candidates.normalise();
    const Candidate chosen = candidates.list()[random() % candidates.size()];
    stage.observe(chosen);
    mu -= options.eta * (-std::log2(static_cast<double>(chosen.probability)) - options.tau);
  }
}

}  // namespace
}  // namespace quern
