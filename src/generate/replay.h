// Saves the node at which two devices part, with its inputs, so that it can be run again alone.
#pragma once

#include <string>

#include "runtime/graph_comparison.h"

namespace quern {

// Writes into the folder, which is made: node.yaml (a manifest of the node and, where it reads a
// state, of the nodes that filled it in the same run), inputs.safetensors, weights.gguf,
// expected.safetensors and actual.safetensors (what the two devices computed), README.txt (what
// diverged, and the command that repeats it on `device`). Errors: those of writing files.
Result<void> save_replay(const std::string& folder, const Graph& graph,
                         const GraphComparison& comparison, const WeightSource* weights,
                         std::string_view device, std::string_view description);

// A sentence on the first divergence: node, operation, place, both values and the error.
std::string describe_divergence(const Graph& graph, const GraphComparison& comparison,
                                std::string_view device, std::string_view against);

}  // namespace quern
