// The program `quern`.
#include <fmt/format.h>

#include <cstdio>
#include <deque>

#include "cli/commands.h"

namespace {

// Prints a command's error; the exit code is 1 for errors of the work, 2 for wrong usage.
int report(const quern::Error& error) {
  fmt::print(stderr, "quern: {}\n", error.message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Quern runs tensor programs and language models: the same bits on every device.",
               "quern"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "quern " QUERN_VERSION);
  app.footer("'quern COMMAND --help' shows a command's options and examples.");
  std::deque<quern::cli::Action> actions;
  for (const quern::cli::Command& command : quern::cli::commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    command.set_up(*sub, actions.emplace_back());
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (size_t i = 0; i < actions.size(); ++i) {
    if (!app.got_subcommand(quern::cli::commands()[i].name)) continue;
    const auto result = actions[i]();
    return result ? 0 : report(result.error());
  }
  return 2;
}
