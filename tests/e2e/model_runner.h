// Opens models and reads golden logits for end-to-end tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "generate/engine.h"

namespace quern::test {

// Where and how an engine runs: what must not change a bit under strict, and the activations, which
// may.
struct RunOn {
  std::string device = "cpu";
  int threads = 2;
  std::string isa = {};
  Activations activations = Activations::kAuto;
  PassSelection passes = {};
};
// "cpu, 2 threads, avx2, int16"
std::string describe(const RunOn& on);

// Null, with a failed expectation, if the model cannot be opened.
std::unique_ptr<Engine> open_engine(const std::string& path, const RunOn& on);

// Logits [tokens, vocab] of a fresh sequence, fed `chunk` tokens at a time (0: all at once).
std::vector<float> run_logits(Engine& engine, const std::vector<int32_t>& ids, int64_t chunk);

// The `count` greedy tokens after the prompt; ends early at an end token, which is included.
std::vector<int32_t> run_greedy(Engine& engine, const std::vector<int32_t>& ids, int64_t count);

// Path in the shared suites; empty where they are absent.
std::string suite_file(const std::string& name);
// The SmolLM2 file in the cache that scripts/fetch_model fills; empty where it is absent.
std::string smollm2_file();
// The Gemma 3 file there; empty where it is absent.
std::string gemma3_file();
// Caps on the instruction set that this machine can run, weakest first.
std::vector<std::string> isa_caps();

}  // namespace quern::test

// Ends the test as skipped, with the reason.
#define QUERN_NEED_FILE(path, what) \
  if ((path).empty()) GTEST_SKIP() << "Skipped: " << (what) << " is absent."
