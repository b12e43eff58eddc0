// Pooling: the bits of the reference over windows, strides, padding, dtypes, special values.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::random_tensor;

struct Pool {
  Shape x;
  int64_t kernel;
  int64_t stride;
  int64_t pad = 0;
  int64_t dilation = 1;
  bool ceil = false;

  Attributes attributes() const {
    return {{"kernel_h", kernel}, {"kernel_w", kernel}, {"stride_h", stride},
            {"stride_w", stride}, {"pad_h", pad},       {"pad_w", pad},
            {"dil_h", dilation},  {"dil_w", dilation},  {"ceil", ceil}};
  }
};

// A window of one; strides below, at and above the window, with and without a rest; padding of one;
// dilation; ceil, where the last window hangs over; no batch.
const Pool kPools[] = {
    {{1, 1, 1, 1}, 1, 1},         {{2, 3, 7, 9}, 2, 2},
    {{1, 2, 13, 50}, 3, 2, 1},    {{1, 2, 9, 35}, 3, 1, 1},
    {{1, 2, 20, 41}, 5, 3, 2, 2}, {{1, 1, 6, 6}, 2, 3, 1, 1, true},
    {{1, 1, 5, 7}, 2, 1, 1},      {{1, 1, 6, 6}, 3, 2, 1, 3, true},
    {{0, 2, 4, 4}, 2, 2},         {{3, 4, 8, 64}, 2, 4},
};

// Every ninth element is special: a window of NaN, infinities and zeros of both signs.
TEST(Pool, HasTheBitsOfTheReference) {
  std::mt19937 random(3);
  for (const Pool& p : kPools) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
      SCOPED_TRACE(fmt::format("{}{} kernel {} stride {}", dtype_name(dtype), p.x.to_string(),
                               p.kernel, p.stride));
      const Tensor x = random_tensor(dtype, p.x, random, 9);
      expect_reference_bits("pooling.max_pool2d", {x}, p.attributes());
      expect_reference_bits("pooling.avg_pool2d", {x}, p.attributes());
    }
  }
}

TEST(Pool, ManyPlanesSpreadOverThreads) {
  std::mt19937 random(4);
  const Pool p{{2, 64, 40, 40}, 3, 2, 1};
  const Tensor x = random_tensor(DType::kF32, p.x, random, 31);
  expect_reference_bits("pooling.max_pool2d", {x}, p.attributes());
  expect_reference_bits("pooling.avg_pool2d", {x}, p.attributes());
}

// 13 x 17 to sizes that divide neither; larger outputs than inputs repeat elements.
TEST(AdaptivePool, HasTheBitsOfTheReference) {
  std::mt19937 random(6);
  for (const auto& [height, width] : {std::pair{1, 1}, {3, 5}, {7, 7}, {20, 30}}) {
    const Attributes attributes = {{"out_h", int64_t{height}}, {"out_w", int64_t{width}}};
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
      const Tensor x = random_tensor(dtype, Shape{2, 3, 13, 17}, random, 40);
      expect_reference_bits("pooling.adaptive_max_pool2d", {x}, attributes);
      expect_reference_bits("pooling.adaptive_avg_pool2d", {x}, attributes);
    }
  }
}

}  // namespace
}  // namespace quern
