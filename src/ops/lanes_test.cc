// lanes(32) against expected bits of an independent implementation.
#include "ops/lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/bit_equal.h"
#include "support/npz_reader.h"

namespace quern {
namespace {

using test::all_same_bits;

class LanesGolden : public testing::Test {
 protected:
  void SetUp() override {
    auto archive = test::read_npz(std::string(QUERN_SUITES_DIR) + "/strict_golden/lanes.npz");
    if (!archive) GTEST_SKIP() << archive.error().message;
    arrays_ = std::move(*archive);
  }

  // An array of the archive as T; a missing name throws, and fails the test.
  template <class T>
  std::vector<T> array(const std::string& name) {
    return arrays_.at(name).as<T>();
  }

  // Sum, sum of squares, mean, maximum and minimum of prefixes of `prefix`_x.
  // Prefixes of one array: every length shares its first elements with the others.
  template <class T>
  void check_prefixes(const std::string& prefix) {
    const std::vector<T> x = array<T>(prefix + "_x");
    const auto at = [&](int64_t i) { return x[static_cast<size_t>(i)]; };
    const auto squared = [&](int64_t i) { return at(i) * at(i); };
    std::vector<T> sum, sumsq, mean, max, min;
    for (const int64_t n : array<int64_t>("lengths")) {
      sum.push_back(lanes_sum<T>(n, at));
      sumsq.push_back(lanes_sum<T>(n, squared));
      mean.push_back(lanes_mean<T>(n, at));
      // The suite writes NaN for max and min of nothing, which the functions refuse.
      const T none = std::numeric_limits<T>::quiet_NaN();
      max.push_back(n == 0 ? none : lanes_max<T>(n, at));
      min.push_back(n == 0 ? none : lanes_min<T>(n, at));
    }
    EXPECT_TRUE(all_same_bits(sum, array<T>(prefix + "_sum")));
    EXPECT_TRUE(all_same_bits(sumsq, array<T>(prefix + "_sumsq")));
    EXPECT_TRUE(all_same_bits(mean, array<T>(prefix + "_mean")));
    EXPECT_TRUE(all_same_bits(max, array<T>(prefix + "_max")));
    EXPECT_TRUE(all_same_bits(min, array<T>(prefix + "_min")));
  }

  test::NpzArchive arrays_;
};

// Every length around the lanes and chunks, against bits of an independent program.
// 0, 1, 5, 31 .. 33, 63, 4,095 .. 4,097, 8,192 and 10,000 elements.
TEST_F(LanesGolden, PrefixesOfF32) {
  check_prefixes<float>("f32");
}
// Magnitudes that make another order visible.
TEST_F(LanesGolden, PrefixesOfF32WithWideRange) {
  check_prefixes<float>("f32b");
}
// The same order in f64.
TEST_F(LanesGolden, PrefixesOfF64) {
  check_prefixes<double>("f64");
}

// Products join as sums do.
TEST_F(LanesGolden, Products) {
  const std::vector<float> x = array<float>("prod_x");
  std::vector<float> product;
  for (const int64_t n : array<int64_t>("prod_lengths")) {
    product.push_back(lanes_product<float>(n, [&](int64_t i) { return x[size_t(i)]; }));
  }
  EXPECT_TRUE(all_same_bits(product, array<float>("prod")));
}

// NaN and infinities pass through every lane.
TEST_F(LanesGolden, SpecialValues) {
  const std::vector<float> x = array<float>("special_x");
  const std::vector<int64_t> lengths = array<int64_t>("special_lengths");
  // Rows of 40 elements, of which `lengths` says how many count.
  std::vector<float> sum, sumsq, mean, max, min;
  for (size_t row = 0; row < lengths.size(); ++row) {
    const auto at = [&](int64_t i) { return x[row * 40 + size_t(i)]; };
    sum.push_back(lanes_sum<float>(lengths[row], at));
    sumsq.push_back(lanes_sum<float>(lengths[row], [&](int64_t i) { return at(i) * at(i); }));
    mean.push_back(lanes_mean<float>(lengths[row], at));
    max.push_back(lanes_max<float>(lengths[row], at));
    min.push_back(lanes_min<float>(lengths[row], at));
  }
  EXPECT_TRUE(all_same_bits(sum, array<float>("special_sum")));
  EXPECT_TRUE(all_same_bits(sumsq, array<float>("special_sumsq")));
  EXPECT_TRUE(all_same_bits(mean, array<float>("special_mean")));
  EXPECT_TRUE(all_same_bits(max, array<float>("special_max")));
  EXPECT_TRUE(all_same_bits(min, array<float>("special_min")));
}

// The neutral elements.
TEST(Lanes, EmptySumIsPlusZeroAndEmptyProductOne) {
  // The element must not be asked for.
  const auto none = [](int64_t) { return 7.0f; };
  EXPECT_TRUE(test::same_bits(lanes_sum<float>(0, none), 0.0f));
  EXPECT_EQ(lanes_product<float>(0, none), 1.0f);
  EXPECT_TRUE(std::isnan(lanes_mean<float>(0, none)));
}

// Order does not matter modulo 2^64.
TEST(Lanes, IntegerSumsWrap) {
  // 3 * 2^63 mod 2^64 = 2^63.
  const uint64_t sum = lanes_sum<uint64_t>(3, [](int64_t) { return uint64_t{1} << 63; });
  EXPECT_EQ(static_cast<int64_t>(sum), std::numeric_limits<int64_t>::min());
}

// NaN first, zeros by sign.
TEST_F(LanesGolden, MaxMinOfPairsAndArgmaxOrder) {
  auto archive = test::read_npz(std::string(QUERN_SUITES_DIR) + "/strict_golden/conversions.npz");
  ASSERT_TRUE(archive);
  const auto a = archive->at("mm_a").as<float>(), b = archive->at("mm_b").as<float>();
  std::vector<float> max, min;
  for (size_t i = 0; i < a.size(); ++i) {
    max.push_back(strict_max(a[i], b[i]));
    min.push_back(strict_min(a[i], b[i]));
  }
  EXPECT_TRUE(all_same_bits(max, archive->at("mm_max").as<float>()));
  EXPECT_TRUE(all_same_bits(min, archive->at("mm_min").as<float>()));

  const auto x = archive->at("arg_x").as<float>();
  std::vector<int64_t> largest, smallest;
  // Rows of 4: a scan keeps the first of equals, since equal elements are not before each other.
  for (size_t row = 0; row < x.size() / 4; ++row) {
    size_t high = 0, low = 0;
    for (size_t i = 1; i < 4; ++i) {
      if (is_larger_or_nan(x[row * 4 + i], x[row * 4 + high])) high = i;
      if (is_smaller_or_nan(x[row * 4 + i], x[row * 4 + low])) low = i;
    }
    largest.push_back(int64_t(high));
    smallest.push_back(int64_t(low));
  }
  EXPECT_EQ(largest, archive->at("argmax").as<int64_t>());
  EXPECT_EQ(smallest, archive->at("argmin").as<int64_t>());
}

}  // namespace
}  // namespace quern
