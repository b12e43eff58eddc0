// Losses, metrics and integers with a scale: types, edges, errors. Values: the suite op_cases.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/bit_equal.h"
#include "support/op_runner.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

// The mean of no elements.
TEST(Losses, OfNothingIsNaN) {
  const Tensor none = f32(Shape{0}, {});
  EXPECT_TRUE(std::isnan(values_of<float>(run_one("train.loss.mse", {none, none})).at(0)));
}

// One rounding of the mean.
TEST(Losses, NarrowFloatsSumInF32) {
  // 4,097 ones: an f16 accumulator would stop at 2,048.
  // 4,097 is also one more than a chunk of lanes(32).
  const std::vector<uint16_t> one(4097, to_f16(1.0f)), zero(4097, to_f16(0.0f));
  const Tensor loss = run_one("losses.mae", {tensor_of(DType::kF16, Shape{4097}, one),
                                             tensor_of(DType::kF16, Shape{4097}, zero)});
  EXPECT_EQ(f16_to_f32(values_of<uint16_t>(loss).at(0)), 1.0f);
}

// log 0 never happens.
TEST(BinaryCrossEntropy, ClampsBothEnds) {
  const Tensor p = f32(Shape{2}, {0, 1}), t = f32(Shape{2}, {1, 0});
  // -log(1e-7) for both elements.
  EXPECT_TRUE(
      std::isfinite(values_of<float>(run_one("losses.binary_cross_entropy", {p, t})).at(0)));
  // A delta of 0 has no quadratic part.
  EXPECT_FALSE(run_op("losses.huber", {p, t}, {{"delta", 0.0}}));
}

// Two ways to name a class.
TEST(CrossEntropy, IdsAndOneHotAgree) {
  const Tensor logits = f32(Shape{2, 3}, {1, 2, 3, 0, -1, 0.5f});
  const Tensor ids = i32(Shape{2}, {2, 0});
  const Tensor hot = f32(Shape{2, 3}, {0, 0, 1, 1, 0, 0});
  for (const char* id : {"train.loss.cross_entropy", "train.loss.cross_entropy_grad"}) {
    EXPECT_TRUE(all_same_bits(values_of<float>(run_one(id, {logits, ids})),
                              values_of<float>(run_one(id, {logits, hot}))))
        << id;
  }
  // An id past the classes, a missing id, and rows without classes.
  EXPECT_FALSE(run_op("train.loss.cross_entropy", {logits, i32(Shape{2}, {3, 0})}));
  EXPECT_FALSE(run_op("train.loss.cross_entropy", {logits, i32(Shape{1}, {0})}));
  EXPECT_FALSE(run_op("train.loss.cross_entropy", {f32(Shape{2, 0}, {}), i32(Shape{2}, {0, 0})}));
}

// Two halves give what the whole gives.
TEST(Metrics, CountsOfEarlierCallsAdd) {
  const Tensor scores = f32(Shape{2, 2}, {0.9f, 0.1f, 0.2f, 0.8f});
  // One of two right, then both: 3 of 4 with the counts of the first call.
  const auto first = run_op("bench.accuracy", {scores, i32(Shape{2}, {0, 0})});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(values_of<double>((*first)[0]), (std::vector<double>{0.5}));
  const auto second = run_op("bench.accuracy", {scores, i32(Shape{2}, {0, 1}), (*first)[1]});
  EXPECT_EQ(values_of<double>((*second)[0]), (std::vector<double>{0.75}));
  // The same ids check, and counts of a wrong length.
  EXPECT_FALSE(run_op("bench.perplexity", {scores, i32(Shape{2}, {0, 2})}));
  EXPECT_FALSE(run_op("bench.accuracy", {scores, i32(Shape{2}, {0, 1}), f64(Shape{3}, {0, 0, 0})}));
}

// The published rounding.
TEST(AffineQuant, RoundsHalvesAwayAndRefusesBadScales) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  // 0.25 / 0.5 is the half 0.5, which goes to 1 (away from zero), plus 3.
  const Tensor x = f32(Shape{6}, {0.25f, -0.25f, nan, inf, -inf, 0.2f});
  const Tensor q = run_one("quant.quant", {x}, {{"scale", 0.5}, {"zero_point", int64_t{3}}});
  EXPECT_EQ(values_of<int8_t>(q), (std::vector<int8_t>{4, 2, 3, 127, -128, 3}));
  EXPECT_FALSE(run_op("quant.quant", {x}, {{"scale", 0.0}}));
  EXPECT_FALSE(run_op("quant.quant", {x}, {{"scale", 1.0}, {"zero_point", int64_t{128}}}));
  // 0xF1: low 1, high 15; (1 - 1) * 2 and (15 - 1) * 2.
  const Tensor packed = tensor_of<uint8_t>(DType::kU8, Shape{1}, {0xF1});
  const Tensor y =
      run_one("dequant.dequant4", {packed},
              {{"scale", 2.0}, {"zero_point", int64_t{1}}, {"dtype", std::string("f32")}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 28}));
}

// Offsets may stand still, never fall.
TEST(EmbeddingBag, EmptyBagsAndBadOffsets) {
  const Tensor weight = f32(Shape{2, 1}, {1, 10}), ids = i32(Shape{2}, {0, 1});
  EXPECT_EQ(values_of<float>(run_one("embedding.bag", {ids, i32(Shape{3}, {0, 2, 2}), weight})),
            (std::vector<float>{11, 0, 0}));
  EXPECT_FALSE(run_op("embedding.bag", {ids, i32(Shape{1}, {1}), weight}));
  EXPECT_FALSE(run_op("embedding.bag", {ids, i32(Shape{2}, {0, 3}), weight}));
  EXPECT_FALSE(run_op("embedding.bag", {i32(Shape{1}, {2}), i32(Shape{1}, {0}), weight}));
}

// The fixed composition is its parts.
TEST(Fused, RoundsLikeItsExpansion) {
  // 2048 + 1 = 2049 is a tie in f16; a kernel that keeps f32 between product and bias gives 2051 ->
  // 2052.
  const Tensor a = tensor_of<uint16_t>(DType::kF16, Shape{1, 2}, {to_f16(2048.0f), to_f16(1.0f)});
  const Tensor b = tensor_of<uint16_t>(DType::kF16, Shape{2, 1}, {to_f16(1.0f), to_f16(1.0f)});
  const Tensor bias = tensor_of<uint16_t>(DType::kF16, Shape{1}, {to_f16(2.0f)});
  const Tensor y = run_one("Fused", {a, b, bias}, {{"activation", std::string("relu")}});
  EXPECT_EQ(f16_to_f32(values_of<uint16_t>(y).at(0)), 2050.0f);  // 2049 rounds to 2048 first
}

// Zero vectors are not divided.
TEST(Vsa, BundleAndPermute) {
  const Tensor a = f32(Shape{2}, {3, 0}), b = f32(Shape{2}, {0, 4});
  EXPECT_EQ(values_of<float>(run_one("vsa.bundle", {a, b}, {{"normalize", false}})),
            (std::vector<float>{3, 4}));
  // (3, 4) has the length 5.
  EXPECT_EQ(values_of<float>(run_one("vsa.bundle", {a, b})), (std::vector<float>{0.6f, 0.8f}));
  // k = -1 rotates to the right.
  EXPECT_EQ(
      values_of<float>(run_one("vsa.permute", {f32(Shape{3}, {1, 2, 3})}, {{"k", int64_t{-1}}})),
      (std::vector<float>{3, 1, 2}));
}

}  // namespace
}  // namespace quern::test
