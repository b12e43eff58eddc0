// Saved sequences as bytes: every cut and every changed field has an error, and none a sequence.
#include "generate/sequence_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "support/tiny_engine.h"

namespace quern {
namespace {

using test::feed_all;
using test::some_tokens;
using test::TinyModelFile;

// Where the fields stand: see the head of sequence_file.cc.
constexpr size_t kVersionAt = 8;
constexpr size_t kFingerprintAt = 16;
constexpr size_t kCountAt = 24;
constexpr size_t kTokensAt = 32;
constexpr size_t kNumTokens = 5;
constexpr size_t kSizeAt = kTokensAt + 4 * kNumTokens;

// A saved sequence of a tiny model, and its bytes to change.
class SequenceFileTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = std::make_unique<TinyModelFile>(); }
  static void TearDownTestSuite() { model_.reset(); }
  void SetUp() override {
    engine_ = model_->open({.context_length = 16});
    ASSERT_NE(engine_, nullptr);
    path_ = model_->file("sequence.kv");
    const auto tokens = some_tokens(3, kNumTokens);
    const int32_t sequence = engine_->kv().create_sequence().value();
    feed_all(*engine_, sequence, tokens);
    const auto saved = save_sequence(*engine_, sequence, tokens, path_);
    ASSERT_TRUE(saved) << saved.error().message;
    std::ifstream stream(path_, std::ios::binary);
    bytes_ = std::string(std::istreambuf_iterator<char>(stream), {});
  }

  // Loads these bytes; the error without the path, or "" if they load.
  std::string load(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    const auto loaded = load_sequence(*engine_, path_);
    if (loaded) {
      EXPECT_TRUE(engine_->kv().remove_sequence(loaded->sequence));
      return "";
    }
    std::string message = loaded.error().message;
    const std::string name = "File '" + path_ + "' ";
    return message.starts_with(name) ? message.substr(name.size()) : message;
  }

  // The file with a field replaced, and a checksum that fits.
  template <class T>
  std::string with(size_t at, T value) const {
    std::string bytes = bytes_;
    std::memcpy(bytes.data() + at, &value, sizeof(T));
    return sealed(bytes.substr(0, bytes.size() - 8));
  }
  static std::string sealed(std::string content) {
    const uint64_t checksum = Hasher().bytes(content.data(), content.size()).digest();
    content.append(reinterpret_cast<const char*>(&checksum), 8);
    return content;
  }

  static std::unique_ptr<TinyModelFile> model_;
  std::unique_ptr<Engine> engine_;
  std::string path_;
  std::string bytes_;
};
std::unique_ptr<TinyModelFile> SequenceFileTest::model_;

// Byte for byte.
TEST_F(SequenceFileTest, TheSameSequenceIsTheSameFile) {
  EXPECT_EQ(load(bytes_), "");
  const auto loaded = load_sequence(*engine_, path_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->tokens, some_tokens(3, kNumTokens));
  const std::string again = model_->file("again.kv");
  ASSERT_TRUE(save_sequence(*engine_, loaded->sequence, loaded->tokens, again));
  std::ifstream stream(again, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), bytes_);
}

// Zero tokens are a valid count.
TEST_F(SequenceFileTest, AnEmptySequenceIsSavedToo) {
  const int32_t empty = engine_->kv().create_sequence().value();
  ASSERT_TRUE(save_sequence(*engine_, empty, {}, path_));
  const auto loaded = load_sequence(*engine_, path_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->tokens.empty());
  EXPECT_EQ(engine_->kv().length(loaded->sequence).value(), 0);
}

// The caller names them; the store knows how many there are.
TEST_F(SequenceFileTest, TokensMustBeThoseOfTheRows) {
  const int32_t empty = engine_->kv().create_sequence().value();
  const auto saved = save_sequence(*engine_, empty, some_tokens(0, 2), path_);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().message, "2 tokens do not stand for a sequence of 0 rows.");
  EXPECT_EQ(save_sequence(*engine_, 99, {}, path_).error().code, ErrorCode::kNotFound);
}

// A file that was not written to its end.
TEST_F(SequenceFileTest, EveryCutOfTheHeadIsRefused) {
  for (size_t length = 0; length < kSizeAt + 16; ++length) {
    const std::string error = load(bytes_.substr(0, length));
    EXPECT_EQ(error,
              length < 16 ? "is no saved sequence." : "is damaged: its checksum does not fit.")
        << length;
  }
}

