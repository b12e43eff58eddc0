// Convolutions: the bits of the reference over kernels, strides, padding, groups, dtypes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <limits>

#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::random_tensor;

struct Conv2d {
  Shape x;
  Shape weight;
  int64_t stride = 1;
  int64_t pad = 0;
  int64_t dilation = 1;
  int64_t groups = 1;

  Attributes attributes() const {
    return {{"kernel_h", weight[2]}, {"kernel_w", weight[3]}, {"stride_h", stride},
            {"stride_w", stride},    {"pad_h", pad},          {"pad_w", pad},
            {"dil_h", dilation},     {"dil_w", dilation},     {"groups", groups}};
  }
};

// Sums of more than one fold, outputs narrower and wider than vectors, tiles of every height.
// One element; both paddings; strides above 1 with a rest; 30 and 64 channels of 3 x 3 taps (270
// and 576 terms: more than one fold of 256); groups, depthwise; 1 x 1; kernels that are not square;
// padding wider than the image; a stride beyond it; no batch.
const Conv2d kCases[] = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}},
    {{2, 3, 7, 9}, {5, 3, 3, 3}, 1, 1},
    {{1, 4, 10, 33}, {25, 4, 3, 3}, 2, 1},
    {{1, 30, 6, 18}, {7, 30, 3, 3}, 1, 1},
    {{1, 64, 5, 17}, {49, 64, 3, 3}, 1, 1},
    {{2, 6, 8, 8}, {9, 2, 3, 2}, 1, 1, 2, 3},
    {{1, 8, 9, 11}, {8, 1, 3, 3}, 1, 1, 1, 8},
    {{1, 2, 40, 40}, {3, 2, 1, 1}},
    {{1, 2, 23, 29}, {3, 2, 5, 4}, 3, 2},
    {{1, 2, 12, 12}, {3, 2, 7, 7}, 2, 6},
    {{3, 2, 2, 2}, {4, 2, 2, 2}, 5, 4, 3},
    {{0, 2, 4, 4}, {3, 2, 3, 3}, 1, 1},
};

TEST(Conv2d, HasTheBitsOfTheReference) {
  std::mt19937 random(3);
  for (const Conv2d& c : kCases) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
      SCOPED_TRACE(
          fmt::format("{} {} * {}", dtype_name(dtype), c.x.to_string(), c.weight.to_string()));
      const Tensor x = random_tensor(dtype, c.x, random);
      const Tensor weight = random_tensor(dtype, c.weight, random);
      expect_reference_bits("convolution.conv2d", {x, weight}, c.attributes());
      const Tensor bias = random_tensor(dtype, Shape{c.weight[0]}, random);
      expect_reference_bits("convolution.conv2d", {x, weight, bias}, c.attributes());
    }
  }
}

// Skipping a tap is not the same as adding 0 * infinity = NaN at the border.
// Zeros of the padding must not meet the infinities and NaN of a weight.
TEST(Conv2d, SkipsThePaddingWhateverTheWeights) {
  std::mt19937 random(3);
  const Shape shape{1, 2, 6, 6};
  Tensor weight = random_tensor(DType::kF32, Shape{3, 2, 3, 3}, random);
  auto values = *weight.read_as<float>();
  values[0] = std::numeric_limits<float>::infinity();
  values[30] = std::numeric_limits<float>::quiet_NaN();
  weight = *Tensor::from<float>(DType::kF32, weight.shape(), values);
  const Conv2d c{shape, weight.shape(), 1, 1};
  expect_reference_bits("convolution.conv2d", {random_tensor(DType::kF32, shape, random), weight},
                        c.attributes());
}

// Every 13th element is special: 13 shares no factor with 21 columns, so specials meet every tap.
TEST(Conv2d, SpecialValuesOfTheInput) {
  std::mt19937 random(5);
  const Conv2d c{{1, 3, 9, 21}, {4, 3, 3, 3}, 1, 1};
  expect_reference_bits(
      "convolution.conv2d",
      {random_tensor(DType::kF32, c.x, random, 13), random_tensor(DType::kF32, c.weight, random)},
      c.attributes());
}

// Lengths below, around and far beyond a vector; strides with and without a rest.
TEST(Conv1d, HasTheBitsOfTheReference) {
  std::mt19937 random(7);
  for (const int64_t length : {5, 40, 301}) {
    for (const int64_t stride : {1, 2, 3}) {
      const Tensor x = random_tensor(DType::kF32, Shape{2, 6, length}, random);
      const Tensor weight = random_tensor(DType::kF32, Shape{8, 3, 4}, random);
      expect_reference_bits("convolution.conv1d", {x, weight},
                            {{"kernel_size", int64_t{4}},
                             {"stride", stride},
                             {"padding", int64_t{2}},
                             {"groups", int64_t{2}}});
    }
  }
}

TEST(Conv3d, HasTheBitsOfTheReference) {
  std::mt19937 random(9);
  const Tensor x = random_tensor(DType::kF32, Shape{1, 3, 5, 6, 19}, random);
  const Tensor weight = random_tensor(DType::kF32, Shape{4, 3, 2, 3, 3}, random);
  expect_reference_bits("convolution.conv3d", {x, weight},
                        {{"kernel_d", int64_t{2}},
                         {"kernel_h", int64_t{3}},
                         {"kernel_w", int64_t{3}},
                         {"stride_d", int64_t{2}},
                         {"pad_d", int64_t{1}},
                         {"pad_h", int64_t{1}},
                         {"pad_w", int64_t{1}},
                         {"stride_w", int64_t{2}}});
}

}  // namespace
}  // namespace quern
