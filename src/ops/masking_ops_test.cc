// Masks and alibi: narrow floats, broadcasting, errors. Values: the suite op_cases.
#include <gtest/gtest.h>

#include <limits>

#include "support/bit_equal.h"
#include "support/op_runner.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The port may only confirm the attribute.
// Length 2 is the smallest with a hidden and a visible element. -1 is no extent, 2^40 would make
// 2^80 elements and must fail in the type rule, before memory is asked for; 0 is valid and empty.
TEST(CausalMask, TakesADtypeAndChecksThePort) {
  const Attributes two = {{"seq_len", int64_t{2}}, {"dtype", std::string("bf16")}};
  const Tensor mask = run_one("masking.causal", {}, two);
  EXPECT_EQ(values_of<uint16_t>(mask), (std::vector<uint16_t>{0, to_bf16(-kInf), 0, 0}));
  EXPECT_TRUE(run_op("masking.causal", {i32(Shape{1}, {2})}, two));
  const auto bad = run_op("masking.causal", {i32(Shape{1}, {3})}, two);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "Port 'seq' holds 3; the attribute 'seq_len' is 2.");
  EXPECT_FALSE(run_op("masking.causal", {}, {{"seq_len", int64_t{-1}}}));
  EXPECT_FALSE(run_op("masking.causal", {}, {{"seq_len", int64_t{1} << 40}}));
  EXPECT_EQ(run_one("masking.causal", {}, {{"seq_len", int64_t{0}}}).shape(), (Shape{0, 0}));
}

// The mask's extents are the last ones.
// The infinity in the logits stands under a 0 of the mask: under -infinity it would give NaN. The
// second row of values shows the repetition. A mask of another extent or dtype does not fit.
TEST(ApplyMask, RepeatsOverLeadingAxes) {
  const Tensor logits = f32(Shape{2, 1, 2}, {1, 2, kInf, 4});
  const Tensor masked = run_one("masking.apply", {logits, f32(Shape{2}, {0, -kInf})});
  EXPECT_TRUE(all_same_bits(values_of<float>(masked), {1, -kInf, kInf, -kInf}));
  EXPECT_FALSE(run_op("masking.apply", {logits, f32(Shape{3}, {0, 0, 0})}));
  EXPECT_FALSE(run_op("masking.apply", {logits, f64(Shape{2}, {0, 0})}));
}

// The steps of the document.
// Key 0 is on the query (distance 0, the score stays), key 1 is one ahead and costs one slope.
// Three heads are no power of two, so the slope of head 0, 2^(-8/3), is no round number.
TEST(Alibi, RoundsTheSlopeThenEachStep) {
  // Three heads: the slope of the first is 2^(-8/3), rounded to f32 once.
  const Tensor scores = f32(Shape{1, 3, 1, 2}, {1, 1, 1, 1, 1, 1});
  const auto y = values_of<float>(
      run_one("positional.alibi", {scores}, {{"num_heads", int64_t{3}}, {"causal", false}}));
  const float slope = 0.15749013f;  // 2^(-8/3)
  EXPECT_TRUE(same_bits(y.at(0), 1.0f));
  EXPECT_TRUE(same_bits(y.at(1), 1.0f + slope * -1.0f));
  EXPECT_FALSE(run_op("positional.alibi", {scores}, {{"num_heads", int64_t{2}}}));
}

}  // namespace
}  // namespace quern::test
