// A good file with bytes flipped, cut out or overwritten: errors, never crashes. The short and
// repeatable relative of gguf_fuzz; run it under the sanitizer presets too.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>

#include "formats/synth.h"
#include "formats/synth_random.h"
#include "fuzz/exercise_gguf.h"
#include "support/temporary_folder.h"

namespace quern {
namespace {

// Whether the file was taken; what matters more is that nothing breaks on the way.
bool accepts(const std::string& text) {
  // A copy of the exact size, so that a read past the end is a read past an allocation.
  const auto bytes = std::make_unique<char[]>(text.size());
  if (!text.empty()) std::memcpy(bytes.get(), text.data(), text.size());
  return test::exercise_gguf(std::as_bytes(std::span<const char>(bytes.get(), text.size())));
}

class GgufMutation : public testing::Test {
 protected:
  void SetUp() override {
    const test::TemporaryFolder folder("gguf_mutation");
    const std::string path = folder.file("good.gguf");
    // The smallest model with a format of blocks: sizes then follow from shapes by division.
    ASSERT_TRUE(write_synthetic_model(path, {"tiny", DType::kQ4_0, 3}));
    std::ifstream stream(path, std::ios::binary);
    good_ = {std::istreambuf_iterator<char>(stream), {}};
    ASSERT_TRUE(accepts(good_));
    const auto file = GgufFile::open(path);
    // The first tensor: what stands before it is all that the reader interprets.
    data_start_ = static_cast<size_t>((*file)->tensors()[0].offset);
  }
  std::string good_;
  size_t data_start_ = 0;
};

TEST_F(GgufMutation, EveryTruncationOfTheHeaderIsRefused) {
  // Every size up to 97 bytes, then about 1 % further each time.
  for (size_t size = 0; size < data_start_; size += 1 + size / 97) {
    EXPECT_FALSE(accepts(good_.substr(0, size))) << size;
  }
  // The last tensor's data is cut as well.
  EXPECT_FALSE(accepts(good_.substr(0, good_.size() - 100)));
}

TEST_F(GgufMutation, FlippedBitsDoNoHarm) {
  SplitMix64 random(11);
  int num_refused = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::string bad = good_;
    // At most three flips, drawn anew in each round: most of the file stays right, so that the
    // reader gets far.
    for (uint64_t i = 0; i <= random.next() % 3; ++i) {
      const size_t at = random.next() % data_start_;
      bad[at] = static_cast<char>(bad[at] ^ (1 << random.next() % 8));
    }
    if (!accepts(bad)) ++num_refused;
  }
  // A guard on the test: flips in the header must often matter. Those in names and texts do not.
  EXPECT_GT(num_refused, 1000);
}

// Sizes, counts and offsets at the edges of their types, written over any place of the header.
TEST_F(GgufMutation, ExtremeNumbersDoNoHarm) {
  constexpr std::array<uint64_t, 8> kExtremes = {
      0, 1, 0x7fffffff, 0xffffffff, 1ULL << 62, 0x7fffffffffffffff, 1ULL << 63, ~0ULL};
  SplitMix64 random(12);
  int num_refused = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::string bad = good_;
    const uint64_t number = kExtremes[random.next() % kExtremes.size()];
    // Fields of GGUF are not aligned, so any byte may be the first of one.
    std::memcpy(bad.data() + random.next() % (data_start_ - 8), &number, sizeof number);
    if (!accepts(bad)) ++num_refused;
  }
  EXPECT_GT(num_refused, 1000);
}

TEST_F(GgufMutation, LostAndRepeatedBytesDoNoHarm) {
  SplitMix64 random(13);
  // Without a count of refusals: what is lost or repeated may well leave a good file.
  for (int trial = 0; trial < 1000; ++trial) {
    std::string bad = good_;
    const size_t at = random.next() % data_start_;
    const size_t size = 1 + random.next() % 64;
    if (trial % 2 == 0) {
      bad.erase(at, size);
    } else {
      bad.insert(at, good_, random.next() % data_start_, size);
    }
    accepts(bad);
  }
}

}  // namespace
}  // namespace quern