// The checksum may be made to fit by whoever made the file.
TEST_F(SequenceFileTest, EveryCutWithAChecksumIsRefused) {
  const size_t before = engine_->kv().length(0) ? 1 : 0;
  for (size_t length = 8; length + 8 < bytes_.size(); length += length < 80 ? 1 : 997) {
    EXPECT_NE(load(sealed(bytes_.substr(0, length))), "") << length;
  }
  EXPECT_EQ(load(sealed(bytes_.substr(0, 10))), "ends inside a part of 4 bytes at offset 8.");
  EXPECT_EQ(load(sealed(bytes_.substr(0, 34))), "ends inside a part of 4 bytes at offset 32.");
  EXPECT_EQ(engine_->kv().length(0) ? 1U : 0U, before);
}

// What the checksum is for.
TEST_F(SequenceFileTest, EveryFlippedByteOfTheHeadIsDamage) {
  for (size_t at = 0; at < kSizeAt + 8; ++at) {
    std::string bytes = bytes_;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    EXPECT_EQ(load(bytes),
              at < 8 ? "is no saved sequence." : "is damaged: its checksum does not fit.")
        << at;
  }
}

// With a checksum that fits: the file may be made by hand.
TEST_F(SequenceFileTest, EachFieldIsChecked) {
  EXPECT_EQ(load(with<uint32_t>(kVersionAt, 3)), "has version 3; this build reads version 2.");
  EXPECT_EQ(load(with<uint64_t>(kFingerprintAt, 1)),
            "belongs to another model, or to other settings of this one: cache types, activations, "
            "adapters, rotary overrides, numerics.");
  EXPECT_EQ(load(with<uint64_t>(kCountAt, 17)), "holds 17 tokens; the context has 16.");
  EXPECT_EQ(load(with<uint64_t>(kCountAt, UINT64_MAX)),
            "holds 18446744073709551615 tokens; the context has 16.");
  EXPECT_EQ(load(with<int32_t>(kTokensAt + 8, 512)), "holds token 512; the vocabulary has 512.");
  EXPECT_EQ(load(with<int32_t>(kTokensAt, -1)), "holds token -1; the vocabulary has 512.");
  const auto size = static_cast<uint64_t>(bytes_.size() - kSizeAt - 16);
  const std::string offset = std::to_string(kSizeAt + 8);
  for (const uint64_t more : {size + 9, uint64_t{1} << 40, UINT64_MAX}) {
    EXPECT_EQ(load(with<uint64_t>(kSizeAt, more)),
              "ends inside a part of " + std::to_string(more) + " bytes at offset " + offset + ".");
  }
}

// A count that does not fit the rows makes no sequence.
TEST_F(SequenceFileTest, RowsMustFitTheTokens) {
  const auto size = static_cast<uint64_t>(bytes_.size() - kSizeAt - 16);
  for (const uint64_t fewer : {uint64_t{0}, uint64_t{1}, size - 4, size / 2}) {
    EXPECT_NE(load(with<uint64_t>(kSizeAt, fewer)), "") << fewer;
  }
  EXPECT_NE(load(with<uint64_t>(kCountAt, kNumTokens - 1)), "");
  EXPECT_NE(load(with<uint64_t>(kCountAt, 0)), "");
}

// Whatever they are for, this build does not know it.
TEST_F(SequenceFileTest, BytesBehindTheRowsAreRefused) {
  const std::string content = bytes_.substr(0, bytes_.size() - 8);
  for (const size_t more : {1U, 8U, 1000U}) {
    EXPECT_EQ(load(sealed(content + std::string(more, '\0'))),
              "has " + std::to_string(more) + " bytes behind its rows, at offset " +
                  std::to_string(content.size()) + ".");
  }
  EXPECT_EQ(load(sealed(content)), "");
}

// Flags of other models must not crash this one.
TEST_F(SequenceFileTest, ALongFactorFlagNeedsAModelWithTwoSets) {
  // The flag is of a model whose rotary factors change; this one has none, and must not crash.
  load(with<uint32_t>(12, 1));
  load(with<uint32_t>(12, UINT32_MAX));
}

// Not damaged: callers tell the two apart.
TEST_F(SequenceFileTest, AbsentFilesAreNotFound) {
  const auto loaded = load_sequence(*engine_, model_->file("nothing.kv"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace quern
