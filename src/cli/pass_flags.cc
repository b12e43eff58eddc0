// Flags to compile options.
// Every command that compiles shares them.
#include "cli/pass_flags.h"

#include "base/fail.h"

namespace quern::cli {

// In a group of their own in the help.
void PassFlags::add_to(OptionSet& command) {
  command.add_option("--passes", only, "Run these optional passes only, separated by commas")
      .comma_separated()
      .group("Compilation");
  command.add_option("--no-pass", off, "Leave this pass out; repeatable")
      .repeatable()
      .group("Compilation");
  command
      .add_option("--place", placement,
                  "PATTERN=DEVICE: where nodes of these names run, '*' for any text; repeatable")
      .repeatable()
      .group("Compilation");
}

// Names of passes are checked by the compiler, which knows them.
Result<void> PassFlags::apply(CompileOptions& options) const {
  options.passes = {only, off};
  for (const std::string& rule : placement) {
    // The last '=': names of nodes may hold one, names of devices do not.
    const size_t equals = rule.rfind('=');
    if (equals == std::string::npos) {
      return fail::invalid("--place {} is no PATTERN=DEVICE.", rule);
    }
    options.placement.emplace_back(rule.substr(0, equals), rule.substr(equals + 1));
  }
  return {};
}

}  // namespace quern::cli
