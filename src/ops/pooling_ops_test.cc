// Pooling: windows, special values, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/window.h"
#include "support/bit_equal.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Attributes square(int64_t kernel, int64_t stride, int64_t pad = 0, int64_t dilation = 1) {
  return {{"kernel_h", kernel}, {"kernel_w", kernel}, {"stride_h", stride}, {"stride_w", stride},
          {"pad_h", pad},       {"pad_w", pad},       {"dil_h", dilation},  {"dil_w", dilation}};
}

// PyTorch's formula, with ceil.
// 5 inputs, windows of 2 at stride 2: floor((5 - 2) / 2) + 1 = 2, and ceil adds the one that starts
// at 4. Two taps with dilation 3 span 4 and do not fit in 3.
TEST(Window, CountsOutputs) {
  const auto count = [](int64_t input, const Window& window, bool ceil) {
    return window.num_outputs(input, ceil);
  };
  EXPECT_EQ(count(5, {.kernel = 2, .stride = 2}, false), 2);
  EXPECT_EQ(count(5, {.kernel = 2, .stride = 2}, true), 3);
  // The third window would start in the right padding.
  EXPECT_EQ(count(4, {.kernel = 2, .stride = 3, .pad = 1}, true), 2);
  EXPECT_EQ(count(3, {.kernel = 2, .stride = 1, .pad = 0, .dilation = 3}, false), 0);
}

// The order of numbers that maximum means.
// +0 is above -0 wherever it stands. A lone -infinity in a padded window stays: padding is no
// element that could win. In the last case the taps of the only window are at -1 and 2 of two
// columns, so maximum and mean are those of nothing.
TEST(MaxPool, ZerosNaNsAndPadding) {
  const Tensor x = f32(Shape{1, 1, 2, 2}, {-0.0f, 0.0f, -0.0f, -0.0f});
  EXPECT_TRUE(
      all_same_bits(values_of<float>(run_one("pooling.max_pool2d", {x}, square(2, 1))), {0.0f}));
  const Tensor low = f32(Shape{1, 1, 1, 1}, {-kInf});
  EXPECT_EQ(values_of<float>(run_one("pooling.max_pool2d", {low}, square(3, 1, 1))),
            (std::vector<float>{-kInf}));
  // All taps of these windows lie in the padding.
  Attributes wide = square(2, 1, 1, 3);
  const Tensor y = run_one("pooling.max_pool2d", {f32(Shape{1, 1, 2, 2}, {1, 2, 3, 4})}, wide);
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{-kInf}));
  const Tensor mean = run_one("pooling.avg_pool2d", {f32(Shape{1, 1, 2, 2}, {1, 2, 3, 4})}, wide);
  EXPECT_TRUE(std::isnan(values_of<float>(mean).at(0)));
}

// Not those in the padding.
// Of nine taps four are inside: 10 / 4. Counting the padding would give 10 / 9.
TEST(AvgPool, CountsTapsInsideTheInput) {
  const Tensor y =
      run_one("pooling.avg_pool2d", {f32(Shape{1, 1, 2, 2}, {1, 2, 3, 4})}, square(3, 2, 1));
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{2.5f}));
}

// Windows that would see nothing.
// In order: a window larger than the input, padding above half the kernel, a stride of 0, a kernel
// past 2^31, no outputs, no inputs.
TEST(Pooling, RefusesBadWindows) {
  const Tensor x = f32(Shape{1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_FALSE(run_op("pooling.max_pool2d", {x}, square(3, 1)));
  EXPECT_FALSE(run_op("pooling.max_pool2d", {x}, square(2, 1, 2)));
  EXPECT_FALSE(run_op("pooling.max_pool2d", {x}, square(2, 0)));
  EXPECT_FALSE(run_op("pooling.max_pool2d", {x}, square(int64_t{1} << 40, 1)));
  EXPECT_FALSE(
      run_op("pooling.adaptive_max_pool2d", {x}, {{"out_h", int64_t{0}}, {"out_w", int64_t{1}}}));
  EXPECT_FALSE(run_op("pooling.adaptive_avg_pool2d", {f32(Shape{1, 1, 0, 2}, {})},
                      {{"out_h", int64_t{1}}, {"out_w", int64_t{1}}}));
}

}  // namespace
}  // namespace quern::test
