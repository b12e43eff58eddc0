// Losses: the bits of the reference at every size, dtype and instruction set.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::expect_reference_bits;
using test::random_tensor;

// 4,096 and 4,097 are the chunk of a reduction and one more; the loss is a mean, whose order of
// sums is the reference's.
TEST(LossStep, HasTheBitsOfTheReference) {
  std::mt19937 random(8);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    for (const Shape& shape :
         {Shape{0}, Shape{1}, Shape{31}, Shape{3, 11}, Shape{4096}, Shape{4097}, Shape{90, 1000}}) {
      SCOPED_TRACE(fmt::format("{}{}", dtype_name(dtype), shape.to_string()));
      const std::vector<Tensor> pair = {random_tensor(dtype, shape, random),
                                        random_tensor(dtype, shape, random)};
      for (const char* id : {"train.loss.mse", "losses.mae", "losses.binary_cross_entropy",
                             "losses.kl_divergence"}) {
        expect_reference_bits(id, pair);
      }
      for (const double delta : {0.3, 1.0}) {
        expect_reference_bits("losses.huber", pair, {{"delta", delta}});
      }
    }
  }
}

// Specials of both operands at distances that share no index but the first.
TEST(LossStep, SpecialValues) {
  std::mt19937 random(9);
  for (const char* id : {"train.loss.mse", "losses.mae", "losses.binary_cross_entropy",
                         "losses.kl_divergence", "losses.huber"}) {
    const std::vector<Tensor> pair = {random_tensor(DType::kF32, Shape{100}, random, 40),
                                      random_tensor(DType::kF32, Shape{100}, random, 50)};
    expect_reference_bits(id, pair);
  }
}

}  // namespace
}  // namespace quern
