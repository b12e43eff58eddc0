#include "formats/model_metadata.h"

#include <gtest/gtest.h>

#include <array>

namespace quern {
namespace {

// A model that is right in every checked key.
Metadata sound() {
  Metadata m;
  m.set("general.architecture", MetadataValue::text("llama"));
  for (const char* key : {"block_count", "context_length", "embedding_length",
                          "feed_forward_length", "rope.dimension_count", "vocab_size"}) {
    m.set(std::string("llama.") + key, MetadataValue::number(uint32_t{8}));
  }
  m.set("llama.attention.head_count", MetadataValue::number(uint32_t{8}));
  m.set("llama.attention.head_count_kv", MetadataValue::number(uint32_t{2}));
  m.set("tokenizer.ggml.tokens", MetadataValue::texts(std::array<std::string_view, 2>{"a", "b"}));
  m.set("tokenizer.ggml.scores", MetadataValue::numbers<float>(std::array<float, 2>{0, 1}));
  m.set("tokenizer.ggml.token_type", MetadataValue::numbers<int32_t>(std::array<int32_t, 2>{1, 1}));
  m.set("tokenizer.ggml.bos_token_id", MetadataValue::number(uint32_t{1}));
  return m;
}

std::string error_with(const std::string& key, MetadataValue value) {
  Metadata m = sound();
  m.set(key, std::move(value));
  const auto checked = check_model_metadata(m);
  return checked ? "none" : checked.error().message;
}

const MetadataValue kNoIntegers = MetadataValue::numbers<int32_t>({});
const MetadataValue kNoTexts = MetadataValue::texts({});

MetadataValue integers(std::initializer_list<int32_t> values) {
  return MetadataValue::numbers<int32_t>(std::span(values.begin(), values.size()));
}

// Checking must not count as reading a key.
TEST(ModelMetadata, ASoundModelPassesAndLeavesNoTrace) {
  const Metadata m = sound();
  EXPECT_TRUE(check_model_metadata(m));
  // All eight keys of the model are still unread: the check peeks.
  EXPECT_EQ(m.unread_keys("llama.").size(), 8U);
  Metadata least;
  least.set("general.architecture", MetadataValue::text("x"));
  EXPECT_TRUE(check_model_metadata(least));
}

// Part of every other key.
TEST(ModelMetadata, TheArchitectureIsAName) {
  Metadata none;
  EXPECT_EQ(check_model_metadata(none).error().code, ErrorCode::kNotFound);
  const std::string begin = "Metadata key 'general.architecture' is empty or of type ";
  const std::string end = "; the name of a model family is needed.";
  EXPECT_EQ(error_with("general.architecture", MetadataValue::text("")), begin + "string" + end);
  EXPECT_EQ(error_with("general.architecture", MetadataValue::number(1.0F)), begin + "f32" + end);
  EXPECT_EQ(error_with("general.architecture", kNoTexts), begin + "array of string" + end);
  EXPECT_EQ(error_with("general.architecture",
                       MetadataValue::texts(std::array<std::string_view, 1>{"llama"})),
            begin + "array of string" + end);
}

// They are multiplied and divided by.
TEST(ModelMetadata, SizesArePositiveIntegers) {
  for (const std::string key :
       {"block_count", "context_length", "embedding_length", "feed_forward_length",
        "attention.head_count", "attention.head_count_kv", "rope.dimension_count", "vocab_size"}) {
    const std::string full = "llama." + key;
    EXPECT_EQ(error_with(full, MetadataValue::number(int32_t{0})),
              "Metadata key '" + full + "' holds 0; at least 1 is needed.");
    EXPECT_EQ(error_with(full, MetadataValue::number(int64_t{-5})),
              "Metadata key '" + full + "' holds -5; at least 1 is needed.");
    EXPECT_EQ(error_with(full, MetadataValue::text("8")),
              "Metadata key '" + full + "' is of type string; an integer is needed.");
    EXPECT_EQ(error_with(full, MetadataValue::number(8.0F)),
              "Metadata key '" + full + "' is of type f32; an integer is needed.");
    EXPECT_EQ(error_with(full, MetadataValue::number(UINT64_MAX)),
              "Metadata key '" + full + "' holds 18446744073709551615; the limit is 2^63 - 1.");
  }
  // No experts is how many converters write a dense model.
  EXPECT_EQ(error_with("llama.expert_count", MetadataValue::number(uint32_t{0})), "none");
  EXPECT_EQ(error_with("llama.expert_count", MetadataValue::number(int32_t{-1})),
            "Metadata key 'llama.expert_count' holds -1; at least 0 is needed.");
}

// Key-value heads of 0 are layers without attention.
TEST(ModelMetadata, LayersMayDifferAndSomeHaveNone) {
  EXPECT_EQ(error_with("llama.feed_forward_length", integers({8, 0, 4})), "none");
  EXPECT_EQ(error_with("llama.feed_forward_length", integers({8, -1})),
            "Metadata key 'llama.feed_forward_length' holds -1; at least 0 is needed.");
}

// In every layer.
TEST(ModelMetadata, HeadsAreAMultipleOfKeyValueHeads) {
  EXPECT_EQ(error_with("llama.attention.head_count_kv", MetadataValue::number(uint32_t{3})),
            "The model has 8 attention heads, not a multiple of 3 key-value heads.");
  EXPECT_EQ(error_with("llama.attention.head_count_kv", integers({8, 0, 4})), "none");
  EXPECT_EQ(error_with("llama.attention.head_count_kv", integers({8, 0, 5})),
            "The model has 8 attention heads, not a multiple of 5 key-value heads.");
  EXPECT_EQ(error_with("llama.attention.head_count_kv", kNoIntegers),
            "Metadata key 'llama.attention.head_count_kv' has 0 elements; element 0 is needed.");
  EXPECT_EQ(error_with("llama.attention.head_count", kNoIntegers),
            "Metadata key 'llama.attention.head_count' has 0 elements; element 0 is needed.");
  Metadata m = sound();
  m.set("llama.attention.head_count", integers({8, 8}));
  m.set("llama.attention.head_count_kv", integers({2, 2, 2}));
  EXPECT_EQ(check_model_metadata(m).error().message,
            "The model has head counts for 2 layers and key-value ones for 3.");
}

// Scores and types, one for each token.
TEST(ModelMetadata, ArraysOfTheTokenizerFitTheVocabulary) {
  EXPECT_EQ(error_with("tokenizer.ggml.tokens", integers({1})),
            "Metadata key 'tokenizer.ggml.tokens' is of type array of i32; an array of strings is "
            "needed.");
  EXPECT_EQ(error_with("tokenizer.ggml.tokens", MetadataValue::text("a")),
            "Metadata key 'tokenizer.ggml.tokens' is of type string; an array of strings is "
            "needed.");
  EXPECT_EQ(error_with("tokenizer.ggml.scores", integers({1})),
            "Metadata key 'tokenizer.ggml.scores' holds 1 values; the vocabulary has 2 tokens.");
  EXPECT_EQ(error_with("tokenizer.ggml.token_type", kNoTexts),
            "Metadata key 'tokenizer.ggml.token_type' is of type array of string; an array of "
            "numbers is needed.");
  EXPECT_EQ(error_with("tokenizer.ggml.token_type", MetadataValue::number(int32_t{1})),
            "Metadata key 'tokenizer.ggml.token_type' is of type i32; an array of numbers is "
            "needed.");
}

// All ones is how some files say none.
TEST(ModelMetadata, SpecialTokensAreInTheVocabularyOrNone) {
  for (const std::string name :
       {"bos", "eos", "eot", "eom", "unknown", "seperator", "padding", "mask"}) {
    const std::string key = "tokenizer.ggml." + name + "_token_id";
    EXPECT_EQ(error_with(key, MetadataValue::number(uint32_t{1})), "none");
    EXPECT_EQ(error_with(key, MetadataValue::number(uint32_t{0xffffffff})), "none");
    EXPECT_EQ(error_with(key, MetadataValue::number(int32_t{-1})), "none");
    EXPECT_EQ(error_with(key, MetadataValue::number(uint32_t{2})),
              "Metadata key '" + key + "' is 2; the vocabulary has 2 tokens.");
    EXPECT_EQ(error_with(key, MetadataValue::number(int32_t{-2})),
              "Metadata key '" + key + "' is -2; the vocabulary has 2 tokens.");
    EXPECT_EQ(error_with(key, kNoIntegers),
              "Metadata key '" + key + "' is of type array of i32; an integer is needed.");
    EXPECT_EQ(error_with(key, integers({1})),
              "Metadata key '" + key + "' is of type array of i32; an integer is needed.");
    EXPECT_EQ(error_with(key, MetadataValue::text("x")),
              "Metadata key '" + key + "' is of type string; an integer is needed.");
  }
}

}  // namespace
}  // namespace quern
