// Philox against the known answers of its authors and the expected bits of strict numerics.
#include "ops/philox.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/bit_equal.h"
#include "support/npz_reader.h"

namespace quern {
namespace {

// Vectors of the Random123 library.
// Counter and key of zeros, of ones, and of digits of pi, each with its four words: a wrong
// constant, round count or order of words fails all of them.
TEST(Philox, KnownAnswers) {
  std::ifstream file(std::string(QUERN_SUITES_DIR) + "/random123/tests/kat_vectors");
  if (!file) GTEST_SKIP() << "the suite random123 is absent";
  int found = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("philox4x32 10 ", 0) != 0) continue;
    std::istringstream words(line.substr(14));
    std::array<uint32_t, 10> w{};
    for (uint32_t& word : w) words >> std::hex >> word;
    const auto result = philox_4x32({w[0], w[1], w[2], w[3]}, {w[4], w[5]});
    EXPECT_EQ(result, (std::array<uint32_t, 4>{w[6], w[7], w[8], w[9]})) << line;
    ++found;
  }
  EXPECT_EQ(found, 3);
}

// Which word an element takes.
// Indices go past 2^34, where the block number needs its high word, and the big seed fills both
// halves of the key. Stream and node differ, so that a swap of the two shows.
TEST(Philox, WordsAndUniformsOfElements) {
  const auto archive = test::read_npz(std::string(QUERN_SUITES_DIR) + "/strict_golden/random.npz");
  if (!archive) GTEST_SKIP() << archive.error().message;
  const RandomWords random{.seed = 42, .stream = 3, .node_id = 7};
  std::vector<uint32_t> words;
  std::vector<float> uniforms, big;
  for (const uint64_t i : archive->at("index").as<uint64_t>()) {
    words.push_back(random.word(i));
    uniforms.push_back(random.uniform_f32(i));
  }
  EXPECT_EQ(words, archive->at("word").as<uint32_t>());
  EXPECT_TRUE(test::all_same_bits(uniforms, archive->at("uniform").as<float>()));

  const RandomWords other{archive->at("big_seed").as<uint64_t>().at(0), 3, 7};
  for (uint64_t i = 0; i < 20; ++i) big.push_back(other.uniform_f32(i));
  EXPECT_TRUE(test::all_same_bits(big, archive->at("big_seed_uniform").as<float>()));
}

// 0 is possible, 1 is not.
// A seed of ones in both halves of the key. The f64 formula is written out again with decimal
// powers of two. 6 is no power of two; below 1 there is only 0.
TEST(Philox, RangesOfUniformsAndIntegers) {
  const RandomWords random{.seed = ~uint64_t{0}, .stream = 1, .node_id = 2};
  std::array<int, 6> counts{};
  for (uint64_t i = 0; i < 6000; ++i) {
    const double u = random.uniform_f64(i);
    EXPECT_TRUE(u >= 0 && u < 1);
    const uint64_t high = random.word(2 * i) >> 5, low = random.word(2 * i + 1) >> 6;
    EXPECT_EQ(u, double(high * 67108864 + low) / 9007199254740992.0);
    ++counts.at(random.below(i, 6));
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
  EXPECT_EQ(random.below(5, 1), 0u);
}

}  // namespace
}  // namespace quern
