// Line editing by libedit where standard input is a terminal.
// A pipe is read line by line without prompts, so that scripts can talk to a model.
#include "cli/line_editor.h"

#include <editline/readline.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "base/environment.h"
#include "cli/console.h"
#include "cli/interrupt.h"

namespace quern::cli {

// Editing and history only where a person types.
LineEditor::LineEditor() : is_terminal_(::isatty(STDIN_FILENO) == 1) {
  if (!is_terminal_) return;
  // libedit decodes keys by the locale, and drops those that it does not know.
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
  history_file_ = read_environment().home + "/.quern_history";
  using_history();
  // No file, no history: the first session has none.
  read_history(history_file_.c_str());
}

// The history is written for the next time.
LineEditor::~LineEditor() {
  if (is_terminal_) write_history(history_file_.c_str());
}

// One line; nothing at the end of input. A pipe gets no prompt.
std::optional<std::string> LineEditor::read_line(const std::string& prompt) {
  std::string line;
  if (!is_terminal_) {
    if (!std::getline(std::cin, line)) return std::nullopt;
    // Lines of a file from another system.
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }
  // libedit allocates the line with malloc.
  const InterruptGuard interrupt(true);
  const std::unique_ptr<char, decltype(&std::free)> text(readline(prompt.c_str()), &std::free);
  if (text == nullptr && interrupt.was_interrupted()) {
    // Ctrl-C drops the message that was being typed, not the conversation.
    print_status("\n[Ctrl-D or /quit ends the conversation]\n");
    is_dropped_ = true;
    return std::nullopt;
  }
  if (text == nullptr) return std::nullopt;
  if (*text != '\0') add_history(text.get());
  return std::string(text.get());
}

// A dropped message is as if it had not been begun.
std::optional<std::string> LineEditor::read(const std::string& prompt) {
  while (true) {
    is_dropped_ = false;
    auto message = read_message(prompt);
    if (!is_dropped_) return message;
  }
}

// Lines that end in a backslash, and blocks in triple quotes, are one message.
std::optional<std::string> LineEditor::read_message(const std::string& prompt) {
  auto line = read_line(prompt);
  if (!line) return std::nullopt;
  std::string message;
  if (*line == "\"\"\"") {
    // An end of input within a block ends the block: what was typed is not lost.
    while ((line = read_line("... ")) && *line != "\"\"\"") message += *line + "\n";
    return message;
  }
  while (line && line->ends_with('\\')) {
    message += line->substr(0, line->size() - 1) + "\n";
    line = read_line("... ");
  }
  return message + line.value_or("");
}

}  // namespace quern::cli
