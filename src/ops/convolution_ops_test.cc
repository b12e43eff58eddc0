// Convolutions: order of the sum, narrow floats, groups, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/blocked.h"
#include "support/bit_equal.h"
#include "support/op_runner.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

// Numbers of both signs whose products round: i * 7919 mod 1009 visits all residues before it
// repeats.
std::vector<float> wavy(size_t n) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = float(int(i * 7919 % 1009) - 504) * 0.0137f;
  return x;
}

Attributes kernel(int64_t size) {
  return {{"kernel_size", size}};
}

// A skipped tap keeps its index: the blocks of a sum do not move at the borders.
TEST(Conv1d, SumsInBlocksOf256AndKeepsTheirPlaceInPadding) {
  // 500 products: two blocks, whose border falls inside a channel (256 = 51 * 5 + 1). With padding
  // 2 and length 3, each output skips other taps.
  const int64_t channels = 100, taps = 5, length = 3, pad = 2;
  const auto x = wavy(size_t(channels * length)), w = wavy(size_t(channels * taps));
  Attributes attributes = kernel(taps);
  attributes.set("padding", pad);
  const auto y = values_of<float>(
      run_one("convolution.conv1d",
              {f32(Shape{1, channels, length}, x), f32(Shape{1, channels, taps}, w)}, attributes));
  ASSERT_EQ(y.size(), 3u);
  for (int64_t o = 0; o < 3; ++o) {
    // Order and skipping by hand: a tap in the padding adds +0 in its place.
    const float expected = blocked_sum<float>(channels * taps, [&](int64_t k) {
      const int64_t position = o - pad + k % taps;
      const bool is_inside = position >= 0 && position < length;
      return is_inside ? x[size_t(k / taps * length + position)] * w[size_t(k)] : 0.0f;
    });
    EXPECT_TRUE(same_bits(y[size_t(o)], expected)) << o;
  }
}

// 0 * infinity in the padding would be NaN.
TEST(Conv1d, PaddingIsNotMultiplied) {
  const float inf = std::numeric_limits<float>::infinity();
  Attributes attributes = kernel(2);
  attributes.set("padding", int64_t{1});
  // Output 0 is the tap infinity over padding, skipped, plus 2 * 3; output 1 is 2 * infinity. A
  // product of the padding's 0 with infinity would make the first NaN.
  const auto y = values_of<float>(run_one(
      "convolution.conv1d", {f32(Shape{1, 1, 1}, {2}), f32(Shape{1, 1, 2}, {inf, 3})}, attributes));
  EXPECT_EQ(y, (std::vector<float>{6, inf}));
}

// One rounding, at the store.
TEST(Conv2d, NarrowFloatsAddTheBiasBeforeTheRounding) {
  const auto h = [](float v) { return to_f16(v); };
  // 2048 + 1 + 2 = 2051 lies between f16's 2050 and 2052; rounding to f16 before the bias would
  // give 2048 (2049 is a tie) + 2 = 2050.
  const Tensor x = tensor_of<uint16_t>(DType::kF16, Shape{1, 1, 1, 2}, {h(2048), h(1)});
  const Tensor w = tensor_of<uint16_t>(DType::kF16, Shape{1, 1, 1, 2}, {h(1), h(1)});
  const Tensor bias = tensor_of<uint16_t>(DType::kF16, Shape{1}, {h(2)});
  const Attributes attributes = {{"kernel_h", int64_t{1}}, {"kernel_w", int64_t{2}}};
  const Tensor y = run_one("convolution.conv2d", {x, w, bias}, attributes);
  EXPECT_EQ(f16_to_f32(values_of<uint16_t>(y).at(0)), 2052.0f);  // 2051 is a tie
}

// As matrices: <Ax, y> = <x, A^T y>.
TEST(ConvTranspose2d, IsTheTransposeOfConv2d) {
  // Each attribute is set on one axis alone, and there are two groups: what one of the operations
  // drops or swaps breaks the identity.
  const Attributes attributes = {{"kernel_h", int64_t{3}}, {"kernel_w", int64_t{2}},
                                 {"stride_h", int64_t{2}}, {"dil_w", int64_t{2}},
                                 {"pad_h", int64_t{1}},    {"groups", int64_t{2}}};
  // <conv(x), y> = <x, conv_transpose(y)> in f64, up to rounding.
  const auto numbers = [](size_t n) {
    const auto f = wavy(n);
    return std::vector<double>(f.begin(), f.end());
  };
  const Tensor x = f64(Shape{1, 4, 5, 6}, numbers(120));
  const Tensor w = f64(Shape{6, 2, 3, 2}, numbers(72));
  const Tensor forward = run_one("convolution.conv2d", {x, w}, attributes);
  const auto y = numbers(size_t(forward.shape().num_elements()));
  const Tensor back =
      run_one("convolution.conv_transpose2d", {f64(forward.shape(), y), w}, attributes);
  // Only then is back a vector of the same space as x.
  EXPECT_EQ(back.shape(), x.shape());
  double left = 0, right = 0;
  const auto fx = values_of<double>(forward), by = values_of<double>(back), xs = numbers(120);
  for (size_t i = 0; i < fx.size(); ++i) left += fx[i] * y[i];
  for (size_t i = 0; i < xs.size(); ++i) right += xs[i] * by[i];
  EXPECT_NEAR(left, right, 1e-9 * std::abs(left));
}

// Windows, groups and channels, one at a time.
TEST(Convolution, RefusesWhatDoesNotFit) {
  const Tensor x = f32(Shape{1, 2, 3}, wavy(6)), w = f32(Shape{2, 2, 2}, wavy(8));
  // One condition at a time: taps, a window of 4 in an extent of 3, channels that do not fit two
  // groups.
  EXPECT_FALSE(run_op("convolution.conv1d", {x, w}, kernel(3)));  // the weight has 2 taps
  EXPECT_FALSE(run_op("convolution.conv1d", {x, f32(Shape{2, 2, 4}, wavy(16))}, kernel(4)));
  Attributes grouped = kernel(2);
  grouped.set("groups", int64_t{2});
  // Two groups would need weights of one input channel.
  EXPECT_FALSE(run_op("convolution.conv1d", {x, w}, grouped));
  Attributes declared = kernel(2);
  declared.set("in", int64_t{3});
  const auto bad = run_op("convolution.conv1d", {x, w}, declared);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "convolution.conv1d: Attribute 'in' is 3; the tensors have 2 channels.");
  // A stride of 0, then a bias for three channels where there are two.
  Attributes stride = kernel(2);
  stride.set("stride", int64_t{0});
  EXPECT_FALSE(run_op("convolution.conv1d", {x, w}, stride));
  EXPECT_FALSE(run_op("convolution.conv1d", {x, w, f32(Shape{3}, wavy(3))}, kernel(2)));
  // No samples is no error.
  EXPECT_EQ(run_one("convolution.conv1d", {f32(Shape{0, 2, 3}, {}), w}, kernel(2)).shape(),
            (Shape{0, 2, 2}));
}

}  // namespace
}  // namespace quern::test
