// Rows chosen from two tensors: which one each comes from, no rows, types that do not fit.
#include <gtest/gtest.h>

#include "support/op_runner.h"

namespace quern::test {
namespace {

// A matrix of f32 with this many columns.
Tensor rows(const std::vector<float>& values, int64_t columns) {
  const auto count = static_cast<int64_t>(values.size()) / columns;
  return Tensor::from<float>(DType::kF32, Shape{count, columns}, values).value();
}

// One i32 for each row.
Tensor choices(const std::vector<int32_t>& values) {
  return Tensor::from<int32_t>(DType::kI32, Shape{static_cast<int64_t>(values.size())}, values)
      .value();
}

// Row by row.
// 7 chooses as 1 does. y holds the negatives of x, so each element tells its source.
TEST(SelectRows, TakesYWhereChosen) {
  const auto z = run_op(
      "shape.select_rows",
      {rows({1, 2, 3, 4, 5, 6}, 2), rows({-1, -2, -3, -4, -5, -6}, 2), choices({0, 1, 7})}, {});
  ASSERT_TRUE(z) << z.error().message;
  EXPECT_EQ((*z)[0].read_as<float>().value(), (std::vector<float>{1, 2, -3, -4, -5, -6}));
}

// An extent of 0.
// Rows of two columns, none of them: the result keeps the columns.
TEST(SelectRows, NoRowsGiveNoRows) {
  const auto z = run_op("shape.select_rows", {rows({}, 2), rows({}, 2), choices({})}, {});
  ASSERT_TRUE(z) << z.error().message;
  EXPECT_EQ((*z)[0].shape(), (Shape{0, 2}));
}

// One mistake at a time.
// In order: another extent of y, more choices than rows, choices that are floats.
TEST(SelectRows, RefusesOtherTypes) {
  EXPECT_FALSE(run_op("shape.select_rows", {rows({1, 2}, 2), rows({1, 2}, 1), choices({0})}, {}));
  EXPECT_FALSE(
      run_op("shape.select_rows", {rows({1, 2}, 2), rows({1, 2}, 2), choices({0, 1})}, {}));
  EXPECT_FALSE(run_op("shape.select_rows", {rows({1, 2}, 2), rows({1, 2}, 2), rows({1}, 1)}, {}));
}

}  // namespace
}  // namespace quern::test
