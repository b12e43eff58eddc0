// Measurements: what is counted, what is refused, and that nothing of them stays.
#include "generate/speed.h"

#include <gtest/gtest.h>

#include "support/tiny_engine.h"

namespace quern {
namespace {

// Robust against one slow run.
TEST(Median, IsTheMiddleOne) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);  // of an even number the upper one
  EXPECT_EQ(median({2, 2, 2, 100}), 2);
}

// An engine on a tiny model.
class SpeedTest : public test::TinyEngineTest<SpeedTest> {
 protected:
  std::string error(const SpeedCase& c) {
    SpeedMeter meter(*engine_);
    const auto sample = meter.measure(c, false);
    return sample ? "no error" : sample.error().message;
  }
  // Sequences in the store: a new one takes the lowest free id.
  int32_t next_id() {
    const int32_t id = engine_->kv().create_sequence().value();
    EXPECT_TRUE(engine_->kv().remove_sequence(id));
    return id;
  }
};

// A rate of nothing would be infinite.
TEST_F(SpeedTest, CasesBelowOneAreRefused) {
  EXPECT_EQ(error({.tokens = 0}),
            "A measurement of 0 tokens, 1 sequences and depth 0 is not possible.");
  EXPECT_EQ(error({.tokens = 4, .batch = 0}),
            "A measurement of 4 tokens, 0 sequences and depth 0 is not possible.");
  EXPECT_EQ(error({.tokens = 4, .depth = -1}),
            "A measurement of 4 tokens, 1 sequences and depth -1 is not possible.");
}

// With and without depth and batch.
TEST_F(SpeedTest, EveryKindGivesASpeed) {
  SpeedMeter meter(*engine_);
  for (const SpeedCase& c : {SpeedCase{.kind = SpeedCase::Kind::kPrefill, .tokens = 3},
                             SpeedCase{.kind = SpeedCase::Kind::kPrefill, .tokens = 1, .depth = 5},
                             SpeedCase{.tokens = 2}, SpeedCase{.tokens = 2, .depth = 4, .batch = 3},
                             SpeedCase{.tokens = 1, .depth = 4, .batch = 1}}) {
    const auto sample = meter.measure(c, false);
    ASSERT_TRUE(sample) << sample.error().message;
    EXPECT_GT(sample->tokens_per_second, 0);
    EXPECT_EQ(sample->read_roof, 0);
  }
}

// A measurement deeper than the trained context raises the limit instead of failing.
TEST_F(SpeedTest, DepthMayPassTheTrainedContext) {
  SpeedMeter meter(*engine_);
  const auto sample = meter.measure({.tokens = 1, .depth = engine_->context_length()}, false);
  ASSERT_TRUE(sample) << sample.error().message;
}

// Their pages would stay in memory otherwise.
TEST_F(SpeedTest, SequencesAreGoneAfterwards) {
  const int32_t before = next_id();
  {
    SpeedMeter meter(*engine_);
    ASSERT_TRUE(meter.measure({.tokens = 2, .depth = 3, .batch = 4}, false));
  }
  EXPECT_EQ(next_id() >= before, true);
  for (int32_t id = 0; id < 16; ++id) EXPECT_FALSE(engine_->kv().length(id)) << id;
}

// Against sums over the file, tensor by tensor.
TEST_F(SpeedTest, CountsOfWeightsAreThoseOfTheFile) {
  double all = 0, matrices = 0, embedding = 0, head = 0;
  for (const GgufTensor& tensor : engine_->file().tensors()) {
    const auto elements = static_cast<double>(tensor.shape.num_elements());
    all += elements * 4;  // the model is f32
    if (tensor.shape.rank() == 2) matrices += elements;
    if (tensor.name == "token_embd.weight") embedding = elements;
    if (tensor.name == "output.weight") head = elements;
  }
  ASSERT_GT(embedding, 0);
  EXPECT_EQ(products_per_token(*engine_), matrices - embedding - head);
  // With a head of its own the embedding is read by row, else it is the head.
  EXPECT_EQ(weight_bytes_per_token(*engine_), head > 0 ? all - embedding * 4 : all);
}

}  // namespace
}  // namespace quern
