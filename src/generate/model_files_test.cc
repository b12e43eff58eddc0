// Model files: overrides, paths, and errors that name the file they are about.
#include "generate/model_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "quern/op.h"
#include "support/tiny_engine.h"

namespace quern {
namespace {

using test::TinyModelFile;

// A tiny model's file, opened with all kinds of options.
class ModelFilesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = std::make_unique<TinyModelFile>(); }
  static void TearDownTestSuite() { model_.reset(); }
  static std::string error(const std::vector<MetadataOverride>& overrides,
                           const std::vector<AdapterFile>& adapters = {}) {
    const auto files = open_model_files(model_->path(), {}, overrides, adapters);
    return files ? "no error" : files.error().message;
  }
  static std::string loading() { return "While loading '" + model_->path() + "': "; }

  static std::unique_ptr<TinyModelFile> model_;
};
std::unique_ptr<TinyModelFile> ModelFilesTest::model_;

// Without a device.
TEST_F(ModelFilesTest, OpensWhatAModelConsistsOf) {
  const auto files = open_model_files(model_->path(), {});
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->paths, std::vector<std::string>{model_->path()});
  EXPECT_FALSE(files->overridden);
  EXPECT_EQ(&files->metadata(), &files->file->metadata());
  EXPECT_EQ(files->tokenizer->vocab_size(), files->model.vocab_size);
  // Each weight of the graph is one of the files'.
  const AdaptedWeights weights = files->weights();
  int num_weights = 0;
  for (const Node& node : files->model.graph.nodes()) {
    if (node.op->id != "graph.weight") continue;
    ++num_weights;
    EXPECT_TRUE(weights.info(std::string(node.attributes.text("weight")))) << node.name;
  }
  EXPECT_GT(num_weights, 10);
}

// The file itself does not change.
TEST_F(ModelFilesTest, OverridesStandBesideTheFile) {
  const auto files = open_model_files(
      model_->path(), {},
      std::vector<MetadataOverride>{{"context_length", MetadataValue::number(int64_t{77})}});
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_TRUE(files->overridden);
  EXPECT_EQ(files->metadata().integer("llama.context_length").value(), 77);
  EXPECT_EQ(files->file->metadata().integer("llama.context_length").value(), 256);
  EXPECT_EQ(files->model.context_length, 77);
}

// As if the file said so, with the file's name in the error.
TEST_F(ModelFilesTest, OverridesAreCheckedAsMetadata) {
  EXPECT_TRUE(error({{"block_count", MetadataValue::number(int64_t{0})}}).starts_with(loading()));
  EXPECT_TRUE(
      error({{"attention.head_count", MetadataValue::number(int64_t{0})}}).starts_with(loading()));
  EXPECT_TRUE(error({{"embedding_length", MetadataValue::text("wide")}}).starts_with(loading()));
  EXPECT_TRUE(error({{"block_count", MetadataValue::number(int64_t{3})}}).find("blk.2.") !=
              std::string::npos)
      << error({{"block_count", MetadataValue::number(int64_t{3})}});
  // A key that nobody reads would be an override without effect.
  EXPECT_EQ(error({{"no.such.key", MetadataValue::number(int64_t{1})}}),
            loading() +
                "Key 'llama.no.such.key' is not known to this model family; running without it "
                "could give wrong results.");
}

// There may be several.
TEST_F(ModelFilesTest, AdaptersAreNamedInErrors) {
  const std::string absent = model_->file("absent.gguf");
  EXPECT_TRUE(error({}, {{absent, 1}}).find(absent) != std::string::npos)
      << error({}, {{absent, 1}});
  // A model is no adapter.
  const std::string message = error({}, {{model_->path(), 1}});
  EXPECT_TRUE(message.starts_with(loading() + "Adapter '" + model_->path() + "': ")) << message;
}

// Text, nothing, absent, and a folder.
TEST_F(ModelFilesTest, FilesThatAreNoModel) {
  const std::string path = model_->file("text.gguf");
  std::ofstream(path) << "This is no model.";
  const auto text = open_model_files(path, {});
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find(path), std::string::npos) << text.error().message;
  std::ofstream(path, std::ios::trunc);
  const auto empty = open_model_files(path, {});
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find(path), std::string::npos) << empty.error().message;
  EXPECT_EQ(open_model_files(model_->file("none.gguf"), {}).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(open_model_files(std::filesystem::path(model_->path()).parent_path().string(), {}));
}

}  // namespace
}  // namespace quern
