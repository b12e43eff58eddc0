// Convolutions and pooling against loops over their definitions, and the laws that they obey.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/bit_equal.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// One spatial axis of a convolution.
// The formula of the extent, written once more: 1 + how often the window can move.
struct Axis {
  int64_t extent = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;
  int64_t outputs() const { return (extent + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; }
};

// Spatial axes depth, height, width; a plane has the default depth.
struct Conv {
  int64_t batch, in, out, groups;
  Axis d, h, w;

  Tensor x(uint32_t seed) const {
    return normal_f64(Shape{batch, in, d.extent, h.extent, w.extent}, seed);
  }
  Tensor weight(uint32_t seed) const {
    return normal_f64(Shape{out, in / groups, d.kernel, h.kernel, w.kernel}, seed);
  }
  // Suffixes d, h, w, as the operations name them.
  Attributes attributes() const {
    Attributes a = {{"groups", groups}};
    for (const auto& [name, axis] : {std::pair{"d", d}, std::pair{"h", h}, std::pair{"w", w}}) {
      a.set(std::string("kernel_") + name, axis.kernel);
      a.set(std::string("stride_") + name, axis.stride);
      a.set(std::string("pad_") + name, axis.pad);
      a.set(std::string("dil_") + name, axis.dilation);
    }
    return a;
  }
  // Attributes of the two-dimensional operations.
  Attributes plane_attributes() const {
    Attributes plane;
    for (const auto& [name, value] : attributes()) {
      if (!name.ends_with("_d")) plane.set(name, value);
    }
    return plane;
  }
};

// Seven loops, as the definition reads.
// No padding is stored and no order is promised: the values agree up to rounding, in f64.
std::vector<double> convolve(const Conv& c, const std::vector<double>& x,
                             const std::vector<double>& weight) {
  std::vector<double> y;
  const int64_t in_group = c.in / c.groups, out_group = c.out / c.groups;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t o = 0; o < c.out; ++o)
      for (int64_t od = 0; od < c.d.outputs(); ++od)
        for (int64_t oh = 0; oh < c.h.outputs(); ++oh)
          for (int64_t ow = 0; ow < c.w.outputs(); ++ow) {
            double sum = 0;
            for (int64_t i = 0; i < in_group; ++i)
              for (int64_t kd = 0; kd < c.d.kernel; ++kd)
                for (int64_t kh = 0; kh < c.h.kernel; ++kh)
                  for (int64_t kw = 0; kw < c.w.kernel; ++kw) {
                    // Where tap kd of output od reads; negative or past the end is padding.
                    const int64_t pd = od * c.d.stride - c.d.pad + kd * c.d.dilation;
                    const int64_t ph = oh * c.h.stride - c.h.pad + kh * c.h.dilation;
                    const int64_t pw = ow * c.w.stride - c.w.pad + kw * c.w.dilation;
                    const bool is_inside = pd >= 0 && pd < c.d.extent && ph >= 0 &&
                                           ph < c.h.extent && pw >= 0 && pw < c.w.extent;
                    if (!is_inside) continue;
                    const int64_t channel = o / out_group * in_group + i;
                    const int64_t from =
                        (((n * c.in + channel) * c.d.extent + pd) * c.h.extent + ph) * c.w.extent +
                        pw;
                    const int64_t tap =
                        (((o * in_group + i) * c.d.kernel + kd) * c.h.kernel + kh) * c.w.kernel +
                        kw;
                    sum += x[static_cast<size_t>(from)] * weight[static_cast<size_t>(tap)];
                  }
            y.push_back(sum);
          }
  return y;
}

// One element; two samples with one axis padded; groups of two channels; depthwise (one channel a
// group) with all of stride, padding and dilation; and one long axis with a wide, dilated
// kernel.
const std::vector<Conv>& problems() {
  static const std::vector<Conv> list = {
      {1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}},
      {2, 3, 4, 1, {4, 2}, {5, 3, 1, 1}, {6, 2, 2}},
      {1, 4, 6, 2, {3, 3, 1, 1}, {7, 2, 3, 1, 2}, {5, 1}},
      {1, 6, 6, 6, {5, 2, 2, 1, 3}, {4, 3, 1, 2, 1}, {9, 3, 2, 2, 2}},
      {3, 2, 5, 1, {1, 1}, {1, 1}, {20, 7, 3, 3, 2}},
  };
  return list;
}

