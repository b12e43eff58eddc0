// The commands of the program.
#pragma once

#include <span>

#include "cli/command.h"

namespace quern::cli {

// Each in the file of its name; what it does is in the help text of `quern COMMAND --help`.
void set_up_chat(OptionSet& command, Action& action);
// Models.
void set_up_run(OptionSet& command, Action& action);
void set_up_logits(OptionSet& command, Action& action);
void set_up_tokenize(OptionSet& command, Action& action);
void set_up_detokenize(OptionSet& command, Action& action);
void set_up_inspect(OptionSet& command, Action& action);
void set_up_perplexity(OptionSet& command, Action& action);
void set_up_bench(OptionSet& command, Action& action);
// Graphs and devices.
void set_up_compile(OptionSet& command, Action& action);
void set_up_explain(OptionSet& command, Action& action);
void set_up_devices(OptionSet& command, Action& action);
void set_up_conform(OptionSet& command, Action& action);
void set_up_ulp(OptionSet& command, Action& action);
// Operations.
void set_up_op(OptionSet& command, Action& action);
void set_up_ops(OptionSet& command, Action& action);
// Checks and files.
void set_up_exec(OptionSet& command, Action& action);
void set_up_check(OptionSet& command, Action& action);
void set_up_verify(OptionSet& command, Action& action);
void set_up_graph(OptionSet& command, Action& action);
void set_up_quantize(OptionSet& command, Action& action);
void set_up_convert(OptionSet& command, Action& action);
void set_up_synth(OptionSet& command, Action& action);

// All of them, in the order of the help text.
std::span<const Command> commands();

}  // namespace quern::cli
