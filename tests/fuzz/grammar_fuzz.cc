// libFuzzer target of grammars: the first byte is the length of a text behind it, the rest is GBNF.
// What is accepted must match the same however the text is cut, and forgetting states must not
// change anything. Build with the preset `fuzz`; run
//   grammar_fuzz -timeout=10 -max_len=4096 CORPUS
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "text/grammar/grammar.h"
#include "text/grammar/grammar_automaton.h"
#include "text/utf8.h"

namespace quern {
namespace {

// A trap and not assert(): release builds have to stop too, and libFuzzer reports it.
void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "Not so: %s\n", what);
  __builtin_trap();
}

void check(std::string_view text, std::string_view source) {
  const auto grammar = Grammar::parse(source);
  if (!grammar) {
    require(!grammar.error().message.empty(), "an error has a message");
    return;
  }
  GrammarAutomaton::Limits limits;
  // Low limits, so that an input costs milliseconds; what passes them is given up below.
  limits.states = 512;
  limits.closure_steps = 4096;
  GrammarAutomaton whole(*grammar, limits);
  // Drops all states but the present one before each byte, as a long generation does now and then.
  GrammarAutomaton forgetful(*grammar, limits);
  auto a = whole.start();
  auto b = forgetful.start();
  require(a != GrammarAutomaton::kDead, "some text matches every grammar");
  size_t num_read = 0;
  for (const char c : text) {
    a = whole.step(a, static_cast<uint8_t>(c));
    b = forgetful.step(forgetful.keep_only(b), static_cast<uint8_t>(c));
    // No statement is made of such a grammar.
    if (a == GrammarAutomaton::kTooLarge || b == GrammarAutomaton::kTooLarge) return;
    require((a == GrammarAutomaton::kDead) == (b == GrammarAutomaton::kDead), "states agree");
    require(whole.can_end(a) == forgetful.can_end(b), "ends agree");
    require(whole.must_end(a) == forgetful.must_end(b), "last ends agree");
    if (a == GrammarAutomaton::kDead) return;
    ++num_read;
    if (whole.can_end(a)) {
      // Rules speak of code points, so a whole match cannot end within one.
      require(valid_utf8_prefix(text.substr(0, num_read)) == num_read, "what matches is UTF-8");
    }
  }
}

}  // namespace
}  // namespace quern

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  // A text longer than the input is the whole input, with an empty grammar behind it.
  const size_t length = data[0] < input.size() ? data[0] : input.size();
  quern::check(input.substr(0, length), input.substr(length));
  return 0;
}
