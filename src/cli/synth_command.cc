// quern synth: a random-weight model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/progress_bar.h"
#include "formats/synth.h"

namespace quern::cli {

void set_up_synth(CLI::App& command, Action& action) {
  action = []() -> Result<void> { return {}; };
  (void)command;
}

}  // namespace quern::cli
