// Measurements: what is counted, what is refused, and that nothing of them stays.
#include "generate/speed.h"

#include <gtest/gtest.h>

#include "formats/gguf_writer.h"
#include "support/tiny_engine.h"

namespace quern {
namespace {

using test::feed_all;

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

// Each depth is filled once, whatever the order, and deeper ones hold the rows of those before
// them.
TEST_F(SpeedTest, DepthsShareTheirRows) {
  KvStore& kv = engine_->kv();
  const int32_t page = kv.create_sequence().value();
  feed_all(*engine_, page, test::some_tokens(0, 64));
  const int64_t page_bytes = kv.size_bytes();
  ASSERT_TRUE(kv.remove_sequence(page));
  ASSERT_EQ(kv.size_bytes(), 0);
  {
    SpeedMeter meter(*engine_);
    const auto bytes_after = [&](int64_t depth) {
      EXPECT_TRUE(meter.measure({.tokens = 1, .depth = depth}, false));
      return kv.size_bytes() / page_bytes;
    };
    EXPECT_EQ(bytes_after(128), 2);
    EXPECT_EQ(bytes_after(192), 3);
    EXPECT_EQ(bytes_after(128), 3);
    EXPECT_EQ(bytes_after(192), 3);
    EXPECT_EQ(bytes_after(0), 3);
    // Shallower than all but the empty one: rows of its own.
    EXPECT_EQ(bytes_after(64), 4);
    EXPECT_EQ(bytes_after(128), 4);
  }
  EXPECT_EQ(kv.size_bytes(), 0);
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

// The dense model with each feed-forward product four times, as experts, and a router.
std::string write_mixture(const test::TinyModelFile& model, uint32_t num_used) {
  const auto base = GgufFile::open(model.path());
  EXPECT_TRUE(base);
  Metadata metadata = (*base)->metadata();
  metadata.set("llama.expert_count", MetadataValue::number(uint32_t{4}));
  metadata.set("llama.expert_used_count", MetadataValue::number(num_used));
  std::vector<WeightInfo> infos;
  std::vector<Tensor> tensors;
  for (const WeightInfo& info : (*base)->list()) {
    const Tensor tensor = (*base)->weight(info.name).value();
    infos.push_back(info);
    tensors.push_back(tensor);
    const size_t kind = info.name.find(".ffn_");
    if (kind == std::string::npos || info.shape.rank() != 2) continue;
    const std::string name = info.name.substr(0, info.name.size() - std::string(".weight").size());
    const std::vector<float> one = tensor.read_as<float>().value();
    std::vector<float> four;
    for (int i = 0; i < 4; ++i) four.insert(four.end(), one.begin(), one.end());
    const Shape shape{4, info.shape[0], info.shape[1]};
    infos.back() = {name + "_exps.weight", DType::kF32, shape};
    tensors.back() = Tensor::from<float>(DType::kF32, shape, four).value();
    if (!name.ends_with("ffn_gate")) continue;
    const Shape router{4, info.shape[1]};
    const std::vector<float> values(static_cast<size_t>(router.num_elements()), 0.5F);
    infos.push_back({name + "_inp.weight", DType::kF32, router});
    tensors.push_back(Tensor::from<float>(DType::kF32, router, values).value());
  }
  const std::string path = model.file("mixture.gguf");
  auto writer = GgufWriter::create(path, metadata, infos);
  EXPECT_TRUE(writer) << (writer ? "" : writer.error().message);
  for (size_t i = 0; i < infos.size(); ++i) {
    EXPECT_TRUE(writer->append(infos[i].name, tensors[i]));
  }
  EXPECT_TRUE(writer->finish());
  return path;
}

// A token reads the experts that it is sent to, and no others.
TEST_F(SpeedTest, OfAMixtureTheUsedExpertsCount) {
  double experts = 0, routers = 0;  // elements of one expert in all layers, and of all routers
  for (const GgufTensor& tensor : engine_->file().tensors()) {
    if (tensor.name.find(".ffn_") == std::string::npos || tensor.shape.rank() != 2) continue;
    experts += static_cast<double>(tensor.shape.num_elements());
    if (tensor.name.ends_with("ffn_gate.weight")) {
      routers += 4 * static_cast<double>(tensor.shape[1]);
    }
  }
  ASSERT_GT(experts, 0);
  for (const uint32_t used : {1U, 3U, 4U}) {
    const auto mixture = Engine::open(write_mixture(*model_, used), {});
    ASSERT_TRUE(mixture) << mixture.error().message;
    const double more = (used - 1) * experts + routers;
    EXPECT_EQ(products_per_token(**mixture), products_per_token(*engine_) + more) << used;
    EXPECT_EQ(weight_bytes_per_token(**mixture), weight_bytes_per_token(*engine_) + 4 * more)
        << used;
  }
}

}  // namespace
}  // namespace quern
