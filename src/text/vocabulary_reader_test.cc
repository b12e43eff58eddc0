#include "text/vocabulary_reader.h"

#include <gtest/gtest.h>

#include "text/suite_vocabulary.h"

namespace quern {
namespace {

// Phi-3: SentencePiece's 32,000 tokens and 64 added ones, the first of which ends a text. The file
// says nothing on the space before a text, which must not become a false.
TEST(ReadVocabulary, TakesEveryKeyOfARealFile) {
  const std::string path = suite_path("gguf_vocab/ggml-vocab-phi-3.gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent.";
  const auto v = load_vocabulary(path);
  ASSERT_TRUE(v) << v.error().message;
  EXPECT_EQ(v->model, "llama");
  EXPECT_EQ(v->pre_tokenizer, "default");
  EXPECT_EQ(v->model_name, "Phi3");
  EXPECT_EQ(v->architecture, "phi3");
  ASSERT_EQ(v->tokens.size(), 32064U);
  ASSERT_EQ(v->scores.size(), 32064U);
  ASSERT_EQ(v->types.size(), 32064U);
  EXPECT_EQ(v->tokens[13], "<0x0A>");
  EXPECT_EQ(v->types[13], TokenType::kByte);
  EXPECT_EQ(v->scores[0], -1000.0F);
  EXPECT_EQ(v->special.bos, 1);
  EXPECT_EQ(v->special.eos, 32000);
  EXPECT_EQ(v->special.pad, 32000);
  EXPECT_EQ(v->special.sep, kNoToken);
  EXPECT_EQ(v->add_bos, true);
  EXPECT_EQ(v->add_eos, false);
  EXPECT_EQ(v->add_space_prefix, std::nullopt);
}

// -1 in the file's unsigned numbers; as an id it would lie outside the vocabulary.
TEST(ReadVocabulary, AllOnesMeansNoToken) {
  const std::string path = suite_path("stories260k/gguf/stories260K-f32.gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent.";
  const auto v = load_vocabulary(path);
  ASSERT_TRUE(v) << v.error().message;
  EXPECT_EQ(v->tokens.size(), 512U);
  EXPECT_EQ(v->special.sep, kNoToken);  // the file says 4294967295
  EXPECT_EQ(v->special.eos, 2);
}

// Files of other kinds of models, such as encoders of images, have none.
TEST(ReadVocabulary, AFileWithoutATokenizerIsAnErrorThatNamesTheKey) {
  const auto v = read_vocabulary(Metadata());
  ASSERT_FALSE(v);
  EXPECT_EQ(v.error().code, ErrorCode::kNotFound);
  EXPECT_NE(v.error().message.find("tokenizer.ggml.model"), std::string::npos);
}

}  // namespace
}  // namespace quern