// Every attribute differs by axis, so that a swapped one shows.
TEST(ConvolutionValues, ThreeAxesFollowTheDefinition) {
  for (const Conv& c : problems()) {
    const Tensor x = c.x(1), weight = c.weight(2);
    const Tensor y = run_one("convolution.conv3d", {x, weight}, c.attributes());
    // The shape first: a wrong extent would make the values hard to read.
    EXPECT_EQ(y.shape(), (Shape{c.batch, c.out, c.d.outputs(), c.h.outputs(), c.w.outputs()}));
    EXPECT_TRUE(all_near(values_of<double>(y),
                         convolve(c, values_of<double>(x), values_of<double>(weight)), 1e-12,
                         1e-12));
  }
}

// Fewer axes are axes of extent 1, and give the same bits.
// conv2d must be conv3d with a first axis of 1, bits and all, since both run one kernel.
TEST(ConvolutionValues, TwoAxesAreThreeWithOneOfExtentOne) {
  for (Conv c : problems()) {
    c.d = Axis{};
    const Tensor x = c.x(3), weight = c.weight(4);
    const Tensor bias = normal_f64(Shape{c.out}, 5);
    const auto y =
        run_f64("convolution.conv2d",
                {*x.reshape(Shape{c.batch, c.in, c.h.extent, c.w.extent}),
                 *weight.reshape(Shape{c.out, c.in / c.groups, c.h.kernel, c.w.kernel}), bias},
                c.plane_attributes());
    EXPECT_TRUE(all_same_bits(y, run_f64("convolution.conv3d", {x, weight, bias}, c.attributes())));
  }
}

// The ranks share one kernel.
TEST(ConvolutionValues, OneAxisIsTwoWithOneOfExtentOne) {
  for (Conv c : problems()) {
    c.d = Axis{};
    c.h = Axis{};
    const Tensor x = c.x(6), weight = c.weight(7);
    const auto y = run_f64("convolution.conv1d",
                           {*x.reshape(Shape{c.batch, c.in, c.w.extent}),
                            *weight.reshape(Shape{c.out, c.in / c.groups, c.w.kernel})},
                           {{"kernel_size", c.w.kernel},
                            {"stride", c.w.stride},
                            {"padding", c.w.pad},
                            {"dilation", c.w.dilation},
                            {"groups", c.groups}});
    EXPECT_TRUE(all_same_bits(y, run_f64("convolution.conv3d", {x, weight}, c.attributes())));
  }
}

// The transposed operation is the adjoint: <conv(x), y> = <x, transposed(y)> for all x and y.
TEST(ConvolutionValues, TheTransposedIsTheAdjoint) {
  // Strides that leave a rest, dilations, groups, and an axis whose kernel is 1.
  const std::vector<Conv> planes = {
      {1, 1, 1, 1, {}, {4, 3}, {4, 3}},
      {2, 3, 4, 1, {}, {5, 2, 1, 1, 2}, {6, 3, 1, 1}},
      {1, 4, 2, 2, {}, {7, 3, 2, 1}, {9, 3, 3}},
      {1, 2, 2, 1, {}, {8, 3, 2, 0, 2}, {5, 1, 4}},
  };
  for (const Conv& c : planes) {
    const Shape x_shape{c.batch, c.in, c.h.extent, c.w.extent};
    const Shape y_shape{c.batch, c.out, c.h.outputs(), c.w.outputs()};
    const Tensor x = normal_f64(x_shape, 8), y = normal_f64(y_shape, 9);
    const Tensor weight = normal_f64(Shape{c.out, c.in / c.groups, c.h.kernel, c.w.kernel}, 10);
    Attributes transposed = c.plane_attributes();
    // What the division by the stride leaves over is padded at the end.
    // conv2d drops what its stride does not reach; the transposed operation needs these rows back
    // to have x's extents.
    const auto rest = [](const Axis& a) {
      return (a.extent + 2 * a.pad - a.dilation * (a.kernel - 1) - 1) % a.stride;
    };
    transposed.set("out_pad_h", rest(c.h));
    transposed.set("out_pad_w", rest(c.w));
    const Tensor back = run_one("convolution.conv_transpose2d", {y, weight}, transposed);
    ASSERT_EQ(back.shape(), x_shape);
    const auto forward = run_f64("convolution.conv2d", {x, weight}, c.plane_attributes());
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
      return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    // Inner products of some hundred terms in f64.
    EXPECT_NEAR(dot(forward, values_of<double>(y)),
                dot(values_of<double>(x), values_of<double>(back)), 1e-10);
  }
}

