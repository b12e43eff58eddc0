// Whole vocabularies against ids that other programs computed: llama.cpp's collection (made with
// Hugging Face tokenizers), tiktoken, and real models. Skipped where the files are absent.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "text/stream_decoder.h"
#include "text/suite_vocabulary.h"
#include "text/utf8.h"

namespace quern {
namespace {

using Ids = std::vector<int32_t>;
using std::filesystem::exists;

// Sanitizers slow the code down.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlowness = 20;
#else
constexpr double kSlowness = 1;
#endif

// Of the suite's vocabularies.
std::string model_path(const std::string& name) {
  return std::string(QUERN_MODELS_DIR) + "/" + name;
}

// Id by id, as generation shows them.
std::string stream(const Tokenizer& tokenizer, const Ids& ids) {
  StreamDecoder decoder(tokenizer);
  std::string text;
  for (const int32_t id : ids) text += decoder.push(id);
  return text + decoder.flush();
}

// All bytes of it.
std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Texts of a suite, between its separators.
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

// Ids of a suite, a line for each text.
std::vector<Ids> outputs_of(const std::string& path) {
  std::istringstream lines(read_file(path));
  std::vector<Ids> outputs;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    outputs.emplace_back(std::istream_iterator<int32_t>(numbers), std::istream_iterator<int32_t>());
  }
  return outputs;
}

// The .inp and .out files beside a vocabulary.
void expect_outputs(const Tokenizer& tokenizer, const std::string& path) {
  const auto inputs = inputs_of(path + ".inp");
  const auto outputs = outputs_of(path + ".out");
  ASSERT_EQ(inputs.size(), outputs.size());
  ASSERT_GT(inputs.size(), 40U);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto ids = tokenizer.encode(inputs[i], {.add_special = false});
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, outputs[i]) << "line " << i + 1 << ": '" << inputs[i] << "'";
  }
}

class GgufVocabulary : public testing::TestWithParam<const char*> {};

TEST_P(GgufVocabulary, EncodesAsExpected) {
  const auto path = suite_path("gguf_vocab/ggml-vocab-" + std::string(GetParam()) + ".gguf");
  if (!exists(path)) GTEST_SKIP() << path << " is absent.";
  if (!exists(path + ".inp")) GTEST_SKIP() << path << " has no strings beside it.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  expect_outputs(*tokenizer, path);
  for (const std::string& input : inputs_of(path + ".inp")) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(input).value()), input);
  }
}

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
  // The lists hold 552 texts; a list that was cut short must not pass.
  EXPECT_EQ(num_equal, 552U) << "of " << pairs.size();
}

TEST(TokenizerSuite, Gpt2EncodesAsTiktoken) {
  const std::string path = suite_path("gguf_vocab/ggml-vocab-gpt-2.gguf");
  const std::string json = suite_path("tokenizers/gpt2.tiktoken.json");
  if (!exists(path) || !exists(json)) GTEST_SKIP() << path << " or " << json << " is absent.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  expect_pairs(*tokenizer, json);
}

// Made from the tokenizer.model of PyPI's llama-models 0.3.0 (its licence keeps it out of here).
TEST(TokenizerSuite, Llama3EncodesAsHuggingFace) {
  const std::string path = model_path("ggml-vocab-llama-bpe.gguf");
  const std::string json = suite_path("tokenizers/llama3.hf-tokenizers-js.json");
  if (!exists(path) || !exists(json)) GTEST_SKIP() << path << " or " << json << " is absent.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  expect_pairs(*tokenizer, json);
}

TEST(TokenizerSuite, SmolLm2EncodesPromptsAndEndsTurns) {
  const std::string path = model_path("SmolLM2-135M-Instruct.Q4_1.gguf");
  const std::string json = suite_path("smollm2_golden/golden.json");
  if (!exists(path) || !exists(json)) GTEST_SKIP() << path << " or " << json << " is absent.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  EXPECT_TRUE(tokenizer->is_end_of_generation(2));  // <|im_end|>
  EXPECT_TRUE(tokenizer->is_end_of_generation(0));  // <|endoftext|>
  const auto cases = nlohmann::json::parse(read_file(json), nullptr, false);
  ASSERT_TRUE(cases.is_array());
  for (const auto& golden : cases) {
    const std::string prompt = golden["prompt"];
    const auto ids = tokenizer->encode(prompt, {.parse_special = true});
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, golden["prompt_ids"].get<Ids>()) << prompt;
    EXPECT_EQ(tokenizer->decode(*ids, {.skip_special = false}), prompt);
  }
}

