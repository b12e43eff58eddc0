// One node and its inputs.
#include "conformance/one_op.h"

#include <fmt/format.h>

#include "base/fail.h"
#include "quern/graph_builder.h"

namespace quern {

// The concrete type of a tensor at hand.
TensorType type_of(const Tensor& tensor) {
  TensorType type{.dtype = tensor.dtype(), .dims = {}};
  for (const int64_t extent : tensor.shape().dims()) type.dims.push_back(Dim::constant(extent));
  return type;
}

// Inputs are named "0", "1", ... after their ports, absent ones are left out.
Result<Graph> one_op_graph(const OpRegistry& ops, std::string_view id,
                           std::span<const Tensor> inputs, const Attributes& attributes,
                           bool copies_inputs) {
  const OpDef* op = ops.find(id);
  if (op == nullptr) return fail::not_found("There is no operation '{}'.", id);
  GraphBuilder builder(ops);
  std::vector<ValueId> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_empty()) {
      values.push_back(kNoValue);
      continue;
    }
    values.push_back(builder.input(fmt::format("{}", i), type_of(inputs[i])));
    // A slice of everything is a copy.
    if (copies_inputs) values.back() = builder.add("shape.slice", {values.back()});
  }
  builder.add(id, values, attributes, "op");
  const std::vector<ValueId> outputs(builder.last_outputs().begin(), builder.last_outputs().end());
  for (size_t i = 0; i < outputs.size(); ++i) builder.output(op->outputs[i].name, outputs[i]);
  return builder.finish();
}

// The arguments that fit one_op_graph.
RunArguments one_op_arguments(std::span<const Tensor> inputs) {
  RunArguments arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_empty()) arguments.inputs.emplace(fmt::format("{}", i), inputs[i]);
  }
  return arguments;
}

// Compiles, loads and runs once: for tools, where time does not matter.
Result<RunResult> run_one_op(const Backend& backend, Device& device, const Graph& graph,
                             const RunArguments& arguments) {
  for (const Node& node : graph.nodes()) QUERN_TRY(backend.legal(graph, node));
  QUERN_ASSIGN_OR_RETURN(const auto artifact, backend.compile(graph, {}));
  QUERN_ASSIGN_OR_RETURN(const auto executable, device.load(*artifact, nullptr, {}));
  return executable->run(arguments);
}

}  // namespace quern
