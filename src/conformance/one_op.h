// Graphs of one operation: what `quern op`, the conformance suite and tests run.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quern/device.h"
#include "quern/graph.h"
#include "quern/op.h"
#include "quern/tensor.h"

namespace quern {

// The type of a tensor, all extents constant.
TensorType type_of(const Tensor& tensor);

// Inputs "0", "1", ... in port order and the node "op"; an empty tensor is an absent input. Outputs
// have the names of the operation's ports. With `copies_inputs` the node reads copies, which it may
// overwrite where the operation allows that.
// Errors: kNotFound (the id), kInvalidArgument (ports, attributes, types).
Result<Graph> one_op_graph(const OpRegistry& ops, std::string_view id,
                           std::span<const Tensor> inputs, const Attributes& attributes,
                           bool copies_inputs = false);

// Run arguments that bind those inputs.
RunArguments one_op_arguments(std::span<const Tensor> inputs);

// Compiles without passes, loads and runs once.
Result<RunResult> run_one_op(const Backend& backend, Device& device, const Graph& graph,
                             const RunArguments& arguments);

}  // namespace quern
