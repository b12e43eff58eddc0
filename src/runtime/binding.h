// Checks what a caller gives to a run against the graph.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "quern/device.h"
#include "quern/graph.h"

namespace quern {

// Values of the graph's symbols, from the extents of the inputs. Checked in this order, so that the
// first thing wrong is reported: each input of the graph is given, has its dtype, rank and constant
// extents, and agrees with the inputs before it on every symbol; no input is given that the graph
// does not have; each state is bound, and no other.
// Errors: kInvalidArgument, naming the input or state, what was given and what is wanted.
// A symbol that no input has stays unbound; resolving a shape with it is then an error of the run.
Result<SymbolValues> bind_arguments(const Graph& graph, const RunArguments& arguments);
// The same for a caller that keeps graph.inputs() from run to run.
Result<SymbolValues> bind_arguments(const Graph& graph, std::span<const NodeId> inputs,
                                    const RunArguments& arguments);

// The graph's outputs, then the readable values (CompileOptions::readable), as (name, value).
// Errors: kNotFound for a readable name that is no value of the graph.
Result<std::vector<GraphOutput>> readable_outputs(const Graph& graph,
                                                  const std::vector<std::string>& readable);

// Names in `arguments.outputs` must be results. Errors: kInvalidArgument.
Result<void> check_output_names(const RunArguments& arguments,
                                std::span<const GraphOutput> results);

// The caller's memory for a result of this type, or null where it gave none.
// Errors: another dtype or shape; memory that cannot be written.
// The tensor is owned by `arguments` and valid as long as they are.
Result<const Tensor*> find_bound_output(const RunArguments& arguments, std::string_view name,
                                        DType dtype, const Shape& shape);

// Copies a result into the caller's memory.
// Both in host memory and of one type; the same memory is left as it is. Errors: device memory.
Result<void> copy_to_output(const Tensor& result, const Tensor& output);

}  // namespace quern