TEST(TokenizerSuite, Gemma3EncodesPromptsAndEndsTurns) {
  const std::string path = model_path("gemma-3-270m-q4_k_m.gguf");
  const std::string json = suite_path("gemma3_golden/golden.json");
  if (!exists(path) || !exists(json)) GTEST_SKIP() << path << " or " << json << " is absent.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  const auto ends = tokenizer->end_of_generation_ids();
  EXPECT_EQ(Ids(ends.begin(), ends.end()), (Ids{1, 106}));  // <eos>, <end_of_turn>; not </s>
  const auto cases = nlohmann::json::parse(read_file(json), nullptr, false);
  ASSERT_TRUE(cases.is_array());
  for (const auto& golden : cases) {
    const std::string prompt = golden["prompt"];
    const auto ids = tokenizer->encode(prompt);
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, golden["prompt_ids"].get<Ids>()) << prompt;
    EXPECT_EQ(tokenizer->decode(*ids), prompt);
  }
}

// The cleaning of BERT is not undone, so there is no round trip.
TEST(TokenizerSuite, BertBgeEncodesAsExpected) {
  const std::string path = suite_path("gguf_vocab/ggml-vocab-bert-bge.gguf");
  if (!exists(path)) GTEST_SKIP() << path << " is absent.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  expect_outputs(*tokenizer, path);
}

// Half-open ranges. ASCII is listed twice and has a line of spaces and one of digits, so that
// patterns meet what they tell apart. No range holds surrogates.
// Code points of many scripts, spaces and digits in between.
std::string random_unicode(std::mt19937& random) {
  constexpr std::pair<uint32_t, uint32_t> kRanges[] = {
      {0x20, 0x7F},     {0x20, 0x7F},     {0x09, 0x0E},       {0x30, 0x3A},
      {0xA0, 0x250},    {0x300, 0x370},   {0x370, 0x530},     {0x590, 0x700},
      {0x900, 0xA00},   {0x2000, 0x2070}, {0x3000, 0x3100},   {0x4E00, 0x9FFF},
      {0xAC00, 0xD7A4}, {0xE000, 0xFFFF}, {0x1F300, 0x1F700}, {0x10000, 0x110000}};
  std::string text;
  const size_t length = random() % 40;
  for (size_t i = 0; i < length; ++i) {
    const auto [low, high] = kRanges[random() % std::size(kRanges)];
    append_utf8(low + random() % (high - low), text);
  }
  return text;
}

// What decode(encode(text)) must be: real vocabularies lack bytes (falcon 28, starcoder 14,
// deepseek 13, mpt 13, gpt-2 none), and what has such a byte is U+FFFD.
class RoundTrip {
 public:
  explicit RoundTrip(const Tokenizer& tokenizer) {
    for (int b = 0; b < 256; ++b) {
      const std::string byte(1, static_cast<char>(b));
      const auto ids = tokenizer.encode(byte, {.add_special = false});
      EXPECT_TRUE(ids) << ids.error().message;
      if (ids && tokenizer.decode(*ids) != byte) missing_ += byte;
    }
  }
  std::string operator()(std::string_view text) const {
    std::string expected;
    while (!text.empty()) {
      const Utf8Step step = decode_utf8(text);
      const auto part = text.substr(0, step.status == Utf8Status::kValid ? step.size : 1);
      const bool is_missing = part.find_first_of(missing_) != std::string_view::npos;
      expected += is_missing ? kReplacementCharacter : part;
      text.remove_prefix(part.size());
    }
    return expected;
  }
  size_t num_missing() const { return missing_.size(); }

 private:
  std::string missing_;
};

