#include "formats/weight_files.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "formats/safetensors.h"
#include "formats/synth.h"
#include "support/temporary_folder.h"

namespace quern {
namespace {

// Files of both formats in a folder.
class WeightFiles : public testing::Test {
 protected:
  WeightFiles() : folder_("weight_files") {}
  std::string safetensors(const std::string& name, const std::string& tensor) {
    const NamedTensor item{tensor,
                           *Tensor::from<float>(DType::kF32, Shape{1}, std::array<float, 1>{7})};
    EXPECT_TRUE(write_safetensors(folder_.file(name), {&item, 1}));
    return folder_.file(name);
  }
  test::TemporaryFolder folder_;
};

// Names decide, not files.
TEST_F(WeightFiles, FilesOfBothFormatsAreOneSource) {
  const std::string gguf = folder_.file("m.gguf");
  ASSERT_TRUE(write_synthetic_model(gguf, {}));
  const std::vector<std::string> paths{gguf, safetensors("extra", "extra.weight")};
  const auto source = open_weight_files(paths);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->weight("extra.weight")->read_as<float>().value(), std::vector<float>{7});
  EXPECT_EQ((*source)->info("token_embd.weight")->dtype, DType::kF32);
  EXPECT_GT((*source)->list().size(), 10U);
  EXPECT_EQ((*source)->weight("none").error().message,
            "There is no weight 'none' in " + paths[0] + ", " + paths[1] + ".");
}

// Two weights of one name would hide each other.
TEST_F(WeightFiles, NamesMustBeUnique) {
  const std::vector<std::string> paths{safetensors("a", "w"), safetensors("b", "w")};
  EXPECT_EQ(open_weight_files(paths).error().message,
            "The weight 'w' is in two files, '" + paths[0] + "' and '" + paths[1] + "'.");
}

// A graph without weights needs none.
TEST_F(WeightFiles, NoFilesHoldNothing) {
  const auto source = open_weight_files({});
  ASSERT_TRUE(source);
  EXPECT_TRUE((*source)->list().empty());
  EXPECT_EQ((*source)->info("w").error().message, "There is no weight 'w': no file was given.");
}

// By the ending, with those that are known.
TEST_F(WeightFiles, OtherFilesAreRefused) {
  std::ofstream(folder_.file("text")) << "not a model, just a few words";
  const std::vector<std::string> paths{folder_.file("text")};
  EXPECT_FALSE(open_weight_files(paths));
  const std::vector<std::string> missing{folder_.file("missing")};
  EXPECT_EQ(open_weight_files(missing).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace quern
