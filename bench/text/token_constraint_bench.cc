// Cost of a constraint per token: a mask that is computed, one that is remembered, one step.
// Vocabulary: SmolLM2 (49,152 tokens) where the model folder has it, else synthetic of that size.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <filesystem>

#include "formats/gguf_reader.h"
#include "ops/philox.h"
#include "text/byte_alphabet.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/token_constraint.h"
#include "text/utf8.h"
#include "text/vocabulary_reader.h"

namespace quern {
namespace {

Vocabulary synthetic_vocabulary() {
  Vocabulary v{.model = "gpt2", .pre_tokenizer = "default"};
  for (uint64_t i = 0; i < 49'152; ++i) {
    std::string& text = v.tokens.emplace_back();
    const RandomWords random{i, 0, 0};
    const uint32_t length = i < 256 ? 1 : 2 + random.below(0, 8);
    for (uint32_t k = 0; k < length; ++k) {
      const uint32_t byte = i < 256 ? static_cast<uint32_t>(i) : 0x20 + random.below(k + 1, 95);
      append_utf8(byte_to_letter(static_cast<uint8_t>(byte)), text);
    }
  }
  return v;
}

std::unique_ptr<Tokenizer> load_tokenizer() {
  const std::string path = std::string(QUERN_MODELS_DIR) + "/SmolLM2-135M-Instruct.Q4_1.gguf";
  Vocabulary vocabulary = synthetic_vocabulary();
  if (std::filesystem::exists(path)) {
    const auto file = GgufFile::open(path);
    vocabulary = read_vocabulary((*file)->metadata()).value();
  }
  return std::move(make_tokenizer(std::move(vocabulary)).value());
}

struct Fixture {
  std::unique_ptr<Tokenizer> tokenizer = load_tokenizer();
  std::shared_ptr<const TokenTrie> trie = std::make_shared<const TokenTrie>(*tokenizer);
  Grammar json = grammar_from_json_schema("{}").value().grammar;
};

const Fixture& fixture() {
  static const Fixture kFixture;
  return kFixture;
}

// The places of a text in which masks differ most.
constexpr const char* kTexts[] = {
    "", "{\"a", "{\"a\": ", "{\"a\": 12", "{\"a\": [[{\"b\": \"x", "{\"a\": \"x\""};

TokenConstraint after(const char* text, benchmark::State& state) {
  TokenConstraint constraint(fixture().trie, fixture().json);
  for (const char* c = text; *c != '\0'; ++c) {
    int32_t token = 0;
    while (fixture().tokenizer->token_bytes(token) != std::string_view(c, 1)) ++token;
    if (!constraint.accept(token)) state.SkipWithError("the text does not fit");
  }
  return constraint;
}

void first_mask(benchmark::State& state) {
  const char* text = kTexts[state.range(0)];
  for (auto _ : state) {
    state.PauseTiming();
    TokenConstraint constraint = after(text, state);
    state.ResumeTiming();
    benchmark::DoNotOptimize(constraint.allowed());
  }
  state.SetLabel(fmt::format("after '{}'", text));
}
BENCHMARK(first_mask)->DenseRange(0, 5)->Unit(benchmark::kMicrosecond);

// With the states of the automaton known, and only the mask missing.
void new_mask_of_known_states(benchmark::State& state) {
  const char* text = kTexts[state.range(0)];
  TokenConstraint constraint = after(text, state);
  for (auto _ : state) {
    constraint.forget_masks();
    benchmark::DoNotOptimize(constraint.allowed());
  }
  state.SetLabel(fmt::format("after '{}'", text));
}
BENCHMARK(new_mask_of_known_states)->DenseRange(0, 5)->Unit(benchmark::kMicrosecond);

void remembered_mask(benchmark::State& state) {
  TokenConstraint constraint = after(kTexts[1], state);
  for (auto _ : state) benchmark::DoNotOptimize(constraint.allowed());
}
BENCHMARK(remembered_mask)->Unit(benchmark::kMicrosecond);

void make_trie(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(TokenTrie(*fixture().tokenizer));
}
BENCHMARK(make_trie)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace quern

BENCHMARK_MAIN();