TEST_P(GgufVocabulary, RandomTextAndRandomBytesComeBack) {
  const auto path = suite_path("gguf_vocab/ggml-vocab-" + std::string(GetParam()) + ".gguf");
  if (!exists(path)) GTEST_SKIP() << path << " is absent.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  const RoundTrip round_trip(*tokenizer);
  EXPECT_LE(round_trip.num_missing(), 30U);
  std::mt19937 random(42);
  for (int i = 0; i < 10'000; ++i) {
    std::string text = random_unicode(random);
    if (i % 4 == 0) {
      for (char& c : text) c = static_cast<char>(random());
    }
    const auto ids = tokenizer->encode(text, {.add_special = false});
    ASSERT_TRUE(ids) << ids.error().message;
    const std::string expected = round_trip(text);
    ASSERT_EQ(tokenizer->decode(*ids), expected) << i;
    ASSERT_EQ(stream(*tokenizer, *ids), replace_invalid_utf8(expected)) << i;
  }
}

// CPU seconds to encode `size` bytes of a repeated text; checks the round trip.
double seconds_for(const Tokenizer& tokenizer, const std::string& unit, size_t size) {
  std::string text;
  while (text.size() < size) text += unit;
  const auto begin = std::clock();
  const auto ids = tokenizer.encode(text, {.add_special = false});
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_TRUE(ids) << ids.error().message;
  EXPECT_TRUE(ids && tokenizer.decode(*ids) == RoundTrip(tokenizer)(text)) << unit;
  return seconds;
}

// FF makes a run of broken bytes, < begins special tokens that never come.
// A merge loop or a pattern that is quadratic takes minutes here; 0.1 s is usual.
TEST_P(GgufVocabulary, MonotonousTextTakesLinearTime) {
  const auto path = suite_path("gguf_vocab/ggml-vocab-" + std::string(GetParam()) + ".gguf");
  if (!exists(path)) GTEST_SKIP() << path << " is absent.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  for (const std::string unit : {"a", " ", "1", "\n", "\u6F22", "\xFF", "<"}) {
    EXPECT_LT(seconds_for(*tokenizer, unit, 200'000), 2.0 * kSlowness) << unit;
  }
}

TEST(TokenizerSuite, AMegabyteOfOneCharacterTakesLessThanTwoSeconds) {
  for (const std::string name : {"gpt-2", "llama-spm"}) {
    const std::string path = suite_path("gguf_vocab/ggml-vocab-" + name + ".gguf");
    if (!exists(path)) GTEST_SKIP() << path << " is absent.";
    const auto tokenizer = load_tokenizer(path);
    ASSERT_TRUE(tokenizer);
    EXPECT_LT(seconds_for(*tokenizer, "a", 1'000'000), 2.0 * kSlowness) << name;
    EXPECT_LT(seconds_for(*tokenizer, " ", 1'000'000), 2.0 * kSlowness) << name;
  }
}

// A tokenizer is immutable; what a thread needs to encode is its own. Under ThreadSanitizer this
// shows any shared buffer.
TEST(TokenizerSuite, ThreadsShareOneTokenizer) {
  const std::string path = suite_path("gguf_vocab/ggml-vocab-gpt-2.gguf");
  if (!exists(path)) GTEST_SKIP() << path << " is absent.";
  const auto tokenizer = load_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  std::vector<std::string> texts;
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) texts.push_back(random_unicode(random));
  const auto encode_all = [&] {
    std::vector<Ids> all;
    for (const std::string& text : texts) all.push_back(tokenizer->encode(text).value());
    return all;
  };
  const std::vector<Ids> expected = encode_all();
  std::vector<std::future<std::vector<Ids>>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(std::async(std::launch::async, encode_all));
  for (auto& future : futures) EXPECT_EQ(future.get(), expected);
}

// A name for each run that test runners take.
std::string case_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Suite, GgufVocabulary,
                         testing::Values("deepseek-coder", "deepseek-llm", "falcon", "gpt-2",
                                         "gpt-neox", "llama-spm", "mpt", "phi-3", "refact",
                                         "starcoder"),
                         case_name);

}  // namespace
}  // namespace quern
