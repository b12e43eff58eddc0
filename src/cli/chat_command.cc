// quern chat: a conversation in the terminal.
// Answers stream to stdout; everything else, notes and errors, goes to stderr, so that a pipe gets
// the conversation alone.
#include <fmt/format.h>

#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/sampler_flags.h"
#include "cli/text_file.h"
#include "generate/chat_session.h"
#include "text/utf8.h"

namespace quern::cli {
namespace {

// The options of the command.
// Without a system message the template alone decides whether there is one.
struct ChatFlags {
  EngineFlags engine;
  GenerateOptions generate;
  std::string system;
  SamplerFlags sampler;
};

// What /help prints.
constexpr const char* kHelp =
    "/help            this list\n"
    "/reset           forget the conversation, keep the system message\n"
    "/system TEXT     set the system message; without TEXT remove it\n"
    "/save FILE       write the conversation as JSON\n"
    "/load FILE       replace the conversation by a saved one\n"
    "/quit            end; so does Ctrl-D\n"
    "A line that ends in \\ goes on in the next; \"\"\" begins and ends a block of lines.\n"
    "Ctrl-C stops an answer.\n";

// [{"role": ..., "content": ...}, ...], as OpenAI's messages. Texts are made valid UTF-8.
Result<void> save(const ChatSession& session, const std::string& path) {
  nlohmann::json list = nlohmann::json::array();
  for (const ChatMessage& message : session.messages()) {
    list.push_back({{"role", message.role}, {"content", replace_invalid_utf8(message.content)}});
  }
  std::ofstream stream(path);
  // One space of indentation: people read and edit these files.
  stream << list.dump(1) << "\n";
  // The flush makes a full disk an error here, and not in the destructor, which is silent.
  if (!stream.flush()) {
    return fail::unavailable("File '{}' cannot be written: {}.", path, std::strerror(errno));
  }
  return {};
}

// Replaces the conversation only when the whole file is a list of messages.
Result<void> load(ChatSession& session, const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  // Without exceptions; what is no JSON is "discarded", which is no array.
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail::invalid("File '{}' is no JSON.", path);
  // Objects and plain values can be walked like a list, too.
  if (!json.is_array()) return fail::invalid("File '{}' holds no list of messages.", path);
  std::vector<ChatMessage> messages;
  for (const auto& item : json) {
    const bool is_message = item.is_object() && item.contains("role") && item.contains("content") &&
                            item["role"].is_string() && item["content"].is_string();
    if (!is_message) return fail::invalid("File '{}' holds no list of messages.", path);
    messages.push_back({item["role"], item["content"]});
  }
  session.set_messages(std::move(messages));
  return {};
}

// Runs a line that begins with a slash; false ends the conversation.
bool run_slash(ChatSession& session, const std::string& line) {
  const size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  Result<void> result;
  if (name == "/quit" || name == "/exit") return false;
  if (name == "/help") {
    fmt::print("{}", kHelp);
  } else if (name == "/reset") {
    session.reset();
  } else if (name == "/system") {
    session.set_system(rest);
  } else if ((name == "/save" || name == "/load") && rest.empty()) {
    result = fail::invalid("{} needs the name of a file.", name);
  } else if (name == "/save") {
    result = save(session, rest);
  } else if (name == "/load") {
    result = load(session, rest);
  } else {
    print_status("There is no command '{}'; /help lists them.\n", name);
  }
  // A mistake in a command is no reason to lose the conversation.
  if (!result) print_status("quern: {}\n", result.error().message);
  return true;
}

// Streams the answer to stdout. An error is shown and ends the answer, not the conversation.
void answer(ChatSession& session, const std::string& line, const GenerateOptions& options) {
  const InterruptGuard interrupt;
  const auto reply = session.answer(line, options, [&](std::string_view piece) {
    // fmt::print() would throw where standard output is closed.
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
    // False stops the answer; what was generated so far stays in the conversation.
    return !interrupt.was_interrupted();
  });
  fmt::print("\n");
  if (!reply) {
    print_status("quern: {}\n", reply.error().message);
    return;
  }
  if (reply->num_dropped_turns > 0) {
    print_status("[the context was full: the {} oldest turns are forgotten]\n",
                 reply->num_dropped_turns);
  }
  if (reply->generation.reason == StopReason::kContextFull) {
    print_status("[the context is full; the answer ends here]\n");
  }
}

// Keys are kept unrotated, so that old turns can be dropped without computing the rest anew.
Result<void> chat(ChatFlags& flags) {
  QUERN_TRY(flags.sampler.apply_to(flags.generate, false));
  flags.engine.is_evictable = true;
  QUERN_ASSIGN_OR_RETURN(const auto engine, flags.engine.open(false));
  // Biased ids must lie in the vocabulary, and the texts that break repetitions become tokens.
  QUERN_TRY(flags.sampler.resolve_tokens(engine->tokenizer(), flags.generate.sampler));
  QUERN_ASSIGN_OR_RETURN(const std::string_view source,
                         engine->metadata().text("tokenizer.chat_template"));
  const auto renderer = [&](std::span<const ChatMessage> messages, bool adds_prompt) {
    return render_chat_template(source, engine->tokenizer(), messages, adds_prompt);
  };
  // 512 tokens stay free for an answer: the oldest turns go to make that room.
  QUERN_ASSIGN_OR_RETURN(auto session, ChatSession::open(*engine, renderer, 512));
  session.set_system(flags.system);
  const bool is_terminal = ::isatty(STDIN_FILENO) == 1;
  if (is_terminal) {
    print_status("{}, {} activations, context {} tokens. /help lists the commands.\n",
                 flags.engine.model, activations_name(engine->model().activations),
                 engine->context_length());
  }
  LineEditor editor;
  while (const auto line = editor.read("> ")) {
    if (line->find_first_not_of(" \t\r\n") == std::string::npos) continue;
    if (line->front() == '/') {
      if (!run_slash(session, *line)) break;
    } else {
      answer(session, *line, flags.generate);
    }
  }
  return {};
}

}  // namespace

// Options of engine and sampler, as in run.
void set_up_chat(OptionSet& command, Action& action) {
  auto flags = std::make_shared<ChatFlags>();
  flags->engine.add_to(command);
  command.add_option("--system", flags->system, "System message");
  command.add_option("--max-tokens", flags->generate.max_tokens, "Most tokens of an answer")
      .range(-1, int64_t{1} << 40)
      .show_default();
  flags->sampler.add_to(command);
  command.footer("Example:\n  quern chat model.gguf --system 'Answer briefly.'");
  action = [flags] { return chat(*flags); };
}

}  // namespace quern::cli
