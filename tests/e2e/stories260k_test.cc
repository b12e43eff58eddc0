// A real trained model of 260 K parameters against llama2.c's text and logits, and against exact
// perplexities of nine quantised files.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "e2e/model_runner.h"
#include "e2e/program.h"
#include "generate/perplexity.h"

namespace quern::test {
namespace {

// Rows that llama2.c computed.
struct GoldenLogits {
  std::vector<int32_t> ids;
  std::vector<float> logits;  // [ids, 512]
};

// Sizes, tokens and rows, as the suite's script wrote them.
GoldenLogits read_golden(const std::string& path) {
  constexpr size_t kVocab = 512;
  const std::string bytes = read_file(path);
  GoldenLogits golden;
  for (size_t at = 0; at + 4 * (kVocab + 1) <= bytes.size(); at += 4 * (kVocab + 1)) {
    int32_t id = 0;
    std::memcpy(&id, bytes.data() + at, 4);
    golden.ids.push_back(id);
    std::vector<float> row(kVocab);
    std::memcpy(row.data(), bytes.data() + at + 4, 4 * kVocab);
    golden.logits.insert(golden.logits.end(), row.begin(), row.end());
  }
  return golden;
}

class Stories260k : public testing::TestWithParam<std::string> {};

// The program that the model was made with.
TEST_P(Stories260k, GreedyTextIsLlama2cs) {
  const std::string path = suite_file("stories260k/gguf/stories260K-f32.gguf");
  QUERN_NEED_FILE(path, "suite stories260k");
  const auto engine = open_engine(path, {GetParam()});
  ASSERT_NE(engine, nullptr);
  const int32_t bos = engine->tokenizer().special_ids().bos;
  const std::vector<int32_t> ids = run_greedy(*engine, {bos}, 200);
  std::string expected = read_file(suite_file("stories260k/expected_greedy_n200.txt"));
  while (!expected.empty() && expected.back() == '\n') expected.pop_back();
  EXPECT_EQ(engine->tokenizer().decode(ids), expected);
}

// Not only the best token.
TEST_P(Stories260k, LogitsAreLlama2csAtEveryPosition) {
  const std::string path = suite_file("stories260k/gguf/stories260K-f32.gguf");
  QUERN_NEED_FILE(path, "suite stories260k");
  const auto engine = open_engine(path, {GetParam()});
  ASSERT_NE(engine, nullptr);
  for (int i = 0; i < 5; ++i) {
    const GoldenLogits golden =
        read_golden(suite_file("stories260k/golden/logits_" + std::to_string(i) + ".bin"));
    ASSERT_FALSE(golden.ids.empty());
    const std::vector<float> logits = run_logits(*engine, golden.ids, 64);
    ASSERT_EQ(logits.size(), golden.logits.size());
    double worst = 0;
    for (size_t k = 0; k < logits.size(); ++k) {
      worst = std::max(worst, std::fabs(static_cast<double>(logits[k]) - golden.logits[k]));
    }
    EXPECT_LE(worst, 1e-4) << "prompt " << i;
  }
}

// A text, and the perplexity that the suite states.
struct FileAndValue {
  const char* name;
  double perplexity;  // exact f32 arithmetic on the file's weights
};
// By the suite's own program, in exact f32 arithmetic.
constexpr FileAndValue kFiles[] = {{"f32", 2.2622},    {"F16", 2.2622},  {"BF16", 2.2619},
                                   {"IQ4_XS", 2.3920}, {"Q2_K", 2.3920}, {"Q3_K_M", 2.3700},
                                   {"Q4_K_M", 2.3081}, {"Q6_K", 2.2645}, {"TQ2_0", 2.4169}};

// To the stated digits.
void expect_perplexity(const FileAndValue& file, const RunOn& on, double tolerance) {
  const std::string path =
      suite_file(std::string("stories260k/gguf/stories260K-") + file.name + ".gguf");
  QUERN_NEED_FILE(path, "suite stories260k");
  const auto engine = open_engine(path, on);
  ASSERT_NE(engine, nullptr);
  const std::string text = read_file(suite_file("stories260k/gguf/eval.txt"));
  const auto ids = engine->tokenizer().encode(text, {});
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->size(), 2347U);
  const auto result = measure_perplexity(*engine, *ids, 128, {});
  ASSERT_TRUE(result) << result.error().message;
  // 2,347 tokens are 18 chunks of 128; each scores its second half but for the last token.
  EXPECT_EQ(result->num_scored, 18 * 63);
  // The exact values are rounded to four digits.
  EXPECT_NEAR(result->value, file.perplexity, tolerance * file.perplexity + 5e-5)
      << file.name << " on " << describe(on);
}

// To the digits that the suite states.
TEST_P(Stories260k, PerplexityOfNineFilesIsExact) {
  for (const FileAndValue& file : kFiles) {
    // f32 and int16 differ from exact arithmetic in the fifth digit; int8 visibly.
    expect_perplexity(file, {GetParam(), 2, "", Activations::kF32}, 0.0002);
    expect_perplexity(file, {GetParam(), 2, "", Activations::kInt16}, 0.0002);
    expect_perplexity(file, {GetParam(), 2, "", Activations::kInt8}, 0.005);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Stories260k, testing::Values("reference", "cpu"));

}  // namespace
}  // namespace quern::test
