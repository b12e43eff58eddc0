// argmax and top k: order, ties, NaN, rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "support/bit_equal.h"
#include "support/golden.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<int32_t> argmax(const Tensor& x) {
  return values_of<int32_t>(run_one("reduction.argmax", {x}));
}

// Greedy decoding must not depend on the machine.
// A tie of two rows, of zeros of both signs, and of -infinity with itself, which is a value too.
TEST(Argmax, TakesTheLowestIndexAmongEquals) {
  EXPECT_EQ(argmax(f32({2, 3}, {1, 3, 3, 7, 7, 0})), (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(argmax(f32({3}, {-0.0f, 0.0f, -1})), (std::vector<int32_t>{0}));
  EXPECT_EQ(argmax(f32({2}, {-kInf, -kInf})), (std::vector<int32_t>{0}));
}

// A broken row shows.
// NaN at 1 and 3 beats infinity, and the first of the two wins.
TEST(Argmax, CountsNanAsLargest) {
  EXPECT_EQ(argmax(f32({4}, {1, kNan, kInf, kNan})), (std::vector<int32_t>{1}));
  EXPECT_EQ(argmax(f32({2}, {kNan, kNan})), (std::vector<int32_t>{0}));
}

// Rounded to f32, neighbours would tie.
// 1 + 1e-15 and 1 differ in f64 only. The result drops the last axis alone.
TEST(Argmax, KeepsLeadingAxesAndComparesF64Exactly) {
  const Tensor x = run_one("reduction.argmax", {f32({2, 1, 2}, {0, 1, 1, 0})});
  EXPECT_EQ(x.shape(), (Shape{2, 1}));
  EXPECT_EQ(argmax(f64({2}, {1.0, 1.0 + 1e-15})), (std::vector<int32_t>{1}));
}

// Nothing to point to.
// Rows without elements, integers, a scalar. No rows at all have no argmax to miss.
TEST(Argmax, RefusesEmptyRowsAndIntegers) {
  EXPECT_FALSE(run_op("reduction.argmax", {f32({2, 0}, {})}));
  EXPECT_FALSE(run_op("reduction.argmax", {i32({2}, {1, 2})}));
  EXPECT_FALSE(run_op("reduction.argmax", {f32({}, {1})}));
  EXPECT_EQ(run_one("reduction.argmax", {f32({0, 4}, {})}).shape(), (Shape{0}));
}

// One order for both.
// Ten thousand normal numbers in one row: the scan and the sort must agree.
TEST(Argmax, AgreesWithTheFirstOfTopK) {
  QUERN_OPEN_GOLDEN(golden, QUERN_SUITES_DIR "/strict_golden/lanes.npz");
  const Tensor x = golden.tensor("f32_x");
  const auto top = run_op("sort.top_k", {x}, {{"k", int64_t{1}}});
  ASSERT_TRUE(top) << top.error().message;
  EXPECT_EQ(values_of<int32_t>((*top)[1]), argmax(x));
}

// Ties in order of their indices.
// Fifty values among a thousand elements; NaNs at 500 and 700 come first, in this order. k is tried
// at both ends, where partial_sort differs from a sort.
TEST(TopK, IsAStableDescendingSort) {
  std::mt19937 random(3);
  std::vector<float> values(1000);
  for (float& v : values) v = static_cast<float>(random() % 50);  // many ties
  values[500] = kNan;
  values[700] = kNan;
  std::vector<int32_t> order(1000);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    const float va = values[static_cast<size_t>(a)], vb = values[static_cast<size_t>(b)];
    return std::isnan(va) ? !std::isnan(vb) : va > vb;
  });
  for (const int64_t k : {1, 2, 3, 100, 999, 1000}) {
    const auto top = run_op("sort.top_k", {f32({1, 1000}, values)}, {{"k", k}});
    ASSERT_TRUE(top) << top.error().message;
    EXPECT_EQ((*top)[0].shape(), (Shape{1, k}));
    const auto indices = values_of<int32_t>((*top)[1]);
    EXPECT_EQ(indices, std::vector<int32_t>(order.begin(), order.begin() + k));
    std::vector<float> expected;
    for (const int32_t index : indices) expected.push_back(values[static_cast<size_t>(index)]);
    EXPECT_TRUE(all_same_bits(values_of<float>((*top)[0]), expected));
  }
}

// Values are copied.
// 1, 2 and -1 as f16 bits pass through f32 and come back.
TEST(TopK, NarrowValuesKeepTheirBits) {
  const Tensor x = tensor_of<uint16_t>(DType::kF16, {3}, {0x3c00, 0x4000, 0xbc00});
  const auto top = run_op("sort.top_k", {x}, {{"k", int64_t{2}}});
  ASSERT_TRUE(top) << top.error().message;
  EXPECT_EQ(values_of<uint16_t>((*top)[0]), (std::vector<uint16_t>{0x4000, 0x3c00}));
}

// Also where the row is known at run time only.
// In order: no k, 0, one more than the row has, and a row without elements.
TEST(TopK, RefusesCountsOutsideTheRow) {
  const Tensor x = f32({3}, {1, 2, 3});
  EXPECT_FALSE(run_op("sort.top_k", {x}));
  EXPECT_FALSE(run_op("sort.top_k", {x}, {{"k", int64_t{0}}}));
  EXPECT_FALSE(run_op("sort.top_k", {x}, {{"k", int64_t{4}}}));
  EXPECT_FALSE(run_op("sort.top_k", {f32({2, 0}, {})}, {{"k", int64_t{1}}}));
}

}  // namespace
}  // namespace quern::test
