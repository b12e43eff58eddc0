// Tiny random-weight models against PyTorch's float64 logits at every position.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/model_runner.h"
#include "formats/npy.h"

namespace quern::test {
namespace {

// Folders of suites/tiny_models whose family this build has.
constexpr const char* kModels[] = {
    "gemma2",     "gemma3",       "gpt-oss",    "gpt2",           "granite",       "llama",
    "llama-bias", "llama-linear", "llama-yarn", "llama-yarnbeta", "llama3",        "mistral",
    "mixtral",    "olmo2",        "olmo3",      "phi3",           "phi3-longrope", "phi3-swa",
    "qwen2",      "qwen3",        "qwen3moe",   "starcoder2"};
constexpr double kBound = 1e-3;  // the suite's README

class TinyModels : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

// Of all rows, relative to the largest logit.
double worst_difference(const std::vector<float>& logits, const std::vector<double>& expected) {
  if (logits.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double difference = std::fabs(logits[i] - expected[i]);
    // A NaN must not pass.
    worst = difference <= worst ? worst : (std::isnan(difference) ? INFINITY : difference);
  }
  return worst;
}

// Every family, every device.
TEST_P(TinyModels, LogitsAreWithinTheBoundOfFloat64) {
  const auto [model, device] = GetParam();
  const std::string folder = std::string("tiny_models/") + model + "/";
  const std::string path = suite_file(folder + "model.gguf");
  QUERN_NEED_FILE(path, "suite tiny_models");
  const auto engine = open_engine(path, {device, 2, "", Activations::kF32});
  ASSERT_NE(engine, nullptr);
  const auto ids = nlohmann::json::parse(std::ifstream(suite_file(folder + "ids.json")));
  for (const auto& [length, list] : ids.items()) {
    const auto expected = read_npy(suite_file(folder + "logits64_" + length + ".npy"));
    ASSERT_TRUE(expected) << expected.error().message;
    const auto values = expected->tensor.read_as<double>().value();
    const auto tokens = list.get<std::vector<int32_t>>();
    EXPECT_LE(worst_difference(run_logits(*engine, tokens, 0), values), kBound) << length;
    // Chunks of 7 cross the pages of the cache and the sliding windows.
    EXPECT_LE(worst_difference(run_logits(*engine, tokens, 7), values), kBound) << length;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TinyModels,
                         testing::Combine(testing::ValuesIn(kModels),
                                          testing::Values("reference", "cpu")));

// The same bits on both devices, at any thread count, chunk and instruction set.
TEST(TinyModelsStrict, BitsDoNotDependOnDeviceThreadsChunkOrIsa) {
  for (const char* model : kModels) {
    const std::string folder = std::string("tiny_models/") + model + "/";
    const std::string path = suite_file(folder + "model.gguf");
    QUERN_NEED_FILE(path, "suite tiny_models");
    const auto ids = nlohmann::json::parse(std::ifstream(suite_file(folder + "ids.json")));
    const auto tokens = ids["65"].get<std::vector<int32_t>>();
    const auto reference = open_engine(path, {"reference"});
    ASSERT_NE(reference, nullptr);
    const std::vector<float> expected = run_logits(*reference, tokens, 0);
    for (const std::string& isa : isa_caps()) {
      for (const int threads : {1, 2}) {
        const auto engine = open_engine(path, {"cpu", threads, isa});
        ASSERT_NE(engine, nullptr);
        for (const int64_t chunk : {1, 7, 0}) {
          EXPECT_EQ(run_logits(*engine, tokens, chunk), expected)
              << model << " " << isa << ", " << threads << " threads, chunk " << chunk;
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern::test
