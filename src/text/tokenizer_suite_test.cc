// Whole vocabularies against ids that other programs computed: llama.cpp's collection (made with
// Hugging Face tokenizers), tiktoken, and real models. Skipped where the files are absent.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "text/suite_vocabulary.h"

namespace quern {
namespace {

using Ids = std::vector<int32_t>;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> inputs_of(const std::string& path) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  const std::string all = read_file(path);
  std::vector<std::string> inputs;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = all.find(separator, begin);
    inputs.push_back(all.substr(begin, end - begin));
    if (end == std::string::npos) break;
    begin = end + separator.size();
  }
  return inputs;
}

std::vector<Ids> outputs_of(const std::string& path) {
  std::istringstream lines(read_file(path));
  std::vector<Ids> outputs;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    outputs.emplace_back(std::istream_iterator<int32_t>(numbers), std::istream_iterator<int32_t>());
  }
  return outputs;
}

class GgufVocabulary : public testing::TestWithParam<const char*> {};

TEST_P(GgufVocabulary, EncodesAsExpected) {
  const std::string path = suite_path("gguf_vocab/ggml-vocab-" + std::string(GetParam()) + ".gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  const auto inputs = inputs_of(path + ".inp");
  const auto outputs = outputs_of(path + ".out");
  ASSERT_EQ(inputs.size(), outputs.size());
  ASSERT_GT(inputs.size(), 40U);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto ids = tokenizer->encode(inputs[i], {.add_special = false});
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, outputs[i]) << "line " << i + 1 << ": '" << inputs[i] << "'";
    EXPECT_EQ(tokenizer->decode(*ids), inputs[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, GgufVocabulary,
                         testing::Values("deepseek-coder", "deepseek-llm", "falcon", "gpt-2",
                                         "llama-spm", "mpt", "phi-3", "refact", "starcoder"));

// Text and ids of a JSON list.
void expect_pairs(const Tokenizer& tokenizer, const std::string& json_path) {
  const auto pairs = nlohmann::json::parse(read_file(json_path), nullptr, false);
  ASSERT_TRUE(pairs.is_array()) << json_path;
  size_t num_equal = 0;
  for (const auto& pair : pairs) {
    const std::string text = pair["text"];
    const auto ids = tokenizer.encode(text, {.add_special = false});
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, pair["ids"].get<Ids>()) << "'" << text << "'";
    num_equal += *ids == pair["ids"].get<Ids>();
  }
  EXPECT_EQ(num_equal, 552U) << "of " << pairs.size();
}

TEST(TokenizerSuite, Gpt2EncodesAsTiktoken) {
  const std::string path = suite_path("gguf_vocab/ggml-vocab-gpt-2.gguf");
  const std::string json = suite_path("tokenizers/gpt2.tiktoken.json");
  if (!std::filesystem::exists(path) || !std::filesystem::exists(json)) {
    GTEST_SKIP() << path << " or " << json << " is absent.";
  }
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  expect_pairs(*tokenizer, json);
}

}  // namespace
}  // namespace quern
