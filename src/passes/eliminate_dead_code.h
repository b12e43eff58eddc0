// Removes nodes whose results nobody needs. Keeps effects, outputs and readable values.
#pragma once

#include "passes/pipeline.h"

namespace quern {

// Assumes a verified graph. Graph inputs stay, used or not: they are the caller's contract.
// Example, of a graph with `output out = %b`:
//   %a = math.exp(%x)                            %b = math.sin(%x)
//   %b = math.sin(%x)                       ->
//   kv.append(%k, %v, ...) {layer = 0}           kv.append(%k, %v, ...) {layer = 0}
// Legal because pure, random and state-reading nodes do nothing besides making values.
Result<Graph> eliminate_dead_code(const Graph& graph, const PassOptions& options);

}  // namespace quern
