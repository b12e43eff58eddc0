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

TEST(Sampler, TemperatureZeroTakesTheFirstMaximum) {
  Sampler sampler({.temperature = 0});
  EXPECT_EQ(sampler.sample(kLogits).value(), 1);
}

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

TEST(Sampler, FiltersKeepWhatTheyPromise) {
  EXPECT_EQ(histogram({.temperature = 1, .top_k = 2, .top_p = 1, .min_p = 0}, 500).size(), 2U);
  // exp(3) twice is 77 % of the mass: the second crosses one half and stays.
  EXPECT_EQ(histogram({.temperature = 1, .top_k = 0, .top_p = 0.5, .min_p = 0}, 500).size(), 2U);
  // exp(2 - 3) = 0.37 of the best, exp(1 - 3) = 0.14.
  EXPECT_EQ(histogram({.temperature = 5, .top_k = 0, .top_p = 1, .min_p = 0.3}, 500).size(), 3U);
}

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

}  // namespace
}  // namespace quern
