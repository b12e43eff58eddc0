#include "e2e/model_runner.h"

#include <fmt/core.h>

#include <filesystem>

#include "generate/generate.h"

namespace quern::test {

// For messages of failed tests.
std::string describe(const RunOn& on) {
  return fmt::format("{}, {} threads, {}, {}", on.device, on.threads,
                     on.isa.empty() ? "best isa" : on.isa, activations_name(on.activations));
}

// Null, with a failure, where it cannot be opened.
std::unique_ptr<Engine> open_engine(const std::string& path, const RunOn& on) {
  EngineOptions options;
  options.device = on.device;
  options.device_options = {on.threads, on.isa};
  options.model.activations = on.activations;
  options.has_parity_gate = false;  // these tests compare more than the gate does
  options.compile.passes = on.passes;
  auto engine = Engine::open(path, options);
  EXPECT_TRUE(engine) << describe(on) << ": " << (engine ? "" : engine.error().message);
  if (!engine) return nullptr;
  // Golden continuations are longer than some tiny models were trained for.
  (*engine)->allow_context(1024);
  return std::move(*engine);
}

// All rows, fed in chunks.
std::vector<float> run_logits(Engine& engine, const std::vector<int32_t>& ids, int64_t chunk) {
  const auto sequence = engine.kv().create_sequence();
  EXPECT_TRUE(sequence);
  // All tokens in one run.
  const int64_t step = chunk == 0 ? static_cast<int64_t>(ids.size()) : chunk;
  const auto rows = engine.forward_chunked({*sequence, ids, Feed::Logits::kAll}, step);
  EXPECT_TRUE(rows) << (rows ? "" : rows.error().message);
  EXPECT_TRUE(engine.kv().remove_sequence(*sequence));
  return rows ? rows->read_as<float>().value() : std::vector<float>{};
}

std::vector<int32_t> run_greedy(Engine& engine, const std::vector<int32_t>& ids, int64_t count) {
  const auto sequence = engine.kv().create_sequence();
  EXPECT_TRUE(sequence);
  GenerateOptions options;
  options.max_tokens = count;
  options.sampler.temperature = 0;
  const auto result = generate(engine, *sequence, ids, options, {});
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  EXPECT_TRUE(engine.kv().remove_sequence(*sequence));
  return result ? result->tokens : std::vector<int32_t>{};
}

namespace {
// Empty where there is no such file.
std::string existing(const std::string& path) {
  return std::filesystem::exists(path) ? path : std::string();
}
}  // namespace

// Empty where the suite is absent.
std::string suite_file(const std::string& name) {
  return existing(std::string(QUERN_SUITES_DIR) + "/" + name);
}

// Empty where the model is absent.
std::string smollm2_file() {
  return existing(std::string(QUERN_MODELS_DIR) + "/SmolLM2-135M-Instruct.Q4_1.gguf");
}

// Empty where the model is absent.
std::string gemma3_file() {
  return existing(std::string(QUERN_MODELS_DIR) + "/gemma-3-270m-q4_k_m.gguf");
}

// Those that this machine can run.
std::vector<std::string> isa_caps() {
  std::vector<std::string> caps;
  const BackendRegistry backends = register_backends();
  const auto cpu = backends.find("cpu");
  if (!cpu) return caps;
  for (const char* isa : {"scalar", "sse2", "avx2", "avx-vnni", "avx512", "avx512-vnni",
                          "avx512-bf16", "neon", "neon-dotprod", "neon-i8mm"}) {
    if ((*cpu)->open({1, isa})) caps.emplace_back(isa);
  }
  return caps;
}

}  // namespace quern::test
