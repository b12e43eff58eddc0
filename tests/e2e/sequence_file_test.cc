// Saved sequences continue with the same bits; damaged and foreign files are refused.
#include "generate/sequence_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "e2e/model_runner.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

const std::vector<int32_t> kStart = {5, 17, 200, 3, 90, 11, 12};
const std::vector<int32_t> kRest = {8, 250, 31};

class SequenceFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = suite_file("tiny_models/llama/model.gguf");
    QUERN_NEED_FILE(path_, "suite tiny_models");
    engine_ = open_engine(path_, {"cpu"});
    ASSERT_NE(engine_, nullptr);
    sequence_ = engine_->kv().create_sequence().value();
    ASSERT_TRUE(engine_->forward_chunked({sequence_, kStart, Feed::Logits::kNone}, 64));
    ASSERT_TRUE(save_sequence(*engine_, sequence_, kStart, file_));
  }
  std::string path_;
  TemporaryFolder folder_{"sequence_file_test"};
  std::string file_ = folder_.file("sequence.kv");
  std::unique_ptr<Engine> engine_;
  int32_t sequence_ = 0;
};

TEST_F(SequenceFile, ContinuesWithTheSameBits) {
  const auto other = open_engine(path_, {"reference"});
  const auto loaded = load_sequence(*other, file_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->tokens, kStart);
  const auto a = engine_->forward_chunked({sequence_, kRest, Feed::Logits::kAll}, 64);
  const auto b = other->forward_chunked({loaded->sequence, kRest, Feed::Logits::kAll}, 64);
  EXPECT_EQ(a->read_as<float>().value(), b->read_as<float>().value());
}

TEST_F(SequenceFile, RefusesDamagedAndForeignFiles) {
  std::ifstream stream(file_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  for (const size_t cut : {size_t{0}, size_t{3}, size_t{20}, bytes.size() - 1}) {
    std::ofstream(file_, std::ios::binary) << bytes.substr(0, cut);
    EXPECT_EQ(load_sequence(*engine_, file_).error().code, ErrorCode::kDataLoss) << cut;
  }
  std::string flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
  std::ofstream(file_, std::ios::binary) << flipped;
  EXPECT_EQ(load_sequence(*engine_, file_).error().code, ErrorCode::kDataLoss);
  std::ofstream(file_, std::ios::binary) << bytes;
  const auto other = open_engine(suite_file("tiny_models/qwen2/model.gguf"), {"cpu"});
  const auto foreign = load_sequence(*other, file_);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("another model"), std::string::npos);
  EXPECT_FALSE(save_sequence(*engine_, sequence_, kRest, file_));
}

}  // namespace
}  // namespace quern::test
