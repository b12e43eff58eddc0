// libFuzzer target of JSON schemas: whatever grammar comes out, the texts that it writes are JSON.
// The first 32 bytes choose the way through the grammar, the rest is the schema. Build with the
// preset `fuzz`; run
//   json_schema_fuzz -timeout=10 -max_len=4096 CORPUS
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/grammar/grammar_automaton.h"
#include "text/grammar/json_schema.h"

namespace quern {
namespace {

// Bytes that choose; they are used again and again.
constexpr size_t kChoices = 32;
// Texts that grow past this are left unfinished, which proves nothing against them.
constexpr size_t kMaxText = 256;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "Not so: %s\n", what);
  __builtin_trap();
}

// Walks on through bytes that the grammar allows; at every place where it can end, the text must be
// JSON.
void check(std::string_view choices, std::string_view schema) {
  const auto result = grammar_from_json_schema(schema);
  if (!result) {
    require(!result.error().message.empty(), "an error has a message");
    return;
  }
  GrammarAutomaton::Limits limits;
  limits.states = 4096;
  limits.closure_steps = 4096;
  GrammarAutomaton automaton(result->grammar, limits);
  auto state = automaton.start();
  std::string text;
  // kDead and kTooLarge are the lowest states.
  while (text.size() < kMaxText && state > GrammarAutomaton::kTooLarge) {
    if (automaton.can_end(state)) {
      require(nlohmann::json::accept(text), "what a schema's grammar matches is JSON");
    }
    const auto first = static_cast<uint8_t>(choices[text.size() % choices.size()]) + text.size();
    auto next = GrammarAutomaton::kDead;
    for (size_t i = 0; i < 256 && next == GrammarAutomaton::kDead; ++i) {
      // 7 and 256 have no common factor, so all bytes are tried, in an order without runs.
      const auto byte = static_cast<uint8_t>(first + i * 7);
      next = automaton.step(state, byte);
      if (next > GrammarAutomaton::kTooLarge) text += static_cast<char>(byte);
    }
    // A state that no byte leaves must be one where the text is complete.
    require(next != GrammarAutomaton::kDead || automaton.must_end(state), "no dead ends");
    state = next;
  }
}

}  // namespace
}  // namespace quern

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= quern::kChoices) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  quern::check(input.substr(0, quern::kChoices), input.substr(quern::kChoices));
  return 0;
}
