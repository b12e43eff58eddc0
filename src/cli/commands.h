// The commands of the program.
#pragma once

#include <span>

#include "cli/command.h"

namespace quern::cli {

void set_up_chat(CLI::App& command, Action& action);
void set_up_run(CLI::App& command, Action& action);
void set_up_logits(CLI::App& command, Action& action);
void set_up_tokenize(CLI::App& command, Action& action);
void set_up_detokenize(CLI::App& command, Action& action);
void set_up_inspect(CLI::App& command, Action& action);
void set_up_perplexity(CLI::App& command, Action& action);
void set_up_bench(CLI::App& command, Action& action);
void set_up_devices(CLI::App& command, Action& action);
void set_up_ops(CLI::App& command, Action& action);
void set_up_exec(CLI::App& command, Action& action);
void set_up_check(CLI::App& command, Action& action);
void set_up_verify(CLI::App& command, Action& action);
void set_up_graph(CLI::App& command, Action& action);
void set_up_quantize(CLI::App& command, Action& action);
void set_up_convert(CLI::App& command, Action& action);
void set_up_synth(CLI::App& command, Action& action);

// All of them, in the order of the help text.
std::span<const Command> commands();

}  // namespace quern::cli
