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

// A sequence of a tiny model from the suite.
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

// On another device.
TEST_F(SequenceFile, ContinuesWithTheSameBits) {
  const auto other = open_engine(path_, {"reference"});
  const auto loaded = load_sequence(*other, file_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->tokens, kStart);
  const auto a = engine_->forward_chunked({sequence_, kRest, Feed::Logits::kAll}, 64);
  const auto b = other->forward_chunked({loaded->sequence, kRest, Feed::Logits::kAll}, 64);
  EXPECT_EQ(a->read_as<float>().value(), b->read_as<float>().value());
}

// Nothing of them reaches the cache.
TEST_F(SequenceFile, RefusesDamagedAndForeignFiles) {
  std::ifstream stream(file_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  // Nothing, half of the magic, half of the header, all but a byte of the checksum.
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
  // 3 tokens do not stand for 7 rows.
  EXPECT_FALSE(save_sequence(*engine_, sequence_, kRest, file_));
}

// Rotary factors that change with the length (32 tokens here): the file says which were used, and a
// loaded sequence that grows past the length is computed anew like any other.
TEST(SequenceFileLongContext, FactorsAndTokensComeBack) {
  const std::string path = suite_file("tiny_models/phi3-longrope/model.gguf");
  QUERN_NEED_FILE(path, "suite tiny_models");
  const TemporaryFolder folder("sequence_file_long_test");
  const std::string file = folder.file("sequence.kv");
  std::vector<int32_t> all;
  for (int i = 0; i < 60; ++i) all.push_back((5 + 37 * i) % 300);
  // 10 tokens use the short factors and pass the threshold of 32 with the rest; 50 have the long
  // ones from the start.
  for (const size_t length : {size_t{10}, size_t{50}}) {
    const std::span<const int32_t> start(all.data(), length);
    const std::span<const int32_t> rest(all.data() + length, all.size() - length);
    const auto engine = open_engine(path, {"cpu"});
    const auto other = open_engine(path, {"cpu"});
    const int32_t sequence = engine->kv().create_sequence().value();
    ASSERT_TRUE(engine->forward_chunked({sequence, start, Feed::Logits::kNone}, 64));
    ASSERT_TRUE(save_sequence(*engine, sequence, start, file));
    const auto loaded = load_sequence(*other, file);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(other->has_long_factors(loaded->sequence), engine->has_long_factors(sequence));
    EXPECT_EQ(other->has_long_factors(loaded->sequence), length == 50);
    const auto a = engine->forward_chunked({sequence, rest, Feed::Logits::kAll}, 64);
    const auto b = other->forward_chunked({loaded->sequence, rest, Feed::Logits::kAll}, 64);
    ASSERT_TRUE(a && b) << (b ? "" : b.error().message);
    EXPECT_EQ(a->read_as<float>().value(), b->read_as<float>().value());
  }
}

// A sequence that passes the length is computed anew from its tokens. Where that fails, here by a
// token that no file may hold, its rows, its factors and its id are as they were.
TEST(SequenceFileLongContext, AFailedRestartLeavesTheSequence) {
  const std::string path = suite_file("tiny_models/phi3-longrope/model.gguf");
  QUERN_NEED_FILE(path, "suite tiny_models");
  const auto engine = open_engine(path, {"cpu"});
  std::vector<int32_t> ids;
  for (int i = 0; i < 50; ++i) ids.push_back((5 + 37 * i) % 300);
  const std::span<const int32_t> start(ids.data(), 10), few(ids.data() + 10, 5);
  const std::span<const int32_t> many(ids.data() + 10, 40);
  const auto fed = [&](int32_t sequence, std::span<const int32_t> tokens) {
    return engine->forward_chunked({sequence, tokens, Feed::Logits::kAll}, 64);
  };
  const int32_t first = engine->kv().create_sequence().value();
  ASSERT_TRUE(fed(first, start));
  const auto rows = engine->kv().export_rows(first);
  ASSERT_TRUE(rows);
  std::vector<int32_t> bad(start.begin(), start.end());
  bad[3] = static_cast<int32_t>(engine->model().vocab_size);
  const int32_t sequence = engine->import_sequence(bad, *rows, false).value();
  const auto expected = fed(first, few);
  ASSERT_TRUE(expected);
  // Its id is free and lower: the restored sequence must not take it.
  ASSERT_TRUE(engine->kv().remove_sequence(first));
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_FALSE(fed(sequence, many));
    EXPECT_EQ(engine->kv().length(sequence).value_or(-1), 10);
    EXPECT_FALSE(engine->has_long_factors(sequence));
    EXPECT_TRUE(engine->kv().export_rows(sequence).value_or(std::vector<std::byte>{}) == *rows);
  }
  // Below the length it goes on as if nothing had happened.
  const auto actual = fed(sequence, few);
  ASSERT_TRUE(actual) << actual.error().message;
  EXPECT_EQ(actual->read_as<float>().value(), expected->read_as<float>().value());
  // And no copy is left behind.
  EXPECT_EQ(engine->kv().create_sequence().value(), first);
  EXPECT_EQ(engine->kv().create_sequence().value(), sequence + 1);
}

// Adapters are part of what the rows were computed with.
TEST_F(SequenceFile, NamesTheSettingsOfTheModel) {
  EngineOptions options;
  options.model.key_type = DType::kF16;
  const auto f16 = Engine::open(path_, options);
  ASSERT_TRUE(f16);
  EXPECT_NE(model_fingerprint(**f16), model_fingerprint(*engine_));
  options = {};
  options.overrides = {{"rope.freq_base", MetadataValue::number(20000.0)}};
  const auto rotated = Engine::open(path_, options);
  ASSERT_TRUE(rotated);
  EXPECT_NE(model_fingerprint(**rotated), model_fingerprint(*engine_));
  const auto same = Engine::open(path_, {});
  ASSERT_TRUE(same);
  EXPECT_EQ(model_fingerprint(**same), model_fingerprint(*engine_));
}

}  // namespace
}  // namespace quern::test
