#include "e2e/golden_prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "formats/npy.h"

namespace quern::test {
namespace {

// Number of leading steps that must agree.
// A step whose best two logits are closer than the error of the run may fall either way, and all
// steps after it follow another text.
size_t steps_that_count(const nlohmann::json& prompt, double margin) {
  if (std::isinf(margin)) return 0;
  const auto margins = prompt["margin"].get<std::vector<double>>();
  const auto low = std::find_if(margins.begin(), margins.end(),
                                [margin](double value) { return !(value >= margin); });
  return static_cast<size_t>(low - margins.begin());
}

// Largest difference of the last row from the golden logits; a NaN counts as infinite.
double last_row_difference(const std::vector<float>& logits, const std::vector<float>& golden) {
  double worst = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    // Golden logits are those of the last token only.
    const float value = logits[logits.size() - golden.size() + i];
    const double difference = std::fabs(static_cast<double>(value) - golden[i]);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  return worst;
}

// Tokens up to the first that differs.
size_t num_equal(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  const size_t size = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(size), b.begin()).first -
      a.begin());
}

}  // namespace

// A file of the suite.
nlohmann::json golden_prompts(const std::string& suite) {
  return nlohmann::json::parse(std::ifstream(suite_file(suite + "/golden.json")));
}

void expect_golden(Engine& engine, const std::string& suite, const nlohmann::json& prompt,
                   const GoldenBound& bound, size_t max_greedy) {
  const auto ids = prompt["prompt_ids"].get<std::vector<int32_t>>();
  const std::string id = prompt["id"];
  const auto expected = read_npy(suite_file(suite + "/logits_" + id + ".npy"));
  ASSERT_TRUE(expected) << expected.error().message;
  const auto golden = expected->tensor.read_as<float>().value();
  const std::vector<float> logits = run_logits(engine, ids, 0);
  ASSERT_EQ(logits.size(), ids.size() * golden.size());
  const double worst = last_row_difference(logits, golden);
  EXPECT_LE(worst, bound.logit) << id;
  auto wanted = prompt["greedy_ids"].get<std::vector<int32_t>>();
  wanted.resize(std::min(wanted.size(), max_greedy));
  const auto greedy = run_greedy(engine, ids, static_cast<int64_t>(wanted.size()));
  const size_t steps = std::min(steps_that_count(prompt, bound.margin), wanted.size());
  const size_t equal = num_equal(greedy, wanted);
  fmt::print(
      "prompt {}, {} activations: largest logit difference {:.2e}, {} of {} greedy tokens "
      "equal, {} must\n",
      id, activations_name(bound.activations), worst, equal, wanted.size(), steps);
  EXPECT_GE(equal, steps) << id;
}

}  // namespace quern::test
