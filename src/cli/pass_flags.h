// The options of every command that compiles a graph.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "quern/device.h"

namespace quern::cli {

// Shared by every command that compiles.
struct PassFlags {
  std::vector<std::string> only;
  std::vector<std::string> off;
  std::vector<std::string> placement;  // PATTERN=DEVICE

  // Adds --passes, --no-pass and --place, in a group of their own.
  void add_to(OptionSet& command);
  // Errors: a --place without '='. Unknown names are for the compilation to refuse.
  Result<void> apply(CompileOptions& options) const;
};

}  // namespace quern::cli
