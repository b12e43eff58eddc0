// Quantising a real model loses what the file of the same type by llama.cpp loses, not more.
#include "formats/quantize.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "e2e/model_runner.h"
#include "generate/perplexity.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

// On the text of the suite.
double perplexity_of(const std::string& path) {
  // So that only the weights' format counts.
  const auto engine = open_engine(path, {"cpu", 2, "", Activations::kF32});
  if (engine == nullptr) return 0;
  std::ifstream stream(suite_file("stories260k/gguf/eval.txt"), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto ids = engine->tokenizer().encode(text, {});
  if (!ids) return 0;
  const auto result = measure_perplexity(*engine, *ids, 128, {});
  return result ? result->value : 0;
}

// The small story model in another format.
Result<QuantizeReport> quantize_stories(const std::string& type, const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto source,
                         GgufFile::open(suite_file("stories260k/gguf/stories260K-f32.gguf")));
  return quantize_model(*source, path, {.type = type, .keep = {}, .num_threads = 2});
}

// So the encoder loses no more than it must.
TEST(QuantizedStories, PerplexityIsThatOfTheSuitesFile) {
  QUERN_NEED_FILE(suite_file("stories260k/gguf/stories260K-f32.gguf"), "suite stories260k");
  const TemporaryFolder folder("quantize_e2e");
  // Formats of both libraries whose rules for mixtures are fixed.
  for (const std::string type : {"F16", "BF16", "Q2_K", "Q3_K_M", "Q4_K_M", "Q6_K"}) {
    const std::string path = folder.file(type + ".gguf");
    const auto report = quantize_stories(type, path);
    ASSERT_TRUE(report) << report.error().message;
    const double ours = perplexity_of(path);
    const double theirs =
        perplexity_of(suite_file("stories260k/gguf/stories260K-" + type + ".gguf"));
    RecordProperty(type, std::to_string(ours) + " against " + std::to_string(theirs));
    // At most 1 % worse. Nearer to the f32 model's 2.2622 is welcome (Q2_K is 1.1 % better: its
    // iq4_nl blocks have smaller errors), below it would be luck or a mistake.
    EXPECT_LT(ours, 1.01 * theirs) << type;
    EXPECT_GT(ours, 0.999 * 2.2622) << type;
  }
}

// The types without a file to compare with: 2.2622 is the f32 model's.
TEST(QuantizedStories, EveryTypeStaysNearTheOriginal) {
  QUERN_NEED_FILE(suite_file("stories260k/gguf/stories260K-f32.gguf"), "suite stories260k");
  const TemporaryFolder folder("quantize_e2e");
  for (const QuantMixture& mixture : quant_mixtures()) {
    const std::string path = folder.file("m.gguf");
    const auto report = quantize_stories(std::string(mixture.name), path);
    ASSERT_TRUE(report) << report.error().message;
    // Twice the loss is allowed for mxfp4, whose scales are powers of two.
    const double value = perplexity_of(path);
    EXPECT_GT(value, 2.2622 * 0.99) << mixture.name;
    EXPECT_LT(value, 2.2622 * (mixture.base == DType::kMXFP4 ? 1.2 : 1.1)) << mixture.name;
  }
}

}  // namespace
}  // namespace quern::test
