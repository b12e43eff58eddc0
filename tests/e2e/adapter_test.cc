// A low-rank adapter gives the logits of a model whose weights have it added in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "e2e/model_runner.h"
#include "e2e/program.h"
#include "formats/gguf_writer.h"
#include "formats/npy.h"
#include "generate/sequence_file.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

// Rank 3 and alpha 6 give 2, and the scale makes the whole factor 1.5. Leaving out any one of the
// three, any two, or all gives another factor: 2, 0.75, 4.5, 0.25, 1/3, 6 or 1.
constexpr int64_t kRank = 3;
constexpr double kAlpha = 6;
constexpr double kScale = 0.75;

// Small values that depend on the seed.
// 0.02 keeps the change small beside the weights, as trained adapters are.
std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(0.02F * std::sin(static_cast<float>(i * 7 + seed * 13)));
  }
  return values;
}

// A tensor of floats.
Tensor f32(const Shape& shape, const std::vector<float>& values) {
  return Tensor::from<float>(DType::kF32, shape, values).value();
}

// Products that the adapter changes.
// One square product and one that is not: a swap of A and B does not fit the second.
bool is_adapted(const WeightInfo& info) {
  return info.name.find("attn_q.weight") != std::string::npos ||
         info.name.find("ffn_down.weight") != std::string::npos;
}

// A file with factors for every adapted product.
void write_adapter(const std::string& path, const GgufFile& base) {
  Metadata metadata;
  metadata.set("general.type", MetadataValue::text("adapter"));
  metadata.set("general.architecture", MetadataValue::text("llama"));
  metadata.set("adapter.type", MetadataValue::text("lora"));
  metadata.set("adapter.lora.alpha", MetadataValue::number(static_cast<float>(kAlpha)));
  std::vector<WeightInfo> infos;
  for (const WeightInfo& info : base.list()) {
    if (!is_adapted(info)) continue;
    infos.push_back({info.name + ".lora_a", DType::kF32, Shape{kRank, info.shape[1]}});
    infos.push_back({info.name + ".lora_b", DType::kF32, Shape{info.shape[0], kRank}});
  }
  auto writer = GgufWriter::create(path, metadata, infos);
  ASSERT_TRUE(writer) << writer.error().message;
  for (const WeightInfo& info : infos) {
    ASSERT_TRUE(writer->append(
        // 'a' and 'b': the two factors differ.
        info.name, f32(info.shape, numbers(info.shape.num_elements(), info.name.back()))));
  }
  ASSERT_TRUE(writer->finish());
}

// W + scale * alpha / rank * B A
// In f64, rounded once: independent of the engine's order of products.
std::vector<float> merged(const WeightInfo& info, std::vector<float> w, double scale) {
  const int64_t out = info.shape[0], in = info.shape[1];
  const std::vector<float> a = numbers(kRank * in, 'a');
  const std::vector<float> b = numbers(out * kRank, 'b');
  for (int64_t i = 0; i < out; ++i) {
    for (int64_t j = 0; j < in; ++j) {
      double sum = 0;
      for (int64_t r = 0; r < kRank; ++r) {
        sum += static_cast<double>(b[static_cast<size_t>(i * kRank + r)]) *
               a[static_cast<size_t>(r * in + j)];
      }
      w[static_cast<size_t>(i * in + j)] += static_cast<float>(scale * kAlpha / kRank * sum);
    }
  }
  return w;
}

// The base with the products added to its weights.
void write_merged(const std::string& path, const GgufFile& base, double scale) {
  auto writer = GgufWriter::create(path, base.metadata(), base.list());
  ASSERT_TRUE(writer) << writer.error().message;
  for (const WeightInfo& info : base.list()) {
    const Tensor tensor = base.weight(info.name).value();
    if (!is_adapted(info)) {
      ASSERT_TRUE(writer->append(info.name, tensor));
    } else {
      ASSERT_TRUE(writer->append(
          info.name, f32(info.shape, merged(info, tensor.read_as<float>().value(), scale))));
    }
  }
  ASSERT_TRUE(writer->finish());
}

// The largest difference of two rows of logits.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, static_cast<double>(std::fabs(a[i] - b[i])));
  }
  return largest;
}

// The same model with the product added to its weights.
TEST(Adapter, EqualsMergedWeights) {
  const std::string path = suite_file("tiny_models/llama/model.gguf");
  QUERN_NEED_FILE(path, "suite tiny_models");
  const TemporaryFolder folder("adapter_test");
  const std::string adapter_path = (folder.path() / "adapter.gguf").string();
  const std::string merged_path = (folder.path() / "merged.gguf").string();
  const auto base = GgufFile::open(path);
  ASSERT_TRUE(base);
  write_adapter(adapter_path, **base);
  write_merged(merged_path, **base, kScale);
  EngineOptions options;
  options.adapters = {{adapter_path, kScale}};
  const auto adapted = Engine::open(path, options);
  ASSERT_TRUE(adapted) << adapted.error().message;
  const auto plain = Engine::open(path, {});
  const auto whole = Engine::open(merged_path, {});
  ASSERT_TRUE(plain && whole);
  const std::vector<int32_t> ids = {5, 17, 200, 3, 90};
  const auto a = run_logits(**adapted, ids, 0);
  const auto b = run_logits(**whole, ids, 0);
  const auto c = run_logits(**plain, ids, 0);
  // The two ways round at different places; the unchanged model is at least ten times farther away,
  // and so is the factor 1 of an engine that ignores scale, alpha and rank.
  EXPECT_LE(distance(a, b), 1e-4);
  EXPECT_GE(distance(a, c), 1e-3);
  options.adapters = {{adapter_path, kRank / kAlpha}};
  const auto ignorant = Engine::open(path, options);
  ASSERT_TRUE(ignorant) << ignorant.error().message;
  EXPECT_GE(distance(run_logits(**ignorant, ids, 0), b), 1e-3);
  // The same through the program: FILE=SCALE.
  const std::string npy = (folder.path() / "logits.npy").string();
  const auto result = run_quern({"logits", path, "--tokens", "5,17,200,3,90", "--output", npy,
                                 "--lora", adapter_path + "=0.75"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(read_npy(npy)->tensor.read_as<float>().value(), a);
  // Rows of the cache belong to the model with its adapters.
  EXPECT_NE(model_fingerprint(**adapted), model_fingerprint(**plain));
}

// And names them.
TEST(Adapter, RefusesOtherFiles) {
  const std::string path = suite_file("tiny_models/llama/model.gguf");
  QUERN_NEED_FILE(path, "suite tiny_models");
  EngineOptions options;
  options.adapters = {{path, 1.0}};
  const auto engine = Engine::open(path, options);
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().message.find("must be an adapter"), std::string::npos)
      << engine.error().message;
}

}  // namespace
}  // namespace quern::test
