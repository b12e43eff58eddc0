// SmolLM2-135M-Instruct Q4_1 against independent float64 arithmetic on the same weights, and the
// same bits on every device, thread count, chunk and instruction set.
#include <gtest/gtest.h>

#include <cmath>

#include "e2e/golden_prompts.h"
#include "e2e/model_runner.h"

namespace quern::test {
namespace {

// The suite's README.
constexpr GoldenBound kBounds[] = {{Activations::kF32, 5e-3, 0.02},
                                   {Activations::kInt16, 3e-2, 0.1},
                                   {Activations::kInt8, 2.5, INFINITY}};
constexpr const char* kSuite = "smollm2_golden";

// Logits of another implementation in f64.
TEST(SmolLm2, AgreesWithFloat64) {
  const std::string path = smollm2_file();
  QUERN_NEED_FILE(path, "the SmolLM2 file of scripts/fetch_model");
  QUERN_NEED_FILE(suite_file("smollm2_golden/golden.json"), "suite smollm2_golden");
  for (const GoldenBound& bound : kBounds) {
    const auto engine = open_engine(path, {"cpu", 2, "", bound.activations});
    ASSERT_NE(engine, nullptr);
    for (const auto& prompt : golden_prompts(kSuite)) {
      expect_golden(*engine, kSuite, prompt, bound);
    };
  }
}

// For every golden prompt.
TEST(SmolLm2, ReferenceAndCpuGiveTheSameGreedyTokens) {
  const std::string path = smollm2_file();
  QUERN_NEED_FILE(path, "the SmolLM2 file of scripts/fetch_model");
  QUERN_NEED_FILE(suite_file("smollm2_golden/golden.json"), "suite smollm2_golden");
  const auto cpu = open_engine(path, {"cpu"});
  const auto reference = open_engine(path, {"reference"});
  ASSERT_NE(cpu, nullptr);
  ASSERT_NE(reference, nullptr);
  for (const auto& prompt : golden_prompts(kSuite)) {
    const auto ids = prompt["prompt_ids"].get<std::vector<int32_t>>();
    EXPECT_EQ(run_greedy(*cpu, ids, 64), run_greedy(*reference, ids, 64)) << prompt["id"];
  }
}

// The promise of strict numerics on a real model.
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
