// Checks what a caller gives to a run against the graph.
#pragma once

#include <span>
#include <vector>

#include "quern/device.h"
#include "quern/graph.h"

namespace quern {

// Values of the graph's symbols. Errors name the input, what was given and what is wanted:
// missing or unknown inputs and states, wrong dtype or rank, extents that differ.
Result<SymbolValues> bind_arguments(const Graph& graph, const RunArguments& arguments);
// The same for a caller that keeps graph.inputs() from run to run.
Result<SymbolValues> bind_arguments(const Graph& graph, std::span<const NodeId> inputs,
                                    const RunArguments& arguments);

// The graph's outputs, then the readable values, as (name, value). Errors: a readable name that is
// no value of the graph.
Result<std::vector<GraphOutput>> readable_outputs(const Graph& graph,
                                                  const std::vector<std::string>& readable);

}  // namespace quern
