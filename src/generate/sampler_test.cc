#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace quern {
namespace {

const std::vector<float> kLogits = {1.0F, 3.0F, 2.0F, 3.0F, -1.0F};

std::map<int32_t, int> histogram(const SamplerOptions& options, int count) {
  Sampler sampler(options);
  std::map<int32_t, int> seen;
  for (int i = 0; i < count; ++i) ++seen[sampler.sample(kLogits).value()];
  return seen;
}

// The lowest id among equals.
TEST(Sampler, TemperatureZeroTakesTheFirstMaximum) {
  Sampler sampler({.temperature = 0});
  EXPECT_EQ(sampler.sample(kLogits).value(), 1);
}

// Fifty draws, so that chance is no explanation.
TEST(Sampler, SameSeedSameTokensOtherSeedOthers) {
  const auto draw = [](uint64_t seed) {
    Sampler sampler({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed});
    std::vector<int32_t> tokens;
    for (int i = 0; i < 50; ++i) tokens.push_back(sampler.sample(kLogits).value());
    return tokens;
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

// Within four standard deviations of 20,000 draws.
TEST(Sampler, FrequenciesFollowTheSoftmax) {
  const auto seen =
      histogram({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 1}, 20000);
  double sum = 0;
  for (const float logit : kLogits) sum += std::exp(static_cast<double>(logit));
  for (const auto& [token, count] : seen) {
    const double expected =
        std::exp(static_cast<double>(kLogits[static_cast<size_t>(token)])) / sum;
    EXPECT_NEAR(count / 20000.0, expected, 0.015) << token;
  }
}

// Counted over many draws.
TEST(Sampler, FiltersKeepWhatTheyPromise) {
  EXPECT_EQ(histogram({.temperature = 1, .top_k = 2, .top_p = 1, .min_p = 0}, 500).size(), 2U);
  // exp(3) twice is 77 % of the mass: the second crosses one half and stays.
  EXPECT_EQ(histogram({.temperature = 1, .top_k = 0, .top_p = 0.5, .min_p = 0}, 500).size(), 2U);
  // exp(2 - 3) = 0.37 of the best, exp(1 - 3) = 0.14.
  EXPECT_EQ(histogram({.temperature = 5, .top_k = 0, .top_p = 1, .min_p = 0.3}, 500).size(), 3U);
}

// NaN has no order; infinities have one.
TEST(Sampler, BadInputIsAnError) {
  Sampler sampler({.temperature = 1});
  const std::vector<float> with_nan = {1.0F, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_NE(sampler.sample(with_nan).error().message.find("token 1 is NaN"), std::string::npos);
  EXPECT_FALSE(sampler.sample({}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sampler.sample(std::vector<float>{1.0F, infinity}).value(), 1);
  EXPECT_TRUE(sampler.sample(std::vector<float>{-infinity, -infinity}));
  EXPECT_FALSE(check_sampler_options({.temperature = -1}));
  EXPECT_FALSE(check_sampler_options({.top_p = 0}));
  EXPECT_FALSE(check_sampler_options({.min_p = 1.5}));
  EXPECT_FALSE(check_sampler_options({.top_k = -1}));
}

// Nothing left is an error.
TEST(Sampler, MaskAndBiasDecideWhatIsLeft) {
  TokenMask mask(5);
  mask.set(2);
  mask.set(4);
  Sampler greedy({.temperature = 0});
  EXPECT_EQ(greedy.sample(kLogits, &mask).value(), 2);
  Sampler biased({.temperature = 0, .logit_bias = {{4, 10.0F}}});
  EXPECT_EQ(biased.sample(kLogits, &mask).value(), 4);
  EXPECT_EQ(biased.sample(kLogits).value(), 4);
  const TokenMask empty(5);
  EXPECT_NE(greedy.sample(kLogits, &empty).error().message.find("No token is left"),
            std::string::npos);
}

// Ids come from callers.
TEST(Sampler, HistoryOutsideTheLogitsIsAnError) {
  for (const int32_t token : {-1, 5, std::numeric_limits<int32_t>::max()}) {
    SamplerOptions options{.temperature = 0};
    options.penalties.repeat = 2.0;
    Sampler sampler(options);
    sampler.accept({&token, 1});
    EXPECT_FALSE(sampler.sample(kLogits)) << token;
  }
}

// The best token passes every filter.
TEST(Sampler, GreedyHeedsPenaltiesAndNotFilters) {
  SamplerOptions options{.temperature = 0, .top_k = 1};
  options.penalties.repeat = 4.0;
  options.xtc = {1.0, 0.0};
  Sampler sampler(options);
  const std::vector<int32_t> prompt = {1};
  sampler.accept(prompt);
  std::vector<int32_t> tokens;
  for (int i = 0; i < 3; ++i) tokens.push_back(sampler.sample(kLogits).value());
  // 3 is the other maximum; then 2; then 0 with 1.0 against 3 / 4 and 2 / 4.
  EXPECT_EQ(tokens, (std::vector<int32_t>{3, 2, 0}));
}

// A cut before flattening is another one than behind it.
TEST(Sampler, OrderOfStagesMatters) {
  // exp(1) : exp(0) : exp(0): top-p 0.5 keeps one token, of the flattened distribution two.
  const std::vector<float> logits = {1.0F, 0.0F, 0.0F};
  const auto count = [&](const char* order) {
    SamplerOptions options{.temperature = 100, .top_k = 0, .top_p = 0.5, .min_p = 0};
    options.order = parse_sampler_order(order).value();
    Sampler sampler(options);
    std::map<int32_t, int> seen;
    for (int i = 0; i < 200; ++i) ++seen[sampler.sample(logits).value()];
    return seen.size();
  };
  EXPECT_EQ(count("top_p;temperature"), 1U);
  EXPECT_EQ(count("temperature;top_p"), 2U);
}

// State within the stage must not leak between samplers.
TEST(Sampler, MirostatAndLogprobsAreDeterministic) {
  SamplerOptions options{.temperature = 1.5, .seed = 3};
  options.mirostat.version = 2;
  options.num_logprobs = 2;
  const auto draw = [&] {
    Sampler sampler(options);
    std::vector<int32_t> tokens;
    for (int i = 0; i < 50; ++i) {
      tokens.push_back(sampler.sample(kLogits).value());
      EXPECT_EQ(sampler.logprobs()->chosen.token, tokens.back());
      EXPECT_EQ(sampler.logprobs()->top[0].token, 1);
    }
    return tokens;
  };
  EXPECT_EQ(draw(), draw());
}

// One row for each option.
TEST(SamplerOptions, EachRangeIsChecked) {
  const auto message = [](const SamplerOptions& options) {
    const auto checked = check_sampler_options(options);
    return checked ? std::string("none") : checked.error().message;
  };
  EXPECT_EQ(message({}), "none");
  EXPECT_EQ(message({.typical_p = 0}), "Typical-p is 0; it must be over 0 and at most 1.");
  EXPECT_EQ(message({.top_n_sigma = -1}), "Top-n-sigma is -1; it must be from 0 to 1000000.");
  EXPECT_EQ(message({.penalties = {.repeat = 0}}),
            "The repeat penalty is 0; it must be from 1e-06 to 1000000.");
  EXPECT_EQ(message({.penalties = {.window = -2}}),
            "The repeat window is -2; it must be 0 or more, or -1 for all tokens.");
  EXPECT_EQ(message({.dry = {.allowed_length = 0}}),
            "The DRY allowed length is 0; it must be 1 or more.");
  EXPECT_EQ(message({.xtc = {.threshold = std::nan("")}}),
            "The XTC threshold is nan; it must be from 0 to 1.");
  EXPECT_EQ(message({.mirostat = {.version = 1}}),
            "The Mirostat version is 1; it must be 0 (off) or 2.");
  EXPECT_EQ(message({.logit_bias = {{-1, 1.0F}}}),
            "The logit bias names token -1; ids begin at 0.");
  EXPECT_EQ(message({.num_logprobs = 2000}),
            "The number of log-probabilities is 2000; it must be from 0 to 1000.");
  EXPECT_EQ(message({.order = {SamplerStageKind::kTopK, SamplerStageKind::kTopK}}),
            "The sampler stage 'top_k' stands twice in the order.");
}

// And print.
TEST(SamplerOptions, TextFormsParse) {
  EXPECT_EQ(sampler_order_text(default_sampler_order()),
            "penalties;dry;top_n_sigma;top_k;typical;top_p;min_p;xtc;temperature");
  EXPECT_EQ(parse_sampler_order("xtc;top_k").value(),
            (std::vector<SamplerStageKind>{SamplerStageKind::kXtc, SamplerStageKind::kTopK}));
  EXPECT_TRUE(parse_sampler_order("").value().empty());
  EXPECT_FALSE(parse_sampler_order("top_q"));
  EXPECT_FALSE(parse_sampler_order("top_k;top_k"));
  EXPECT_EQ(parse_logit_bias("15+1.5").value().bias, 1.5F);
  EXPECT_EQ(parse_logit_bias("15-2").value().bias, -2.0F);
  EXPECT_EQ(parse_logit_bias("15-inf").value().bias, -std::numeric_limits<float>::infinity());
  for (const char* bad : {"", "15", "15=1", "+1", "15+", "15+x", "15+inf", "15+nan", "15--1",
                          "-1+2", "15+1.5x", "99999999999+1"}) {
    EXPECT_FALSE(parse_logit_bias(bad)) << bad;
  }
}

}  // namespace
}  // namespace quern