// One input element paints the kernel at its stride.
TEST(ConvolutionValues, ATransposedImpulseIsItsKernel) {
  // One input of 1 spreads the kernel at its place: rows 2 and on, columns 4 and on.
  // Stride 2 puts input (1, 2) at output (2, 4); the kernel is 2 x 3.
  std::vector<double> impulse(2 * 3, 0.0);
  impulse[1 * 3 + 2] = 1;
  const Tensor kernel = normal_f64(Shape{1, 1, 2, 3}, 11);
  const Tensor y =
      run_one("convolution.conv_transpose2d", {f64(Shape{1, 1, 2, 3}, impulse), kernel},
              {{"kernel_h", int64_t{2}},
               {"kernel_w", int64_t{3}},
               {"stride_h", int64_t{2}},
               {"stride_w", int64_t{2}}});
  ASSERT_EQ(y.shape(), (Shape{1, 1, 4, 7}));
  const auto values = values_of<double>(y), taps = values_of<double>(kernel);
  for (size_t h = 0; h < 4; ++h) {
    for (size_t w = 0; w < 7; ++w) {
      // Exact: one product with 1 each, and zeros.
      const double expected = h >= 2 && w >= 4 ? taps[(h - 2) * 3 + w - 4] : 0.0;
      EXPECT_EQ(values[h * 7 + w], expected) << h << " " << w;
    }
  }
}

// Multiplying polynomials is a full convolution with the flipped kernel.
TEST(ConvolutionValues, PolynomialsMultiply) {
  // (1 + 2x + 3x^2)(4 - x) = 4 + 7x + 10x^2 - 3x^3.
  // Padding 1 makes the convolution a full one: the outputs are the four coefficients of the
  // product. The kernel of 4 - x, flipped, is {-1, 4}.
  const auto y =
      run_f64("convolution.conv1d", {f64(Shape{1, 1, 3}, {1, 2, 3}), f64(Shape{1, 1, 2}, {-1, 4})},
              {{"kernel_size", int64_t{2}}, {"padding", int64_t{1}}});
  EXPECT_EQ(y, (std::vector<double>{4, 7, 10, -3}));
}

// Padding adds nothing, not 0 * weight.
TEST(ConvolutionValues, PaddingHidesInfinities) {
  // The window over the padding alone gives the bias; infinities beside it do not leak.
  const Tensor x = f64(Shape{1, 1, 3}, {kInf, 1, 2});
  // A kernel of 1 with padding 1: the outer windows hold padding alone.
  const auto y = run_f64("convolution.conv1d", {x, f64(Shape{1, 1, 1}, {0}), f64(Shape{1}, {7})},
                         {{"kernel_size", int64_t{1}}, {"padding", int64_t{1}}});
  // [padding, inf * 0, 1 * 0, 2 * 0, padding] + 7.
  EXPECT_EQ(y[0], 7);
  EXPECT_TRUE(std::isnan(y[1]));  // infinity times 0
  EXPECT_EQ(y[2], 7);
  EXPECT_EQ(y[4], 7);
}

