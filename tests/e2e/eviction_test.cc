// Spans of a sequence that are evicted leave no trace, in every cache type and on every device.
#include <gtest/gtest.h>

#include <limits>

#include "e2e/model_runner.h"

namespace quern::test {
namespace {

// 37 and 300 have no common factor: no token repeats within a span.
std::vector<int32_t> tokens(int start, int count) {
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back((start + 37 * i) % 300);
  return ids;
}

// Null where the suite is absent.
std::unique_ptr<Engine> open_evictable(const std::string& model, const std::string& device,
                                       DType type) {
  const std::string path = suite_file("tiny_models/" + model + "/model.gguf");
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

// One run for each model, device and numerics.
class Eviction : public testing::TestWithParam<std::tuple<const char*, const char*, DType>> {
 protected:
  std::unique_ptr<Engine> open() {
    const auto [model, device, type] = GetParam();
    return open_evictable(model, device, type);
  }
};

std::vector<float> feed(Engine& engine, int32_t sequence, const std::vector<int32_t>& ids,
                        int64_t chunk = 64) {
  const auto rows = engine.forward_chunked({sequence, ids, Feed::Logits::kAll}, chunk);
  EXPECT_TRUE(rows) << (rows ? "" : rows.error().message);
  return rows ? rows->read_as<float>().value() : std::vector<float>{};
}

// A, S, B: what comes before, the span that goes, what comes after.
const std::vector<int32_t> kA = tokens(3, 10);
const std::vector<int32_t> kS = tokens(100, 10);
const std::vector<int32_t> kB = tokens(200, 20);

// At the end of the sequence.
// The promise of design: a span that no later token attended to leaves the bits of never having
// been seen. The negative cases show that the comparison can fail.
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

  // Evicting the last ten of A instead, or half of them and half of S, must show.
  for (const int64_t start : {0, 5}) {
    const int32_t other = engine->kv().create_sequence().value();
    feed(*engine, other, kA);
    feed(*engine, other, kS);
    ASSERT_TRUE(engine->evict(other, start, 10));
    EXPECT_NE(feed(*engine, other, kB), expected) << start;
  }
}

// Keys are rotated anew from their unrotated form.
// Rows 8 to 20 of 40 go, so that 27 stay; survivors are rotated to new positions, in each chunking
// alike.
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

// With what eviction needs.
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
  // One row too many for the bytes.
  EXPECT_FALSE(other->kv().import_rows(11, *rows));
}

// The others keep their rows.
// Clones share pages, which the eviction of one must copy before it writes.
TEST_P(Eviction, ClonesAndLoadedSequencesEvictAlone) {
  const auto engine = open();
  const auto other = open();
  if (engine == nullptr) GTEST_SKIP() << "Skipped: suite tiny_models is absent.";
  const int32_t sequence = engine->kv().create_sequence().value();
  feed(*engine, sequence, kA);
  feed(*engine, sequence, kS);
  const int32_t untouched = engine->clone_sequence(sequence).value();
  const int32_t evicted = engine->clone_sequence(sequence).value();
  std::vector<int32_t> both = kA;
  both.insert(both.end(), kS.begin(), kS.end());
  const auto rows = engine->kv().export_rows(sequence);
  ASSERT_TRUE(rows);
  const auto loaded = other->import_sequence(both, *rows, false);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_TRUE(engine->evict(evicted, 3, 9));
  ASSERT_TRUE(other->evict(*loaded, 3, 9));
  // The pages that the clones share are as they were.
  const std::vector<float> whole = feed(*engine, sequence, kB);
  EXPECT_EQ(feed(*engine, untouched, kB), whole);
  const std::vector<float> after = feed(*engine, evicted, kB);
  EXPECT_NE(after, whole);
  EXPECT_EQ(feed(*other, *loaded, kB), after);
}

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0};

// gemma3 has sliding windows and two rotary bases; llama is the plain case.
INSTANTIATE_TEST_SUITE_P(Caches, Eviction,
                         testing::Combine(testing::Values("llama", "gemma3"),
                                          testing::Values("reference", "cpu"),
                                          testing::ValuesIn(kTypes)));
// Norms before the rotation, sinks, factors by length.
INSTANTIATE_TEST_SUITE_P(Families, Eviction,
                         testing::Combine(testing::Values("qwen3", "gpt-oss", "phi3-longrope"),
                                          testing::Values("reference", "cpu"),
                                          testing::Values(DType::kF32, DType::kQ8_0)));

