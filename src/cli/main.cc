// The program `quern`.
// Commands come from the table in commands.cc; this file knows none of them.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace {

// Prints a command's error; the exit code is 1 for errors of the work, 2 for wrong usage.
int report(const quern::Error& error) {
  // Names from files may hold what a terminal obeys.
  std::string text;
  for (const char c : error.message) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
    text += is_control ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  quern::cli::print_status("quern: {}\n", text);
  return 1;
}

// Whether everything that was printed has left.
quern::Result<void> flush_output() {
  // An old error would be printed where the library sets none.
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  if (errno == 0) return quern::fail::unavailable("Standard output could not be written.");
  return quern::fail::unavailable("Standard output cannot be written: {}.", std::strerror(errno));
}

// The library that prints throws where a file takes no more.
quern::Result<void> run_action(const quern::cli::Action& action) {
  try {
    QUERN_TRY(action());
  } catch (const std::system_error& error) {
    const std::string_view what = error.what();
    if (!what.starts_with("cannot write")) {
      return quern::fail::unavailable("The system refuses a request: {}.", what);
    }
    return quern::fail::unavailable("Standard output cannot be written: {}.",
                                    error.code().message());
  } catch (const std::bad_alloc&) {
    return quern::fail::exhausted("There is no memory left for this command.");
  }
  return flush_output();
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
  // A code without an action: --help, --version or wrong usage.
  if (const auto exit_code = program.parse(argc, argv)) {
    // The message went to stderr; there is nothing to flush.
    if (*exit_code != 0) return *exit_code;
    const auto flushed = flush_output();
    return flushed ? 0 : report(flushed.error());
  }
  for (size_t i = 0; i < commands.size(); ++i) {
    if (!program.is_chosen(commands[i].name)) continue;
    const auto result = run_action(actions[i]);
    return result ? 0 : report(result.error());
  }
  // Not reached: parse() asks for exactly one command.
  return 2;
}
