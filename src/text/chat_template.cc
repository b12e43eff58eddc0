// Parsing and rendering of chat templates.
// Templates come from model files and are not trusted: every rendering has limits.
#include "text/chat_template.h"

#include <ctime>

#include "base/fail.h"
#include "text/jinja/environment.h"
#include "text/jinja/json.h"
#include "text/jinja/lexer.h"
#include "text/jinja/located_error.h"
#include "text/jinja/parser.h"

namespace quern {

// The tree and the source that it points into.
struct ChatTemplate::Parsed {
  std::string source;  // normalised; for the places of errors
  jinja::Block block;
};

// Private: parse() alone makes templates.
ChatTemplate::ChatTemplate(std::unique_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

// Errors: kInvalidArgument with line and column.
Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return fail::exhausted("The chat template has {} bytes; the limit is {}.", source.size(),
                           kMaxSourceBytes);
  }
  auto parsed = std::make_unique<Parsed>();
  parsed->source = jinja::normalize_source(source);
  jinja::Lexer lexer(parsed->source);
  auto tokens = lexer.lex();
  if (!tokens) {
    return tl::unexpected(
        jinja::locate({std::move(tokens).error(), lexer.error_offset()}, parsed->source));
  }
  jinja::Parser parser(*tokens);
  auto block = parser.parse();
  if (!block) {
    return tl::unexpected(
        jinja::locate({std::move(block).error(), parser.error_offset()}, parsed->source));
  }
  parsed->block = std::move(*block);
  return ChatTemplate(std::move(parsed));
}

namespace {

// A JSON value as a variable. Errors: nested too deeply.
Result<void> set_json(jinja::Heap& heap, jinja::Scope& scope, std::string_view name,
                      const nlohmann::ordered_json& json) {
  auto value = jinja::from_json(heap, json);
  if (!value) {
    return tl::unexpected(
        value.error().with_context(fmt::format("while giving '{}' to the chat template", name)));
  }
  scope.set(name, *value);
  return {};
}

// The variables that chat templates may use; absent ones are undefined, as with other engines.
Result<void> set_inputs(jinja::Heap& heap, jinja::Scope& scope, const ChatInputs& inputs) {
  QUERN_TRY(set_json(heap, scope, "messages", inputs.messages));
  // An absent optional leaves the name undefined; JSON null becomes none, which `is defined` sees.
  if (inputs.tools) QUERN_TRY(set_json(heap, scope, "tools", *inputs.tools));
  if (inputs.documents) QUERN_TRY(set_json(heap, scope, "documents", *inputs.documents));
  scope.set("add_generation_prompt", jinja::Value::boolean(inputs.add_generation_prompt));
  scope.set("bos_token", jinja::Value::string(&inputs.bos_token));
  scope.set("eos_token", jinja::Value::string(&inputs.eos_token));
  for (const auto& [name, value] : inputs.extra.items()) {
    QUERN_TRY(set_json(heap, scope, *heap.name(name), value));
  }
  return {};
}

}  // namespace

// Each rendering has a heap of its own: nothing of one is seen by the next.
Result<std::string> ChatTemplate::render(const ChatInputs& inputs) const {
  jinja::Heap heap(inputs.limits);
  jinja::Interpreter interpreter(heap, inputs.time);
  jinja::Scope& globals = heap.scope(nullptr);
  jinja::add_globals(interpreter, globals);
  // Three scopes: the functions, the inputs over them, and what the template sets over both.
  jinja::Scope& variables = heap.scope(&globals);
  QUERN_TRY(set_inputs(heap, variables, inputs));
  auto text = interpreter.render(parsed_->block, heap.scope(&variables));
  if (!text) {
    return tl::unexpected(
        jinja::locate({std::move(text).error(), interpreter.error_offset()}, parsed_->source));
  }
  return text;
}

// The time zone of the machine, since templates write dates for people.
jinja::CivilTime local_civil_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  if (localtime_r(&now, &local) == nullptr) return {};
  return {local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
          local.tm_hour,        local.tm_min,     local.tm_sec};
}

// Parse and render at once, with the tokenizer's begin and end tokens.
Result<std::string> render_chat_template(std::string_view source, const Tokenizer& tokenizer,
                                         std::span<const ChatMessage> messages,
                                         bool adds_generation_prompt) {
  QUERN_ASSIGN_OR_RETURN(const ChatTemplate chat_template, ChatTemplate::parse(source));
  ChatInputs inputs;
  for (const ChatMessage& message : messages) {
    inputs.messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  inputs.add_generation_prompt = adds_generation_prompt;
  inputs.bos_token = tokenizer.token_text(tokenizer.special_ids().bos);
  inputs.eos_token = tokenizer.token_text(tokenizer.special_ids().eos);
  const SpecialIds& ids = tokenizer.special_ids();
  for (const auto& [name, id] :
       {std::pair("unk_token", ids.unk), std::pair("pad_token", ids.pad)}) {
    if (id != kNoToken) inputs.extra[name] = tokenizer.token_text(id);
  }
  inputs.time = local_civil_time();
  return chat_template.render(inputs);
}

}  // namespace quern
