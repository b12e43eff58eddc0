// blocked(256) against expected bits of an independent implementation.
#include "ops/blocked.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/bit_equal.h"
#include "support/npz_reader.h"

namespace quern {
namespace {

using test::all_same_bits;

// The expected bits come from the suite strict_golden, whose program follows the page of numerics
// and shares no code with the engine; without the suite these cases are skipped with the reason.
class BlockedGolden : public testing::Test {
 protected:
  void SetUp() override {
    auto archive = test::read_npz(std::string(QUERN_SUITES_DIR) + "/strict_golden/dots.npz");
    if (!archive) GTEST_SKIP() << archive.error().message;
    arrays_ = std::move(*archive);
  }

  // An array of the archive as T. A missing name throws inside the test, which fails it.
  template <class T>
  std::vector<T> array(const std::string& name) {
    return arrays_.at(name).as<T>();
  }

  test::NpzArchive arrays_;
};

// The first n elements of both.
template <class T>
T dot(const std::vector<T>& a, const std::vector<T>& b, int64_t n) {
  return blocked_sum<T>(n, [&](int64_t k) { return a[size_t(k)] * b[size_t(k)]; });
}

// bf16 is the upper half of an f32: the shift is exact, NaN included.
std::vector<float> widen_bf16(const std::vector<uint16_t>& bits) {
  std::vector<float> values;
  for (const uint16_t b : bits) values.push_back(std::bit_cast<float>(uint32_t{b} << 16));
  return values;
}

// Every length up to several blocks, in f32 and f64, against bits of an independent program.
TEST_F(BlockedGolden, Prefixes) {
  std::vector<float> f32, bf16;
  std::vector<double> f64;
  const auto bf16_a = widen_bf16(array<uint16_t>("bf16_a"));
  const auto bf16_b = widen_bf16(array<uint16_t>("bf16_b"));
  // Prefixes of one pair of arrays, so that every border of a block is met from both sides.
  for (const int64_t n : array<int64_t>("lengths")) {
    f32.push_back(dot(array<float>("f32_a"), array<float>("f32_b"), n));
    f64.push_back(dot(array<double>("f64_a"), array<double>("f64_b"), n));
    bf16.push_back(dot(bf16_a, bf16_b, n));
  }
  EXPECT_TRUE(all_same_bits(f32, array<float>("f32_dot")));
  EXPECT_TRUE(all_same_bits(f64, array<double>("f64_dot")));
  EXPECT_TRUE(all_same_bits(bf16, array<float>("bf16_dot")));
}

// NaN and infinities pass through the fold as IEEE says.
TEST_F(BlockedGolden, SpecialValues) {
  // Each special array holds a and b one behind the other.
  for (int i = 0; i < 5; ++i) {
    const std::string name = "special" + std::to_string(i);
    const std::vector<float> rows = array<float>(name);
    const auto n = static_cast<std::ptrdiff_t>(rows.size() / 2);
    const std::vector<float> a(rows.begin(), rows.begin() + n), b(rows.begin() + n, rows.end());
    EXPECT_TRUE(all_same_bits({dot(a, b, n)}, array<float>(name + "_dot"))) << name;
  }
}

// Terms of more than one element share the block boundaries.
TEST(Blocked, LongTermsFoldInBlocksToo) {
  // 20 terms in blocks of 8: (8 + 8) + 4.
  int64_t calls = 0;
  // The n-th call counts itself and gives 1: the sum is the number of calls, if none is made twice.
  const float sum = blocked_sum_of<float>(20, 8, [&](int64_t) { return float(++calls > 0); });
  EXPECT_EQ(sum, 20.0f);
  EXPECT_EQ(calls, 20);
  // The fold starts from +0, so that a sum of -0 alone is +0.
  EXPECT_TRUE(test::same_bits(blocked_sum<float>(1, [](int64_t) { return -0.0f; }), 0.0f));
}

// The fold that skips terms must count them.
TEST(BlockedFold, GivesTheBitsOfBlockedSum) {
  // No terms, one, one short of a block, a block, one more, two blocks, and a third one begun.
  for (const int64_t n : {0, 1, 255, 256, 257, 512, 700}) {
    // 0.3711 has no exact f32, so that sums round and another order gives other bits.
    const auto term = [](int64_t k) { return float(k % 37 - 18) * 0.3711f; };
    BlockedFold<float> fold;
    // Skipped terms 3, 8, 13, ... lie at changing places of the blocks.
    for (int64_t k = 0; k < n; ++k) k % 5 == 3 ? fold.skip() : fold.add(term(k));
    const auto skipped = [&](int64_t k) { return k % 5 == 3 ? 0.0f : term(k); };
    EXPECT_TRUE(test::same_bits(fold.result(), blocked_sum<float>(n, skipped))) << n;
  }
}

}  // namespace
}  // namespace quern
