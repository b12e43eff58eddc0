// Spans of a sequence that are evicted leave no trace, in every cache type and on every device.
#include <gtest/gtest.h>

#include "e2e/model_runner.h"

namespace quern::test {
namespace {

std::vector<int32_t> tokens(int start, int count) {
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back((start + 37 * i) % 300);
  return ids;
}

class Eviction : public testing::TestWithParam<std::tuple<const char*, const char*, DType>> {
 protected:
  std::unique_ptr<Engine> open() {
    const auto [model, device, type] = GetParam();
    const std::string path = suite_file(std::string("tiny_models/") + model + "/model.gguf");
    if (path.empty()) return nullptr;
    EngineOptions options;
    options.device = device;
    options.device_options.num_threads = 2;
    options.model.is_evictable = true;
    options.model.key_type = type;
    options.model.value_type = type;
    auto engine = Engine::open(path, options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    return engine ? std::move(*engine) : nullptr;
  }
};

std::vector<float> feed(Engine& engine, int32_t sequence, const std::vector<int32_t>& ids,
                        int64_t chunk = 64) {
  const auto rows = engine.forward_chunked({sequence, ids, Feed::Logits::kAll}, chunk);
  EXPECT_TRUE(rows) << (rows ? "" : rows.error().message);
  return rows ? rows->read_as<float>().value() : std::vector<float>{};
}

const std::vector<int32_t> kA = tokens(3, 10);
const std::vector<int32_t> kS = tokens(100, 10);
const std::vector<int32_t> kB = tokens(200, 20);

TEST_P(Eviction, AnEvictedSpanIsAsIfNeverSeen) {
  const auto engine = open();
  if (engine == nullptr) GTEST_SKIP() << "Skipped: suite tiny_models is absent.";
  const int32_t plain = engine->kv().create_sequence().value();
  feed(*engine, plain, kA);
  const std::vector<float> expected = feed(*engine, plain, kB);

  const int32_t evicted = engine->kv().create_sequence().value();
  feed(*engine, evicted, kA);
  feed(*engine, evicted, kS);
  ASSERT_TRUE(engine->evict(evicted, 10, 10));
  EXPECT_EQ(feed(*engine, evicted, kB), expected);

  // Evicting the end of A instead must show.
  const int32_t other = engine->kv().create_sequence().value();
  feed(*engine, other, kA);
  feed(*engine, other, kS);
  ASSERT_TRUE(engine->evict(other, 5, 10));
  EXPECT_NE(feed(*engine, other, kB), expected);
}

TEST_P(Eviction, AMiddleSpanGivesTheSameBitsWhateverTheChunking) {
  std::vector<float> expected;
  for (const int64_t chunk : {64, 1, 7}) {
    const auto engine = open();
    if (engine == nullptr) GTEST_SKIP() << "Skipped: suite tiny_models is absent.";
    const int32_t sequence = engine->kv().create_sequence().value();
    std::vector<int32_t> all = kA;
    all.insert(all.end(), kS.begin(), kS.end());
    all.insert(all.end(), kB.begin(), kB.end());
    feed(*engine, sequence, all, chunk);
    ASSERT_TRUE(engine->evict(sequence, 8, 13));
    EXPECT_EQ(engine->kv().length(sequence).value(), 27);
    const std::vector<float> logits = feed(*engine, sequence, tokens(50, 5), chunk);
    if (expected.empty()) expected = logits;
    EXPECT_EQ(logits, expected) << "chunk " << chunk;
  }
}

TEST_P(Eviction, ExportedRowsContinueInAnotherEngine) {
  const auto engine = open();
  const auto other = open();
  if (engine == nullptr) GTEST_SKIP() << "Skipped: suite tiny_models is absent.";
  const int32_t sequence = engine->kv().create_sequence().value();
  feed(*engine, sequence, kA);
  const auto rows = engine->kv().export_rows(sequence);
  ASSERT_TRUE(rows);
  const auto imported = other->kv().import_rows(10, *rows);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(feed(*other, *imported, kB), feed(*engine, sequence, kB));
  EXPECT_FALSE(other->kv().import_rows(11, *rows));
}

INSTANTIATE_TEST_SUITE_P(Caches, Eviction,
                         testing::Combine(testing::Values("llama", "gemma3"),
                                          testing::Values("reference", "cpu"),
                                          testing::Values(DType::kF32, DType::kF16, DType::kBF16,
                                                          DType::kQ8_0, DType::kQ4_0)));

}  // namespace
}  // namespace quern::test