// The reference decides.
// Quantised caches round keys when they are written: twice rounding would differ between devices.
TEST(EvictionAcrossDevices, AMiddleSpanGivesTheSameBits) {
  for (const DType type : kTypes) {
    std::vector<float> expected;
    for (const char* device : {"reference", "cpu"}) {
      const auto engine = open_evictable("gemma3", device, type);
      if (engine == nullptr) GTEST_SKIP() << "Skipped: suite tiny_models is absent.";
      const int32_t sequence = engine->kv().create_sequence().value();
      feed(*engine, sequence, kA);
      feed(*engine, sequence, kS);
      feed(*engine, sequence, kB);
      ASSERT_TRUE(engine->evict(sequence, 7, 11));
      const std::vector<float> logits = feed(*engine, sequence, kS);
      if (expected.empty()) expected = logits;
      EXPECT_EQ(logits, expected) << dtype_name(type);
    }
  }
}

// Longer than 32 tokens the model has other rotary factors, for all tokens; without S it is
// shorter.
// 10 + 40 tokens pass the threshold of 32; after the eviction 10 are left, and 30 with B.
TEST(EvictionAcrossDevices, AnEvictedSpanTakesItsLengthAlong) {
  const auto engine = open_evictable("phi3-longrope", "cpu", DType::kF32);
  if (engine == nullptr) GTEST_SKIP() << "Skipped: suite tiny_models is absent.";
  const int32_t plain = engine->kv().create_sequence().value();
  feed(*engine, plain, kA);
  const std::vector<float> expected = feed(*engine, plain, kB);
  const int32_t sequence = engine->kv().create_sequence().value();
  feed(*engine, sequence, kA);
  feed(*engine, sequence, tokens(100, 40));
  EXPECT_TRUE(engine->has_long_factors(sequence));
  ASSERT_TRUE(engine->evict(sequence, 10, 40));
  EXPECT_EQ(feed(*engine, sequence, kB, 7), expected);
  EXPECT_FALSE(engine->has_long_factors(sequence));
}

// Evicted twice: survivors come from their unrotated form each time, so nothing adds up.
// {2, 5} then {15, 5} is {20, 5} in the positions of before. The last line takes another span.
TEST(EvictionAcrossDevices, TwoSpansInAnyOrderGiveTheSameBits) {
  const auto engine = open_evictable("llama", "cpu", DType::kQ8_0);
  if (engine == nullptr) GTEST_SKIP() << "Skipped: suite tiny_models is absent.";
  const auto after = [&](std::initializer_list<std::pair<int64_t, int64_t>> spans) {
    const int32_t sequence = engine->kv().create_sequence().value();
    feed(*engine, sequence, kA);
    feed(*engine, sequence, kS);
    feed(*engine, sequence, kB);
    for (const auto& [start, count] : spans) EXPECT_TRUE(engine->evict(sequence, start, count));
    return feed(*engine, sequence, kS);
  };
  const std::vector<float> first_then_second = after({{2, 5}, {15, 5}});
  EXPECT_EQ(after({{20, 5}, {2, 5}}), first_then_second);
  EXPECT_EQ(after({{20, 5}, {2, 2}, {2, 3}}), first_then_second);
  EXPECT_NE(after({{2, 5}, {16, 5}}), first_then_second);
}

// Learned positions cannot be rotated.
TEST(EvictionErrors, SpansOutsideAndLearnedPositionsAreRefused) {
  const auto engine = open_evictable("llama", "cpu", DType::kF32);
  if (engine == nullptr) GTEST_SKIP() << "Skipped: suite tiny_models is absent.";
  const int32_t sequence = engine->kv().create_sequence().value();
  feed(*engine, sequence, kA);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const auto& [start, count] : std::initializer_list<std::pair<int64_t, int64_t>>{
           {-1, 2}, {0, 11}, {10, 1}, {11, 0}, {5, kMost}, {kMost, kMost}, {3, -1}}) {
    EXPECT_EQ(engine->evict(sequence, start, count).error().code, ErrorCode::kOutOfRange);
  }
  EXPECT_TRUE(engine->evict(sequence, 10, 0));
  EXPECT_TRUE(engine->evict(sequence, 0, 10));
  EXPECT_EQ(engine->kv().length(sequence).value(), 0);
  EXPECT_FALSE(engine->evict(12345, 0, 0));
  // gpt2 has learned positions: only the end can go.
  const auto gpt2 = open_evictable("gpt2", "cpu", DType::kF32);
  const int32_t learned = gpt2->kv().create_sequence().value();
  feed(*gpt2, learned, kA);
  EXPECT_EQ(gpt2->evict(learned, 2, 3).error().code, ErrorCode::kUnimplemented);
  EXPECT_TRUE(gpt2->evict(learned, 7, 3));
  // A plain store keeps no unrotated keys.
  const auto plain = open_engine(suite_file("tiny_models/llama/model.gguf"), {"cpu"});
  const int32_t kept = plain->kv().create_sequence().value();
  feed(*plain, kept, kA);
  EXPECT_EQ(plain->evict(kept, 2, 3).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(plain->evict(kept, 7, 3));
}

}  // namespace
}  // namespace quern::test