// NaN in one group leaves the other clean.
TEST(ConvolutionValues, GroupsDoNotMix) {
  const Conv c{1, 4, 4, 2, {}, {3, 2}, {3, 2}};
  Tensor x = normal_f64(Shape{1, 4, 3, 3}, 12);
  const Tensor weight = normal_f64(Shape{4, 2, 2, 2}, 13);
  const auto before = run_f64("convolution.conv2d", {x, weight}, c.plane_attributes());
  auto values = values_of<double>(x);
  // Elements 18 .. 35 are channels 2 and 3 of the 3 x 3 planes: the second group.
  for (size_t i = 18; i < 36; ++i) values[i] = std::nan("");  // channels 2 and 3
  const auto after =
      run_f64("convolution.conv2d", {f64(x.shape(), values), weight}, c.plane_attributes());
  // Outputs of 2 x 2: the first eight belong to group 0.
  for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(same_bits(before[i], after[i]));
  for (size_t i = 8; i < 16; ++i) EXPECT_TRUE(std::isnan(after[i]));
}

// Pooling --------------------------------------------------------------------------------------

// Two axes; `ceil` asks for a last window that starts inside but does not fit.
struct Pool {
  Axis h, w;
  bool ceil = false;

  Attributes attributes() const {
    return {{"kernel_h", h.kernel}, {"kernel_w", w.kernel}, {"stride_h", h.stride},
            {"stride_w", w.stride}, {"pad_h", h.pad},       {"pad_w", w.pad},
            {"dil_h", h.dilation},  {"dil_w", w.dilation},  {"ceil", ceil}};
  }
};

// The elements of window (oh, ow) of a plane.
// Only the elements inside: padding is no element of a window, neither for max nor for mean.
std::vector<double> window_of(const Pool& p, const std::vector<double>& plane, int64_t oh,
                              int64_t ow) {
  std::vector<double> taps;
  for (int64_t kh = 0; kh < p.h.kernel; ++kh) {
    for (int64_t kw = 0; kw < p.w.kernel; ++kw) {
      const int64_t y = oh * p.h.stride - p.h.pad + kh * p.h.dilation;
      const int64_t x = ow * p.w.stride - p.w.pad + kw * p.w.dilation;
      const bool is_inside = y >= 0 && y < p.h.extent && x >= 0 && x < p.w.extent;
      if (is_inside) taps.push_back(plane[static_cast<size_t>(y * p.w.extent + x)]);
    }
  }
  return taps;
}

// Overlapping and disjoint windows, a rest with and without ceil, dilations, the whole plane in one
// window, and single elements.
const std::vector<Pool>& pools() {
  static const std::vector<Pool> list = {
      {{7, 2}, {5, 3}},
      {{7, 2, 2}, {5, 2, 2}},
      {{7, 2, 2}, {5, 2, 2}, true},
      {{6, 3, 2, 1}, {6, 4, 3, 2}, false},
      {{9, 3, 2, 1, 2}, {8, 2, 3, 1, 3}, true},
      {{4, 4}, {4, 4}},
      {{1, 1}, {1, 1}},
  };
  return list;
}

// Strides, dilations and ceil together.
TEST(PoolingValues, WindowsFollowTheDefinition) {
  for (const Pool& p : pools()) {
    const Tensor x = normal_f64(Shape{1, 1, p.h.extent, p.w.extent}, 14);
    const auto plane = values_of<double>(x);
    const Tensor largest = run_one("pooling.max_pool2d", {x}, p.attributes());
    const Tensor mean = run_one("pooling.avg_pool2d", {x}, p.attributes());
    const auto max_values = values_of<double>(largest), mean_values = values_of<double>(mean);
    const int64_t rows = largest.shape()[2], columns = largest.shape()[3];
    // With ceil there may be one output more per axis; its window has elements inside, see below.
    if (!p.ceil) {
      EXPECT_EQ(rows, p.h.outputs());
      EXPECT_EQ(columns, p.w.outputs());
    }
    for (int64_t oh = 0; oh < rows; ++oh) {
      for (int64_t ow = 0; ow < columns; ++ow) {
        const auto taps = window_of(p, plane, oh, ow);
        const auto i = static_cast<size_t>(oh * columns + ow);
        ASSERT_FALSE(taps.empty());
        // max is exact; the mean rounds in its sum and its quotient.
        EXPECT_EQ(max_values[i], *std::max_element(taps.begin(), taps.end()));
        EXPECT_NEAR(
            mean_values[i],
            std::accumulate(taps.begin(), taps.end(), 0.0) / static_cast<double>(taps.size()),
            1e-14);
      }
    }
  }
}

