// No pass may change a bit of a language model's logits: all passes, none, and each alone, on
// synthetic models of many weight formats, the small models of the suites and a real one.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/model_runner.h"
#include "formats/synth.h"
#include "passes/pipeline.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

struct Setting {
  std::string name;
  PassSelection passes;
};

// An empty list would be all passes, so it names one that changes nothing.
const PassSelection kNoOptionalPasses{.only = {"verify"}, .off = {}};

// Alone shows what a pass breaks by itself; the rest without it, what only its absence does.
std::vector<Setting> settings_with_one_pass() {
  std::vector<Setting> made;
  for (const Pass& pass : default_pipeline()) {
    if (!pass.why_required.empty()) continue;
    const std::string name(pass.name);
    made.push_back({name + " alone", {.only = {name}, .off = {}}});
    made.push_back({"without " + name, {.only = {}, .off = {name}}});
  }
  made.push_back({"without a memory plan", {.only = {}, .off = {std::string(kPlanMemory)}}});
  return made;
}

// Logits of the prompt in one run and token by token, each the same.
std::vector<float> logits_of(const std::string& path, const RunOn& on,
                             const std::vector<int32_t>& ids) {
  const auto engine = open_engine(path, on);
  if (engine == nullptr) return {};
  std::vector<float> whole = run_logits(*engine, ids, 0);
  // In one run and in runs of one token other kernels serve the same products.
  EXPECT_EQ(run_logits(*engine, ids, 1), whole);
  return whole;
}

// All passes against none on both devices, and on cpu each alone.
void expect_equal_logits(const std::string& path, Activations activations,
                         const std::vector<int32_t>& ids) {
  // The reference without passes is what strict numerics mean.
  RunOn on{.device = "reference", .activations = activations, .passes = kNoOptionalPasses};
  const std::vector<float> expected = logits_of(path, on, ids);
  ASSERT_FALSE(expected.empty());
  on.passes = {};
  EXPECT_EQ(logits_of(path, on, ids), expected) << "reference, all passes";
  on.device = "cpu";
  EXPECT_EQ(logits_of(path, on, ids), expected) << "cpu, all passes";
  on.passes = kNoOptionalPasses;
  EXPECT_EQ(logits_of(path, on, ids), expected) << "cpu, no passes";
  for (const Setting& setting : settings_with_one_pass()) {
    on.passes = setting.passes;
    EXPECT_EQ(logits_of(path, on, ids), expected) << "cpu, " << setting.name;
  }
}

TEST(ModelBits, SyntheticModelsOfManyFormats) {
  const TemporaryFolder folder("model_bits");
  // Nine tokens fill no tile; the pair of equal ones tells positions apart.
  const std::vector<int32_t> ids = {1, 77, 300, 5, 5, 411, 2, 9, 100};
  const std::pair<const char*, DType> models[] = {
      // Blocks of 32 elements need "tiny", super-blocks of 256 the wider "tiny-k".
      {"tiny", DType::kF32},  {"tiny", DType::kBF16},   {"tiny", DType::kQ8_0},
      {"tiny", DType::kQ4_1}, {"tiny-k", DType::kQ4_K}, {"tiny-k", DType::kQ6_K}};
  for (const auto& [shape, dtype] : models) {
    const std::string path = folder.file(fmt::format("{}-{}.gguf", shape, dtype_name(dtype)));
    const auto made = write_synthetic_model(path, {.shape = shape, .dtype = dtype, .seed = 3});
    ASSERT_TRUE(made.has_value()) << made.error().message;
    for (const Activations activations :
         {Activations::kInt16, Activations::kInt8, Activations::kF32}) {
      SCOPED_TRACE(
          fmt::format("{} {} {}", shape, dtype_name(dtype), activations_name(activations)));
      expect_equal_logits(path, activations, ids);
      if (!is_quantized(dtype)) break;  // activations stay floats
    }
  }
}

TEST(ModelBits, EveryFamily) {
  const std::string list = suite_file("tiny_models");
  QUERN_NEED_FILE(list, "suite tiny_models");
  size_t num_models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(list)) {
    const std::string path = entry.path() / "model.gguf";
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto ids = nlohmann::json::parse(std::ifstream(entry.path() / "ids.json"));
    expect_equal_logits(path, Activations::kAuto, ids["5"].get<std::vector<int32_t>>());
    ++num_models;
  }
  fmt::print("{} models\n", num_models);
  // A folder that lost its models must not pass.
  EXPECT_GT(num_models, 20u);
}

TEST(ModelBits, SmolLm2) {
  const std::string path = smollm2_file();
  QUERN_NEED_FILE(path, "the SmolLM2 file of scripts/fetch_model");
  const std::vector<int32_t> ids = {504, 3575, 282, 4649, 314, 7042, 30};
  RunOn on{.passes = kNoOptionalPasses};
  const std::vector<float> expected = logits_of(path, on, ids);
  for (const Setting& setting : settings_with_one_pass()) {
    on.passes = setting.passes;
    EXPECT_EQ(logits_of(path, on, ids), expected) << setting.name;
  }
  on.passes = {};
  EXPECT_EQ(logits_of(path, on, ids), expected);
}

}  // namespace
}  // namespace quern::test
