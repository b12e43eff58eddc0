// The program `quern`.
// Commands come from the table in commands.cc; this file knows none of them.
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "cli/commands.h"

namespace {

// Prints a command's error; the exit code is 1 for errors of the work, 2 for wrong usage.
int report(const quern::Error& error) {
  fmt::print(stderr, "quern: {}\n", error.message);
  return 1;
}

}  // namespace

// Exit codes: 0 done, 1 an error of the work, 2 wrong usage.
int main(int argc, char** argv) {
  const auto commands = quern::cli::commands();
  quern::cli::Program program(
      "quern", "Quern runs tensor programs and language models: the same bits on every device.",
      "quern " QUERN_VERSION, "'quern COMMAND --help' shows a command's options and examples.");
  std::vector<quern::cli::Action> actions(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    quern::cli::OptionSet options = program.add_command(commands[i].name, commands[i].summary);
    commands[i].set_up(options, actions[i]);
  }
  if (const auto exit_code = program.parse(argc, argv)) return *exit_code;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (!program.is_chosen(commands[i].name)) continue;
    const auto result = actions[i]();
    return result ? 0 : report(result.error());
  }
  return 2;
}