// Every input is in a window of the last row and column with `ceil`; without, some may be left out.
TEST(PoolingValues, CeilKeepsTheRest) {
  // The corner is out of reach of two windows of 2 in an extent of 5, and in the third with ceil.
  std::vector<double> x(25, 0.0);
  x[24] = 9;  // the last corner
  const Pool floor{{5, 2, 2}, {5, 2, 2}, false}, ceil{{5, 2, 2}, {5, 2, 2}, true};
  const Tensor image = f64(Shape{1, 1, 5, 5}, x);
  EXPECT_EQ(run_f64("pooling.max_pool2d", {image}, floor.attributes()),
            std::vector<double>(4, 0.0));
  EXPECT_EQ(run_f64("pooling.max_pool2d", {image}, ceil.attributes()),
            (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 9}));
  // A window of one element inside the image has that element as its mean.
  EXPECT_EQ(run_f64("pooling.avg_pool2d", {image}, ceil.attributes()).back(), 9);
}

// A padded 0 would beat negative elements, and dilute a mean.
TEST(PoolingValues, PaddingCountsInNeitherMaxNorMean) {
  const Tensor x = f64(Shape{1, 1, 2, 2}, {-1, -2, -3, -4});
  // Each corner window has one element inside and three in the padding.
  const Pool p{{2, 2, 2, 1}, {2, 2, 2, 1}};
  EXPECT_EQ(run_f64("pooling.max_pool2d", {x}, p.attributes()),
            (std::vector<double>{-1, -2, -3, -4}));
  EXPECT_EQ(run_f64("pooling.avg_pool2d", {x}, p.attributes()),
            (std::vector<double>{-1, -2, -3, -4}));
}

// Windows of unequal size where the extents do not divide.
TEST(AdaptivePoolingValues, WindowsAreTheStatedOnes) {
  for (const auto& [in, out] :
       std::vector<std::pair<int64_t, int64_t>>{{7, 3}, {3, 7}, {6, 6}, {1, 4}, {10, 1}, {5, 2}}) {
    const Tensor x = normal_f64(Shape{1, 1, 1, in}, 15);
    const auto line = values_of<double>(x);
    const Attributes attributes = {{"out_h", int64_t{1}}, {"out_w", out}};
    const auto largest = run_f64("pooling.adaptive_max_pool2d", {x}, attributes);
    const auto mean = run_f64("pooling.adaptive_avg_pool2d", {x}, attributes);
    for (int64_t o = 0; o < out; ++o) {
      // Window o covers [floor(o * in / out), ceil((o + 1) * in / out)): windows overlap where out
      // does not divide in, and repeat elements where out is larger.
      const int64_t start = o * in / out, end = ((o + 1) * in + out - 1) / out;
      const std::vector<double> taps(line.begin() + start, line.begin() + end);
      EXPECT_EQ(largest[static_cast<size_t>(o)], *std::max_element(taps.begin(), taps.end()));
      EXPECT_NEAR(mean[static_cast<size_t>(o)],
                  std::accumulate(taps.begin(), taps.end(), 0.0) / static_cast<double>(taps.size()),
                  1e-14)
          << in << " to " << out << ", window " << o;
    }
  }
}

// What std::max would get wrong.
TEST(PoolingValues, NaNSpreadsAndZerosHaveSigns) {
  // A window over both elements: order must not matter.
  const Pool all{{1, 1}, {2, 2}};
  const auto of = [&](const char* id, double a, double b) {
    return run_f64(id, {f64(Shape{1, 1, 1, 2}, {a, b})}, all.attributes()).at(0);
  };
  EXPECT_TRUE(std::isnan(of("pooling.max_pool2d", std::nan(""), kInf)));
  EXPECT_TRUE(std::isnan(of("pooling.max_pool2d", 1, std::nan(""))));
  EXPECT_TRUE(same_bits(of("pooling.max_pool2d", -0.0, 0.0), 0.0));
  EXPECT_EQ(of("pooling.max_pool2d", -kInf, -kInf), -kInf);
  // -inf + inf in the sum.
  EXPECT_TRUE(std::isnan(of("pooling.avg_pool2d", -kInf, kInf)));
}

}  // namespace
}  // namespace quern::test
