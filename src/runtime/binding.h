// Checks what a caller gives to a run against the graph.
#pragma once

#include <span>
#include <vector>

#include "quern/device.h"
#include "quern/graph.h"

namespace quern {

// Values of the graph's symbols, from the extents of the inputs. Checked in this order, so that the
// first thing wrong is reported: each input of the graph is given, has its dtype, rank and constant
// extents, and agrees with the inputs before it on every symbol; no input is given that the graph
// does not have; each state is bound, and no other.
// Errors: kInvalidArgument, naming the input or state, what was given and what is wanted.
Result<SymbolValues> bind_arguments(const Graph& graph, const RunArguments& arguments);
// The same for a caller that keeps graph.inputs() from run to run.
Result<SymbolValues> bind_arguments(const Graph& graph, std::span<const NodeId> inputs,
                                    const RunArguments& arguments);

// The graph's outputs, then the readable values (CompileOptions::readable), as (name, value).
// Errors: kNotFound for a readable name that is no value of the graph.
Result<std::vector<GraphOutput>> readable_outputs(const Graph& graph,
                                                  const std::vector<std::string>& readable);

}  // namespace quern
