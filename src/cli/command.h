// A command of the program `quern`: parse, call, print.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "quern/error.h"

namespace quern::cli {

// What a command does when it was chosen. Its error goes to stderr, and the exit code is 1.
using Action = std::function<Result<void>()>;

// Adds the options of one command to the program and says what to do when it is chosen.
// Each command has a file and a line in commands.cc.
struct Command {
  const char* name;
  const char* summary;
  // `set_action` is called during set-up, once; `command` lives as long as the program.
  void (*set_up)(CLI::App& command, Action& action);
};

}  // namespace quern::cli
