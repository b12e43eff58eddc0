// A command of the program `quern`: parse, call, print.
#pragma once

#include <functional>

#include "cli/options.h"
#include "quern/error.h"

namespace quern::cli {

// What a command does when it was chosen. Its error goes to stderr, and the exit code is 1.
using Action = std::function<Result<void>()>;

// One command: a name, a line of help, and a function. Each has a file and a line in commands.cc.
struct Command {
  // As typed, and one line of the help.
  const char* name;
  const char* summary;
  // Adds the command's options and says what to do when it is chosen. Called once, before the
  // command line is read; options borrow their targets, so these live in the action.
  void (*set_up)(OptionSet& command, Action& action);
};

}  // namespace quern::cli
