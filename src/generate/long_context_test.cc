// Tests of the bookkeeping around the threshold where rotary factors change.
#include "generate/long_context.h"

#include <gtest/gtest.h>

#include <vector>

namespace quern {
namespace {

std::vector<int32_t> counting(int32_t from, int32_t count) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back(from + i);
  return ids;
}

// Announces `count` tokens behind `cached` rows and asks, as the engine does.
Result<bool> must_restart(LongContext& context, int32_t sequence, int64_t cached, int64_t count) {
  context.plan(sequence, cached + count);
  return context.must_restart(sequence, cached);
}

std::vector<int32_t> history(const LongContext& context, int32_t sequence) {
  const auto span = context.history(sequence);
  return {span.begin(), span.end()};
}

// Most models have one set of factors.
TEST(LongContext, IsOffWithoutAThreshold) {
  EXPECT_FALSE(LongContext().is_on());
  EXPECT_TRUE(LongContext(10).is_on());
}

// Up to the threshold itself.
TEST(LongContext, AShortSequenceStaysShort) {
  LongContext context(10);
  EXPECT_FALSE(must_restart(context, 0, 0, 10).value());
  context.append(0, 0, counting(0, 10));
  EXPECT_FALSE(context.is_long(0));
  EXPECT_EQ(history(context, 0), counting(0, 10));
}

// Later rows take the long factors at once.
TEST(LongContext, PassingTheThresholdRestartsOnce) {
  LongContext context(10);
  EXPECT_FALSE(must_restart(context, 0, 0, 8).value());
  context.append(0, 0, counting(0, 8));
  EXPECT_FALSE(must_restart(context, 0, 8, 2).value());
  context.append(0, 8, counting(8, 2));
  EXPECT_TRUE(must_restart(context, 0, 10, 1).value());
  EXPECT_TRUE(context.is_long(0));
  EXPECT_EQ(history(context, 0), counting(0, 10));
  context.append(0, 0, counting(0, 10));
  EXPECT_FALSE(must_restart(context, 0, 10, 1).value());
}

// Nothing needs to be computed twice then.
TEST(LongContext, AnEmptySequenceStartsWithTheFactorsOfItsPlan) {
  LongContext context(10);
  EXPECT_FALSE(must_restart(context, 0, 0, 25).value());
  EXPECT_TRUE(context.is_long(0));
  // A new sequence under the same id is short again.
  EXPECT_FALSE(must_restart(context, 0, 0, 5).value());
  EXPECT_FALSE(context.is_long(0));
}

// Of one engine.
TEST(LongContext, SequencesAreIndependent) {
  LongContext context(4);
  EXPECT_FALSE(must_restart(context, 0, 0, 9).value());
  EXPECT_FALSE(must_restart(context, 1, 0, 2).value());
  EXPECT_TRUE(context.is_long(0));
  EXPECT_FALSE(context.is_long(1));
  EXPECT_FALSE(context.is_long(7));
}

// Rows that came from a file have no tokens here.
TEST(LongContext, UnknownRowsCannotBeComputedAnew) {
  LongContext context(10);
  const auto unknown = must_restart(context, 3, 8, 5);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(unknown.error().message,
            "Sequence 3 passes 10 tokens, where the model's rotary factors change, and its first 8 "
            "tokens are not known any more.");
  EXPECT_FALSE(must_restart(context, 3, 8, 2).value());
}

// The restart must not bring them back.
TEST(LongContext, EvictedTokensLeaveTheHistory) {
  LongContext context(100);
  EXPECT_FALSE(must_restart(context, 0, 0, 6).value());
  context.append(0, 0, counting(0, 6));
  context.evict(0, 2, 3);
  EXPECT_EQ(history(context, 0), (std::vector<int32_t>{0, 1, 5}));
  context.evict(0, 2, 50);
  EXPECT_EQ(history(context, 0), (std::vector<int32_t>{0, 1}));
  context.evict(9, 0, 1);  // a sequence that it never saw
}

// The cache tells how many rows there are.
TEST(LongContext, AppendForgetsWhatWasTruncated) {
  LongContext context(100);
  context.append(0, 0, counting(0, 6));
  context.append(0, 4, counting(50, 2));
  EXPECT_EQ(history(context, 0), (std::vector<int32_t>{0, 1, 2, 3, 50, 51}));
}

}  // namespace
}  // namespace quern
