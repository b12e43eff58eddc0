// Gemma 3 270M Q4_K_M (k-quants, a vocabulary of 262,144, sliding windows) against independent
// float64 arithmetic on the same weights, on both devices.
#include <gtest/gtest.h>

#include <cmath>

#include "e2e/golden_prompts.h"
#include "e2e/model_runner.h"

namespace quern::test {
namespace {

// The suite's README; figures with int8 are printed, and bounded only against nonsense.
// Logits may differ by the first number; greedy ids count up to the first step whose two best
// logits are nearer than the second.
constexpr GoldenBound kBounds[] = {{Activations::kF32, 1e-2, 0.03},
                                   {Activations::kInt16, 5e-2, 0.15},
                                   {Activations::kInt8, 10, INFINITY}};
constexpr const char* kSuite = "gemma3_golden";

// The real model, where it is on this machine.
class Gemma3 : public testing::Test {
 protected:
  void SetUp() override {
    path_ = gemma3_file();
    QUERN_NEED_FILE(path_, "the Gemma 3 file of scripts/fetch_model gemma-3-270m");
    QUERN_NEED_FILE(suite_file("gemma3_golden/golden.json"), "suite gemma3_golden");
  }
  std::string path_;
};

// Logits of a NumPy program in f64.
TEST_F(Gemma3, CpuAgreesWithFloat64) {
  for (const GoldenBound& bound : kBounds) {
    const auto engine = open_engine(path_, {"cpu", 2, "", bound.activations});
    ASSERT_NE(engine, nullptr);
    for (const auto& prompt : golden_prompts(kSuite)) {
      expect_golden(*engine, kSuite, prompt, bound);
    }
  }
}

// One prompt and few tokens: the reference is slow, and its bits are those of cpu (below).
// Four greedy tokens: a token takes the reference seconds.
TEST_F(Gemma3, ReferenceAgreesWithFloat64) {
  for (const GoldenBound& bound : kBounds) {
    const auto engine = open_engine(path_, {"reference", 1, "", bound.activations});
    ASSERT_NE(engine, nullptr);
    expect_golden(*engine, kSuite, golden_prompts(kSuite).front(), bound, 4);
  }
}

// The promise of strict numerics on a real model.
// Chunk 0 is all five tokens at once, chunk 2 three runs.
TEST_F(Gemma3, BitsDoNotDependOnDeviceThreadsChunkOrIsa) {
  const std::vector<int32_t> ids = {2, 818, 5279, 529, 7001};
  for (const Activations activations :
       {Activations::kInt16, Activations::kInt8, Activations::kF32}) {
    const auto reference = open_engine(path_, {"reference", 1, "", activations});
    ASSERT_NE(reference, nullptr);
    const std::vector<float> expected = run_logits(*reference, ids, 0);
    for (const std::string& isa : isa_caps()) {
      const int threads = isa == "scalar" ? 1 : 2;
      const auto engine = open_engine(path_, {"cpu", threads, isa, activations});
      ASSERT_NE(engine, nullptr);
      EXPECT_EQ(run_logits(*engine, ids, 0), expected)
          << describe({"cpu", threads, isa, activations});
      EXPECT_EQ(run_logits(*engine, ids, 2), expected)
          << describe({"cpu", threads, isa, activations}) << ", chunk 2";
    }
  }
}

// Text in, text out: what the suite's greedy ids say.
TEST_F(Gemma3, ContinuesTextSensibly) {
  const auto engine = open_engine(path_, {"cpu"});
  ASSERT_NE(engine, nullptr);
  const auto ids = engine->tokenizer().encode("The capital of France is");
  ASSERT_TRUE(ids) << ids.error().message;
  const std::string text = engine->tokenizer().decode(run_greedy(*engine, *ids, 32));
  EXPECT_TRUE(text.starts_with(" the capital of the country of France. It is the largest city"))
      << text;
}

}  // namespace
}  // namespace quern::test
