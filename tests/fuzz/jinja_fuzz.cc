// libFuzzer target of chat templates: any source, over a conversation with tools. Build with the
// preset `fuzz`; run
//   jinja_fuzz -rss_limit_mb=1024 -timeout=10 -max_len=4096 CORPUS [SEEDS...]
// Good seeds are the templates of the suite chat_templates and those of tests/data/jinja.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "text/chat_template.h"

namespace {

// Something of each kind that templates read: every role, parts of content, null, a tool call, a
// tool, and values of each type.
quern::ChatInputs make_inputs() {
  quern::ChatInputs inputs;
  inputs.messages = nlohmann::ordered_json::parse(R"([
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Größe \ud83d\ude42?"}]},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "abcdefghi", "function": {"name": "f", "arguments": {"x": 1.5, "y": [true, null]}}}]},
    {"role": "tool", "content": "<42>", "tool_call_id": "abcdefghi"}])");
  inputs.tools = nlohmann::ordered_json::parse(R"([{"type": "function", "function": {
    "name": "f", "description": "It's a 'tool'.", "parameters": {"type": "object",
      "properties": {"x": {"type": "number"}}, "required": ["x"]}}}])");
  inputs.bos_token = "<s>";
  inputs.eos_token = "</s>";
  inputs.extra = {{"d", {{"b", 2}, {"a", 1}}}, {"xs", {3, 1, 2}}, {"n", 7}, {"s", "a b c"}};
  // A leap day just before midnight.
  inputs.time = quern::jinja::CivilTime{2024, 2, 29, 23, 59, 59};
  // Small enough that a template at a limit does not slow the search down.
  inputs.limits.max_steps = 20'000;
  inputs.limits.max_bytes = size_t{8} << 20;
  inputs.limits.max_output_bytes = size_t{1} << 20;
  return inputs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Made once: parsing it for each input would be most of the work.
  static const quern::ChatInputs kInputs = make_inputs();
  const auto chat_template =
      quern::ChatTemplate::parse({reinterpret_cast<const char*>(data), size});
  // Errors are as good as text; only crashes, leaks and endless work count.
  if (chat_template) (void)chat_template->render(kInputs);
  return 0;
}
