// Reductions over every set of axes, and norms over channels: the bits of the reference.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::random_tensor;

constexpr const char* kReductions[] = {"reduction.sum",        "reduction.prod",
                                       "reduction.l1_norm",    "reduction.mean",
                                       "reduction.reduce_max", "reduction.reduce_min"};

// keep_dims alternates with the number of axes, so that both forms are met.
void check(const Tensor& x, const std::vector<int64_t>& axes) {
  for (const char* id : kReductions) {
    SCOPED_TRACE(fmt::format("{} of {}{} over [{}]", id, dtype_name(x.dtype()),
                             x.shape().to_string(), fmt::join(axes, ", ")));
    expect_reference_bits(id, {x}, {{"axes", axes}, {"keep_dims", axes.size() % 2 == 1}});
  }
}

// 16 sets of four axes: reduced axes in front, behind, in between and not beside each other; {-1,
// 0} out of order.
TEST(Reduction, EverySetOfAxes) {
  std::mt19937 random(2);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    const Tensor x = random_tensor(dtype, Shape{3, 5, 2, 70}, random);
    for (unsigned set = 0; set < 16; ++set) {
      std::vector<int64_t> axes;
      for (int64_t axis = 0; axis < 4; ++axis) {
        if ((set >> axis & 1) != 0) axes.push_back(axis);
      }
      check(x, axes);
    }
    check(x, {-1, 0});
  }
}

// Order is frozen: partial sums by index modulo 32 in chunks of 4,096. A kernel that starts a chunk
// at the wrong element differs in the last bits.
// Around vectors, lanes, and chunks of 4,096.
TEST(Reduction, EveryLengthOfRowsAndColumns) {
  std::mt19937 random(3);
  for (const int64_t n : {1, 2, 15, 16, 31, 32, 33, 64, 127, 129, 4095, 4096, 4097, 9000}) {
    check(random_tensor(DType::kF32, Shape{2, n}, random), {1});
    check(random_tensor(DType::kF32, Shape{n, 3}, random), {0});
    check(random_tensor(DType::kF64, Shape{n}, random), {0});
  }
  for (const int64_t columns : {1, 7, 16, 63, 64, 65, 200}) {
    check(random_tensor(DType::kF32, Shape{2, 40, columns}, random), {1});
  }
}

TEST(Reduction, SpecialValues) {
  std::mt19937 random(4);
  for (const int special_every : {3, 1000}) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const Tensor x = random_tensor(dtype, Shape{7, 600}, random, special_every);
      check(x, {0});
      check(x, {1});
    }
  }
  // max prefers +0 and min -0, wherever they stand.
  // Zeros of both signs, largest and smallest at once.
  std::vector<float> zeros(300, -0.0f);
  check(*Tensor::from<float>(DType::kF32, Shape{1, 300}, zeros), {1});
  zeros[150] = 0.0f;
  check(*Tensor::from<float>(DType::kF32, Shape{1, 300}, zeros), {1});
  check(*Tensor::from<float>(DType::kF32, Shape{300, 1}, zeros), {0});
}

// Sum 0, product 1, mean NaN; max and min are errors, which must be the reference's.
TEST(Reduction, EmptyTensors) {
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}}) {
    const Tensor x = *Tensor::zeros(DType::kF32, shape);
    check(x, {});
    check(x, {0});
  }
}

TEST(Reduction, LongRowsSpreadOverThreads) {
  std::mt19937 random(5);
  // A prime of 245 chunks: threads share them and join in order.
  check(random_tensor(DType::kF32, Shape{1, 1000003}, random), {});
  check(random_tensor(DType::kF32, Shape{2000, 300}, random), {0});
}

// 6 channels in 1, 2, 3 or 6 groups. A variance of 0 leaves only eps under the root.
TEST(ChannelNorm, HasTheBitsOfTheReference) {
  std::mt19937 random(6);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    for (const Shape& shape : {Shape{2, 6, 5, 7}, Shape{1, 6, 1}, Shape{3, 6, 40, 40}, Shape{2, 6},
                               Shape{0, 6, 3}, Shape{2, 6, 0}}) {
      SCOPED_TRACE(fmt::format("{}{}", dtype_name(dtype), shape.to_string()));
      const Tensor x = random_tensor(dtype, shape, random);
      const Shape channels{6};
      const Tensor weight = random_tensor(dtype, channels, random);
      const Tensor bias = random_tensor(dtype, channels, random);
      for (const int64_t groups : {1, 2, 3, 6}) {
        const Attributes attributes = {{"groups", groups}};
        expect_reference_bits("math.groupnorm", {x, weight, bias}, attributes);
        expect_reference_bits("math.groupnorm", {x, Tensor(), bias}, attributes);
        expect_reference_bits("math.groupnorm", {x}, attributes);
      }
      expect_reference_bits("normalization.instance_norm", {x, weight, bias});
      const Tensor mean = random_tensor(dtype, channels, random);
      const Tensor variance =
          *Tensor::from<float>(DType::kF32, channels, std::vector<float>{0.5f, 1, 2, 3, 0, 0.1f});
      if (dtype == DType::kF32) {
        expect_reference_bits("normalization.batch_norm_eval", {x, mean, variance, weight, bias});
        expect_reference_bits("normalization.batch_norm_eval", {x, mean, variance, weight});
      }
    }
  }
}

}  // namespace
}  // namespace quern
