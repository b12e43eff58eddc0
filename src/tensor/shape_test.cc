// Tests of extents: limits, products, text.
#include "quern/shape.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace quern {
namespace {

Result<Shape> make(const std::vector<int64_t>& dims) {
  return Shape::make(dims);
}

// A scalar.
TEST(Shape, RankZeroIsOneElement) {
  const Shape shape;
  EXPECT_EQ(shape.rank(), 0);
  EXPECT_EQ(shape.num_elements(), 1);
  EXPECT_EQ(shape.num_rows(), 1);
  EXPECT_EQ(shape.last(), 1);
  EXPECT_EQ(shape.to_string(), "[]");
  EXPECT_EQ(make({}).value(), shape);
}

// Rows along the last axis.
TEST(Shape, CountsRowsAndElements) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.num_elements(), 30);
  EXPECT_EQ(shape.num_rows(), 6);
  EXPECT_EQ(shape.last(), 5);
  EXPECT_EQ(shape.to_string(), "[2, 3, 5]");
  EXPECT_EQ((Shape{7}).num_rows(), 1);
}

// Loops over rows must not index them.
TEST(Shape, AnExtentOfZeroHasNoElementsButRows) {
  EXPECT_EQ((Shape{4, 0}).num_elements(), 0);
  // num_rows() is the product of all extents but the last: rows of no elements are rows.
  EXPECT_EQ((Shape{4, 0}).num_rows(), 4);
  EXPECT_EQ((Shape{0, 4}).num_rows(), 0);
  EXPECT_EQ((Shape{0, 4}).last(), 4);
}

// Bytes must fit 64 bits.
TEST(Shape, TheLargestCountIsBelowTwoToThe62) {
  constexpr int64_t kHuge = int64_t{1} << 31;
  // 2^31 * (2^31 - 1) is 2^62 - 2^31: allowed, and 2^31 * 2^31 is the first product that is not.
  EXPECT_TRUE(make({kHuge, kHuge - 1}));
  const auto over = make({kHuge, kHuge});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(over.error().message, "A shape with the extent 2147483648 has 2^62 elements or more.");
  EXPECT_FALSE(make({INT64_MAX}));
  EXPECT_FALSE(make({INT64_MAX, INT64_MAX}));
}

// A zero must not hide extents whose product overflows.
TEST(Shape, ZerosDoNotHideHugeExtents) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_FALSE(make({0, kHuge, kHuge}));
  EXPECT_FALSE(make({kHuge, kHuge, 0}));
  EXPECT_TRUE(make({0, kHuge}));
}

// From files.
TEST(Shape, NegativeExtentsAndHighRanksAreErrors) {
  const auto negative = make({2, -1});
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().message, "The extent -1 of a shape is negative.");
  // Its negation does not fit: a check by absolute value would let it pass.
  EXPECT_FALSE(make({INT64_MIN}));
  EXPECT_TRUE(make({1, 1, 1, 1, 1, 1, 1, 1}));
  const auto deep = make({1, 1, 1, 1, 1, 1, 1, 1, 1});
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().message, "A shape of rank 9 is over the limit of 8.");
}

// Not at what lies behind.
TEST(Shape, EqualityLooksAtRankAndExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_FALSE((Shape{2, 3}) == (Shape{3, 2}));
  EXPECT_FALSE((Shape{2}) == (Shape{2, 1}));
  EXPECT_FALSE(Shape{} == Shape{1});
}

// How kernels build them.
TEST(Shape, GrowsAtItsInnerEnd) {
  Shape shape;
  for (int64_t extent = 1; extent <= 8; ++extent) shape.push_back(extent);
  EXPECT_EQ(shape.to_string(), "[1, 2, 3, 4, 5, 6, 7, 8]");
  shape[7] = 9;
  EXPECT_EQ(shape.last(), 9);
  EXPECT_EQ(shape.dims()[0], 1);
}

}  // namespace
}  // namespace quern
