// SmolLM2-135M-Instruct Q4_1 against independent float64 arithmetic on the same weights, and the
// same bits on every device, thread count, chunk and instruction set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/model_runner.h"
#include "formats/npy.h"

namespace quern::test {
namespace {

struct Bound {
  Activations activations;
  double logit;   // largest difference of a logit
  double margin;  // greedy ids are equal up to the first step whose margin is below
};
constexpr Bound kBounds[] = {{Activations::kF32, 5e-3, 0.02},
                             {Activations::kInt16, 3e-2, 0.1},
                             {Activations::kInt8, 2.5, INFINITY}};

nlohmann::json golden_prompts() {
  return nlohmann::json::parse(std::ifstream(suite_file("smollm2_golden/golden.json")));
}

// Number of leading steps that must agree.
size_t steps_that_count(const nlohmann::json& prompt, double margin) {
  const auto margins = prompt["margin"].get<std::vector<double>>();
  size_t count = 0;
  while (count < margins.size() && margins[count] >= margin) ++count;
  return count;
}

void expect_golden(Engine& engine, const nlohmann::json& prompt, const Bound& bound) {
  const auto ids = prompt["prompt_ids"].get<std::vector<int32_t>>();
  const std::string id = prompt["id"];
  const auto expected = read_npy(suite_file("smollm2_golden/logits_" + id + ".npy"));
  ASSERT_TRUE(expected) << expected.error().message;
  const auto golden = expected->tensor.read_as<float>().value();
  const std::vector<float> logits = run_logits(engine, ids, 0);
  ASSERT_EQ(logits.size(), ids.size() * golden.size());
  double worst = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    worst = std::max(
        worst,
        std::fabs(static_cast<double>(logits[logits.size() - golden.size() + i] - golden[i])));
  }
  EXPECT_LE(worst, bound.logit) << id;
  auto greedy = run_greedy(engine, ids, 64);
  auto wanted = prompt["greedy_ids"].get<std::vector<int32_t>>();
  const size_t steps = std::isinf(bound.margin) ? 0 : steps_that_count(prompt, bound.margin);
  size_t equal = 0;
  while (equal < std::min(greedy.size(), wanted.size()) && greedy[equal] == wanted[equal]) ++equal;
  fmt::print(
      "prompt {} {}: largest logit difference {:.2e}, {} of {} greedy tokens equal, {} must\n", id,
      activations_name(bound.activations), worst, equal, wanted.size(), steps);
  EXPECT_GE(equal, steps) << id;
}

TEST(SmolLm2, AgreesWithFloat64) {
  const std::string path = smollm2_file();
  QUERN_NEED_FILE(path, "the SmolLM2 file of scripts/fetch_model");
  QUERN_NEED_FILE(suite_file("smollm2_golden/golden.json"), "suite smollm2_golden");
  for (const Bound& bound : kBounds) {
    const auto engine = open_engine(path, {"cpu", 2, "", bound.activations});
    ASSERT_NE(engine, nullptr);
    for (const auto& prompt : golden_prompts()) expect_golden(*engine, prompt, bound);
  }
}

TEST(SmolLm2, ReferenceAndCpuGiveTheSameGreedyTokens) {
  const std::string path = smollm2_file();
  QUERN_NEED_FILE(path, "the SmolLM2 file of scripts/fetch_model");
  QUERN_NEED_FILE(suite_file("smollm2_golden/golden.json"), "suite smollm2_golden");
  const auto cpu = open_engine(path, {"cpu"});
  const auto reference = open_engine(path, {"reference"});
  ASSERT_NE(cpu, nullptr);
  ASSERT_NE(reference, nullptr);
  for (const auto& prompt : golden_prompts()) {
    const auto ids = prompt["prompt_ids"].get<std::vector<int32_t>>();
    EXPECT_EQ(run_greedy(*cpu, ids, 64), run_greedy(*reference, ids, 64)) << prompt["id"];
  }
}

TEST(SmolLm2, BitsDoNotDependOnDeviceThreadsChunkOrIsa) {
  const std::string path = smollm2_file();
  QUERN_NEED_FILE(path, "the SmolLM2 file of scripts/fetch_model");
  const std::vector<int32_t> ids = {504, 3575, 282, 4649, 314, 7042, 30, 198, 198, 504};
  for (const Activations activations :
       {Activations::kInt16, Activations::kInt8, Activations::kF32}) {
    const auto reference = open_engine(path, {"reference", 1, "", activations});
    ASSERT_NE(reference, nullptr);
    const std::vector<float> expected = run_logits(*reference, ids, 0);
    for (const std::string& isa : isa_caps()) {
      for (const int threads : {1, 2}) {
        const auto engine = open_engine(path, {"cpu", threads, isa, activations});
        ASSERT_NE(engine, nullptr);
        for (const int64_t chunk : {1, 7, 0}) {
          EXPECT_EQ(run_logits(*engine, ids, chunk), expected)
              << describe({"cpu", threads, isa, activations}) << ", chunk " << chunk;
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern::test
