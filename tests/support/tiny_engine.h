// Engines on a synthetic model of two layers that needs no file from outside: vocabulary 512,
// context 256. Link quern_generate beside quern_test_support.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "formats/synth.h"
#include "generate/engine.h"
#include "support/temporary_folder.h"

namespace quern::test {

// The model's file, for as long as this lives. Weights are f32 unless asked otherwise.
class TinyModelFile {
 public:
  explicit TinyModelFile(DType dtype = DType::kF32) {
    SynthOptions options;
    options.dtype = dtype;
    const auto report = write_synthetic_model(path(), options, {});
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
  }
  std::string path() const { return folder_.file("tiny.gguf"); }
  std::string file(std::string_view name) const { return folder_.file(name); }

  // Null, with a failed expectation, if it cannot be opened.
  std::unique_ptr<Engine> open(EngineOptions options = {}) const {
    if (options.device_options.num_threads == 0) options.device_options.num_threads = 2;
    auto engine = Engine::open(path(), options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    return engine ? std::move(*engine) : nullptr;
  }

 private:
  TemporaryFolder folder_{"tiny_engine"};
};

// A test with an engine on the model of its suite, new for each test. Suites derive from
// TinyEngineTest<Themselves>, so that each has a model of its own.
template <class Suite>
class TinyEngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = std::make_unique<TinyModelFile>(); }
  static void TearDownTestSuite() { model_.reset(); }
  void SetUp() override {
    engine_ = model_->open();
    ASSERT_NE(engine_, nullptr);
  }

  static inline std::unique_ptr<TinyModelFile> model_;
  std::unique_ptr<Engine> engine_;
};

// Tokens start, start + 37, start + 74, ... modulo 500: all in the vocabulary, none twice in a row.
inline std::vector<int32_t> some_tokens(int32_t start, int32_t count) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((start + 37 * i) % 500);
  return ids;
}

// All logits of the tokens, appended to the sequence; empty with a failed expectation on error.
inline std::vector<float> feed_all(Engine& engine, int32_t sequence,
                                   const std::vector<int32_t>& ids, int64_t chunk = 64) {
  const auto rows = engine.forward_chunked({sequence, ids, Feed::Logits::kAll}, chunk);
  EXPECT_TRUE(rows) << (rows ? "" : rows.error().message);
  return rows ? rows->read_as<float>().value() : std::vector<float>{};
}

}  // namespace quern::test
