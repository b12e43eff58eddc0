// The list of commands. A new one adds a declaration, a line here and a file.
#include "cli/commands.h"

#include <array>

namespace quern::cli {
namespace {

// In the order of the help text: what most people need first.
constexpr std::array kCommands = {
    Command{"run", "Answer or continue a prompt", set_up_run},
    Command{"chat", "Talk to a model in the terminal", set_up_chat},
    Command{"logits", "Write the logits of a prompt as .npy", set_up_logits},
    Command{"perplexity", "Measure how well a model predicts a text", set_up_perplexity},
    Command{"bench", "Measure prefill and decode speed", set_up_bench},
    Command{"tokenize", "Text to token ids", set_up_tokenize},
    Command{"detokenize", "Token ids to text", set_up_detokenize},
    Command{"inspect", "Show metadata and tensors of a model file", set_up_inspect},
    Command{"graph", "Print the graph of a model or manifest", set_up_graph},
    Command{"compile", "Show what each pass makes of a graph, and its memory plan", set_up_compile},
    Command{"explain", "Show where a model runs, why, and what it costs", set_up_explain},
    Command{"exec", "Run a graph written in YAML", set_up_exec},
    Command{"verify", "Compare a model on two devices, node by node", set_up_verify},
    Command{"check", "Run a receipt again and compare the bits", set_up_check},
    Command{"devices", "List backends and their devices", set_up_devices},
    Command{"op", "Run one operation on .npy files", set_up_op},
    Command{"ops", "List operations and how a backend serves them", set_up_ops},
    Command{"conform", "Check a backend against the reference", set_up_conform},
    Command{"ulp", "Measure errors of f32 functions over all inputs", set_up_ulp},
    Command{"quantize", "Write a model in another format", set_up_quantize},
    Command{"convert", "Split, merge or change the byte order of a model", set_up_convert},
    Command{"synth", "Write a random-weight model for tests and benches", set_up_synth},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace quern::cli
